//! What the screen shows, and what keys do to it; knows no terminal.

use super::lines::{self, DIM, Palette};
use super::prompt::{Edit, Prompt};
use crate::base::error::Error;
use crate::base::sanitize;
use crate::commands::{chat_input, send};
use crate::disk::layout;
use crate::query::identity::Who;
use crate::query::status::Glance;
use crate::query::timeline::{Channels, Entry};
use crate::room::Room;
use ratatui::Frame;
use ratatui::crossterm::event::{Event as Typed, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use std::collections::VecDeque;
use unicode_width::UnicodeWidthStr;

/// How many entries are kept to turn back to.
const KEPT: usize = 2000;
/// How many lines an answer to what was typed may take.
const NOTE_LINES: usize = 5;

/// What came of a key.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Done {
    /// Nothing outside the view.
    Shown,
    /// A message was written.
    Sent,
    /// The person wants to go.
    Quit,
}

/// The timeline, the numbers, and the line that is being written.
pub(super) struct View {
    room: Room,
    /// The directory whose room it is, as a person calls it.
    place: String,
    who: Who,
    channels: Channels,
    palette: Palette,
    entries: VecDeque<Entry>,
    /// The entries' lines at the width of the screen.
    lines: Vec<Line<'static>>,
    width: usize,
    /// How many lines stand below the screen.
    below: usize,
    /// How many entries came while the person had turned back.
    news: usize,
    page: usize,
    prompt: Prompt,
    note: Option<(String, Style)>,
    glance: Option<Glance>,
    trouble: Option<String>,
}

impl View {
    pub(super) fn new(room: Room, who: Who, channels: Channels, palette: Palette) -> View {
        let path = room.dir.path().canonicalize().unwrap_or_else(|_| room.dir.path().to_path_buf());
        let is_named = path.file_name().is_some_and(|name| name == layout::ROOM);
        let place = path.parent().filter(|_| is_named).unwrap_or(&path).display().to_string();
        View {
            room,
            place,
            who,
            channels,
            palette,
            entries: VecDeque::new(),
            lines: Vec::new(),
            width: 0,
            below: 0,
            news: 0,
            page: 1,
            prompt: Prompt::default(),
            note: None,
            glance: None,
            trouble: None,
        }
    }

    /// Adds entries. A person who has scrolled back keeps the position.
    pub(super) fn add(&mut self, entries: Vec<Entry>) {
        let before = self.lines.len();
        for entry in entries {
            self.fold(&entry);
            self.entries.push_back(entry);
            self.news += usize::from(self.below > 0);
        }
        if self.below > 0 {
            self.below += self.lines.len() - before;
        }
        // Many at once, since the rest is folded anew.
        if self.entries.len() > KEPT + KEPT / 4 {
            self.entries.drain(..self.entries.len() - KEPT);
            self.fold_all();
        }
    }

    /// The numbers are these now.
    pub(super) fn looked(&mut self, looked: Result<Glance, String>) {
        match looked {
            Ok(glance) => (self.glance, self.trouble) = (Some(glance), None),
            Err(trouble) => self.trouble = Some(trouble),
        }
    }

    /// The log can't be read.
    pub(super) fn troubled(&mut self, e: &Error) {
        self.trouble = Some(e.to_string());
    }

    fn fold(&mut self, entry: &Entry) {
        if self.width == 0 {
            return;
        }
        let day = |entry: &Entry| lines::local(entry).date_naive();
        if self.entries.back().map(day) != Some(day(entry)) {
            let rule = format!("  {} ", lines::local(entry).format("%A %Y-%m-%d"));
            self.lines.push(Line::from(Span::styled(rule, DIM.add_modifier(Modifier::UNDERLINED))));
        }
        self.lines.extend(lines::entry(entry, self.width, self.palette));
    }

    fn fold_all(&mut self) {
        self.lines.clear();
        for entry in std::mem::take(&mut self.entries) {
            self.fold(&entry);
            self.entries.push_back(entry);
        }
    }

    /// A key or pasted text.
    pub(super) fn typed(&mut self, typed: Typed) -> Done {
        match typed {
            Typed::Key(key) if key.kind != KeyEventKind::Release => self.key(key),
            Typed::Paste(text) => self.edit(Edit::Paste(text)),
            _ => Done::Shown,
        }
    }

    fn key(&mut self, key: KeyEvent) -> Done {
        let held = key.modifiers & (KeyModifiers::CONTROL | KeyModifiers::ALT);
        let edit = match (held, key.code) {
            (KeyModifiers::CONTROL, KeyCode::Char('c')) => return Done::Quit,
            (KeyModifiers::CONTROL, KeyCode::Char('d')) if self.prompt.text().is_empty() => return Done::Quit,
            (KeyModifiers::NONE, KeyCode::Enter) => return self.send(),
            (_, KeyCode::Enter) => Edit::Insert('\n'),
            (_, KeyCode::PageUp) => return self.turn(self.below + self.page),
            (_, KeyCode::PageDown) => return self.turn(self.below.saturating_sub(self.page)),
            (KeyModifiers::NONE, KeyCode::Esc) => {
                self.note = None;
                return self.turn(0);
            }
            (KeyModifiers::CONTROL, KeyCode::Char('u')) => Edit::KillBefore,
            (KeyModifiers::CONTROL, KeyCode::Char('k')) => Edit::KillAfter,
            (KeyModifiers::CONTROL, KeyCode::Char('w')) | (_, KeyCode::Backspace) if !held.is_empty() => Edit::KillWord,
            (KeyModifiers::CONTROL, KeyCode::Char('a')) => Edit::Home,
            (KeyModifiers::CONTROL, KeyCode::Char('e')) => Edit::End,
            (KeyModifiers::CONTROL, KeyCode::Char('d')) => Edit::Delete,
            (KeyModifiers::CONTROL, KeyCode::Char('p')) | (KeyModifiers::NONE, KeyCode::Up) => Edit::Older,
            (KeyModifiers::CONTROL, KeyCode::Char('n')) | (KeyModifiers::NONE, KeyCode::Down) => Edit::Newer,
            (KeyModifiers::NONE, KeyCode::Left) => Edit::Left,
            (KeyModifiers::NONE, KeyCode::Right) => Edit::Right,
            (_, KeyCode::Left) => Edit::WordLeft,
            (_, KeyCode::Right) => Edit::WordRight,
            (_, KeyCode::Home) => Edit::Home,
            (_, KeyCode::End) => Edit::End,
            (_, KeyCode::Backspace) => Edit::Backspace,
            (_, KeyCode::Delete) => Edit::Delete,
            (KeyModifiers::NONE, KeyCode::Char(c)) => Edit::Insert(c),
            _ => return Done::Shown,
        };
        self.edit(edit)
    }

