//! Draws the view: the timeline or the help, the items, the numbers, an answer, and the line.

use super::approval_reader::ApprovalReader;
use super::{WatchView, side};
use crate::base::sanitize;
use crate::cli::show::row::cut;
use crate::cli::watch::help;
use crate::cli::watch::lines::{self, DIM};
use crate::cli::watch::meaning::preview;
use crate::query::who::AgentPresence;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use unicode_width::UnicodeWidthStr;

/// Maximum number of lines of an answer.
const NOTE_LINES: usize = 5;

impl WatchView {
    /// Draws everything: the timeline, the numbers, an answer if there is one, and the line.
    pub(in crate::cli::watch) fn draw(&mut self, frame: &mut Frame<'_>) {
        let area = frame.area();
        let width = usize::from(area.width);
        let side_width = side::width(width);
        let note = self.note(width);
        // The help needs the whole screen.
        let panel = if self.helps {
            Vec::new()
        } else {
            let height = usize::from(area.height);
            self.board.panel(width, height, self.palette)
        };
        let [timeline, items, status, answer, line] = Layout::vertical([
            Constraint::Min(0),
            Constraint::Length(panel.len() as u16),
            Constraint::Length(1),
            Constraint::Length(note.len() as u16),
            Constraint::Length(1),
        ])
        .areas(area);
        let [timeline, side] =
            Layout::horizontal([Constraint::Min(0), Constraint::Length(side_width as u16)])
                .areas(timeline);
        self.draw_timeline(frame, timeline);
        if side_width > 0 {
            let lines = self.side(usize::from(side.height));
            frame.render_widget(Paragraph::new(lines), side);
        }
        frame.render_widget(Paragraph::new(panel), items);
        let reversed = Style::new().add_modifier(Modifier::REVERSED);
        frame.render_widget(
            Paragraph::new(format!("{:<width$}", cut(&self.status(width), width))).style(reversed),
            status,
        );
        frame.render_widget(Paragraph::new(note), answer);
        self.draw_prompt(frame, line);
    }

    fn draw_timeline(&mut self, frame: &mut Frame<'_>, area: Rect) {
        if self.helps {
            return frame.render_widget(Paragraph::new(help::lines(usize::from(area.width))), area);
        }
        if let Some(reading) = &mut self.reading {
            return reading.draw(frame, area);
        }
        let (width, page) = (usize::from(area.width), usize::from(area.height).max(1));
        if width != self.width {
            self.fold_again(width, page);
        }
        self.page = page;
        self.turn(self.below);
        let end = self.lines.len() - self.below;
        let shown = self.lines[end.saturating_sub(self.page)..end].to_vec();
        if shown.is_empty() {
            let hint = "  No messages yet. Messages sent in this room appear here.";
            let hint = lines::fold(hint, width).join("\n");
            return frame.render_widget(Paragraph::new(hint).style(DIM), area);
        }
        frame.render_widget(Paragraph::new(shown), area);
    }

    fn draw_prompt(&self, frame: &mut Frame<'_>, area: Rect) {
        let name = sanitize::line(&self.who.name);
        let ask = format!("{}> ", if name.width() > 20 { "" } else { &name });
        let width = usize::from(area.width).saturating_sub(ask.width());
        let (text, column) = self.prompt.view(width);
        let text = if self.prompt.text().is_empty() {
            let hint = match self.channels.only() {
                Some(channel) => {
                    format!("@name for an agent, otherwise to the channel {channel}; ? for help")
                }
                None => "@name and a message; ? for help".to_owned(),
            };
            Span::styled(cut(&hint, width), DIM)
        } else {
            Span::raw(text)
        };
        let column = (ask.width() + column) as u16;
        frame.render_widget(Paragraph::new(Line::from(vec![Span::raw(ask), text])), area);
        if area.height > 0 && column < area.width {
            frame.set_cursor_position((area.x + column, area.y));
        }
    }

    fn note(&self, width: usize) -> Vec<Line<'static>> {
        let trouble = self
            .trouble
            .as_ref()
            .map(|trouble| (trouble, self.palette.trouble()));
        let note = self.note.as_ref().map(|(note, style)| (note, *style));
        let unread = self
            .reading
            .as_ref()
            .filter(|reading| !reading.is_complete())
            .map(ApprovalReader::hint);
        let preview = unread.or_else(|| {
            self.meaning()
                .ok()
                .and_then(|meaning| preview(&meaning, self.reading.is_some()))
        });
        let preview = preview
            .as_ref()
            .map(|preview| (preview, self.palette.hint()));
        let Some((text, style)) = note.or(preview).or(trouble) else {
            return Vec::new();
        };
        let mut lines = lines::fold_indented(text, width);
        if lines.len() > NOTE_LINES {
            lines.truncate(NOTE_LINES);
            if let Some(last) = lines.last_mut() {
                *last = format!(
                    "{}…",
                    cut(last, width.saturating_sub(1)).trim_end_matches('…')
                );
            }
        }
        let lines = lines.into_iter();
        lines
            .map(|line| Line::from(Span::styled(line, style)))
            .collect()
    }

    /// The numbers in one line; the room's name takes the rest.
    fn status(&self, width: usize) -> String {
        let Some(glance) = &self.glance else {
            return " loading …".into();
        };
        let mut parts = vec![match (glance.router, &glance.router_visible_to) {
            (Some(pid), _) if pid == std::process::id() => "delivering here".into(),
            (Some(pid), _) => format!("router {pid}"),
            (None, Some(_)) => "router unknown".into(),
            (None, None) => "no router".into(),
        }];
        if let Some(all) = &self.everybody {
            let unread = |agent: &AgentPresence| agent.unread;
            let agents = &all.roster.agents;
            let own = agents.iter().find(|agent| *agent.id == *self.who.name);
            parts.push(format!(
                "unread {} {}, all {}",
                sanitize::line(&self.who.name),
                own.map_or(0, unread),
                agents.iter().map(unread).sum::<usize>()
            ));
        }
        parts.push(format!("rejected {}", glance.rejected));
        parts.push(format!("undelivered {}", glance.waiting + glance.blocked));
        if self.below > 0 {
            parts.insert(0, format!("↓ {} new", self.news));
        }
        if let Some(summary) = self.board.summary() {
            parts.insert(0, summary);
        }
        let numbers = parts.join(" | ");
        let path = sanitize::line(&self.place).into_owned();
        let left = width.saturating_sub(numbers.width() + " … | ".width());
        let mut name = path.as_str();
        while name.width() > left {
            name = name.char_indices().nth(1).map_or("", |(at, _)| &name[at..]);
        }
        let cut = if name.len() < path.len() { "…" } else { "" };
        if left < 8 {
            format!(" {numbers}")
        } else {
            format!(" {cut}{name} | {numbers}")
        }
    }
}
