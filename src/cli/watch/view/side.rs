//! The panel of a wide screen: the agents with presence, unread mail, claims, and the items that they wait for.

use super::WatchView;
use crate::base::sanitize;
use crate::cli::show::row::cut;
use crate::cli::watch::lines::{DIM, Palette};
use crate::query::who::{AgentPresence, KnownAgents};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

/// The least width of a screen with the panel, and the width of the panel.
const LEAST: usize = 110;
const WIDTH: usize = 40;

/// The width of the panel on a screen of this width.
pub(super) fn width(screen: usize) -> usize {
    if screen < LEAST { 0 } else { WIDTH }
}

impl WatchView {
    /// The lines of the panel, in this height.
    pub(super) fn side(&self, height: usize) -> Vec<Line<'static>> {
        // A blank column is between the timeline and the panel.
        let width = WIDTH - 1;
        let mut lines = self
            .everybody
            .as_ref()
            .map_or_else(Vec::new, |all| self.agents(all));
        if lines.len() > height {
            lines.truncate(height.saturating_sub(1));
            lines.push(Line::from(Span::styled(
                "… `mailbag who` lists all agents",
                DIM,
            )));
        }
        lines.iter().map(|line| indented(line, width)).collect()
    }

    fn agents(&self, everybody: &KnownAgents) -> Vec<Line<'static>> {
        let others = everybody.roster.agents.iter();
        let others = others.filter(|agent| *agent.id != *self.who.name);
        let agents: Vec<&AgentPresence> = others.collect();
        let bold = Style::new().add_modifier(Modifier::BOLD);
        let heading = format!("Agents {}", agents.len());
        let mut lines = vec![Line::from(Span::styled(heading, bold))];
        for agent in agents {
            lines.push(name(agent, self.palette));
            if let Some(first) = agent.owns.first() {
                let more = agent.owns.len() - 1 + agent.owns_more;
                let more = if more > 0 {
                    format!(" and {more} more")
                } else {
                    String::new()
                };
                let owns = format!("  owns {}{more}", sanitize::line(first));
                lines.push(Line::from(Span::styled(owns, DIM)));
            }
            for mark in self.board.marks_of(&agent.id) {
                let mark = format!("  {mark}");
                lines.push(Line::from(Span::styled(mark, self.palette.hint())));
            }
        }
        lines
    }
}

/// The agent with its presence and the number of its unread messages.
fn name(agent: &AgentPresence, palette: Palette) -> Line<'static> {
    let id = sanitize::line(&agent.id).into_owned();
    let mut spans = vec![
        Span::styled(id, palette.sender(&agent.id)),
        Span::raw(format!(" {}", agent.presence.as_str())),
    ];
    if agent.unread > 0 {
        let unread = format!(" {} unread", agent.unread);
        spans.push(Span::styled(unread, palette.hint()));
    }
    Line::from(spans)
}

/// The line after a blank column, cut at the width.
fn indented(line: &Line<'static>, width: usize) -> Line<'static> {
    let mut left = width;
    let mut spans = vec![Span::raw(" ")];
    for span in &line.spans {
        let text = cut(&span.content, left);
        left = left.saturating_sub(Span::raw(&*text).width());
        spans.push(Span::styled(text, span.style));
    }
    Line::from(spans)
}