    fn edit(&mut self, edit: Edit) -> Done {
        self.note = None;
        self.prompt.apply(edit);
        Done::Shown
    }

    fn turn(&mut self, below: usize) -> Done {
        self.below = below.min(self.lines.len().saturating_sub(self.page));
        if self.below == 0 {
            self.news = 0;
        }
        Done::Shown
    }

    /// What can't be sent stays in the line, with the reason below it.
    fn send(&mut self) -> Done {
        let drafted = chat_input::draft(self.prompt.text(), &self.channels);
        match drafted.and_then(|draft| send::send(&self.room, &self.who, draft)) {
            Ok(sent) => {
                let to: Vec<&str> = sent.recipients.iter().map(|recipient| &*recipient.agent).collect();
                let to = match to.len() {
                    0 => self.channels.only().map_or("no agent".to_owned(), |channel| format!("the channel {channel}")),
                    1..=3 => to.join(", "),
                    many => format!("{many} agents"),
                };
                self.note = Some((format!("sent to {to}"), DIM));
                self.prompt.sent();
                self.turn(0);
                Done::Sent
            }
            Err(e @ Error::Usage { .. }) => {
                self.note = Some((e.to_string(), self.palette.hint()));
                Done::Shown
            }
            Err(e) => {
                self.note = Some((e.to_string(), self.palette.trouble()));
                Done::Shown
            }
        }
    }

    /// Draws everything: the timeline, the numbers, an answer if there is one, and the line.
    pub(super) fn draw(&mut self, frame: &mut Frame<'_>) {
        let area = frame.area();
        let width = usize::from(area.width);
        if width != self.width {
            self.width = width;
            self.fold_all();
        }
        let note = self.note(width);
        let [timeline, status, answer, line] = Layout::vertical([
            Constraint::Min(0),
            Constraint::Length(1),
            Constraint::Length(note.len() as u16),
            Constraint::Length(1),
        ])
        .areas(area);
        self.draw_timeline(frame, timeline);
        let reversed = Style::new().add_modifier(Modifier::REVERSED);
        frame.render_widget(Paragraph::new(format!("{:<width$}", self.status(width))).style(reversed), status);
        frame.render_widget(Paragraph::new(note), answer);
        self.draw_prompt(frame, line);
    }

    fn draw_timeline(&mut self, frame: &mut Frame<'_>, area: Rect) {
        self.page = usize::from(area.height).max(1);
        self.turn(self.below);
        let end = self.lines.len() - self.below;
        let shown = self.lines[end.saturating_sub(self.page)..end].to_vec();
        if shown.is_empty() {
            let hint = "  No messages yet. Messages sent in this room appear here.";
            frame.render_widget(Paragraph::new(Span::styled(hint, DIM)), area);
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
                Some(channel) => format!("@name for an agent, otherwise to the channel {channel}"),
                None => "@name and a message".to_owned(),
            };
            Span::styled(hint, DIM)
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
        let trouble = self.trouble.as_ref().map(|trouble| (trouble, self.palette.trouble()));
        let note = self.note.as_ref().map(|(note, style)| (note, *style));
        let Some((text, style)) = note.or(trouble) else { return Vec::new() };
        let lines = lines::fold(text, width).into_iter().take(NOTE_LINES);
        lines.map(|line| Line::from(Span::styled(line, style))).collect()
    }

    /// The numbers in one line; the room's name takes what is left.
    fn status(&self, width: usize) -> String {
        let Some(glance) = &self.glance else { return " loading …".into() };
        let mut parts = vec![match glance.router {
            Some(pid) if pid != std::process::id() => format!("router {pid}"),
            _ => "delivering here".into(),
        }];
        parts.push(format!("unread {} {}, all {}", sanitize::line(&self.who.name), glance.own_unread, glance.unread));
        parts.push(format!("rejected {}", glance.rejected));
        parts.push(format!("pending {}", glance.waiting + glance.blocked));
        if self.below > 0 {
            parts.insert(0, format!("↓ {} new", self.news));
        }
        let numbers = parts.join(" | ");
        let path = sanitize::line(&self.place).into_owned();
        let left = width.saturating_sub(numbers.width() + " … | ".width());
        let mut name = path.as_str();
        while name.width() > left {
            name = name.char_indices().nth(1).map_or("", |(at, _)| &name[at..]);
        }
        let cut = if name.len() < path.len() { "…" } else { "" };
        if left < 8 { format!(" {numbers}") } else { format!(" {cut}{name} | {numbers}") }
    }
}
