//! The content of the screen and the effect of keys, independent of the terminal.

mod drawing;
mod approval_reader;
mod side;

use self::approval_reader::ApprovalReader;
use crate::base::error::{Error, Result};
use crate::base::sanitize;
use crate::cli::watch::board::ItemBoard;
use crate::cli::watch::completion;
use crate::cli::watch::keeper::RoomSnapshot;
use crate::cli::watch::lines::{self, DIM, Palette};
use crate::cli::watch::meaning::{InputMeaning, forms, meaning};
use crate::cli::watch::prompt::{Prompt, PromptEdit};
use crate::commands::answer::ItemAction;
use crate::commands::{chat_input, send};
use crate::disk::layout;
use crate::query::identity::AgentIdentity;
use crate::query::pending::PendingItem;
use crate::query::status::RoomCounters;
use crate::query::timeline::{self, ChannelSelection, TimelineEntry, TimelineFilter};
use crate::query::who::KnownAgents;
use crate::room::Room;
use ratatui::crossterm::event::{Event as Typed, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use std::collections::VecDeque;

/// The number of entries that are kept to turn back to.
const KEPT: usize = 2000;
/// The number of older entries that are read together.
const OLDER: usize = 200;

/// The result of a key.
pub(in crate::cli::watch) enum KeyResult {
    /// Nothing outside the view.
    Shown,
    /// A message was written.
    Sent,
    /// An answer to an item has to be given.
    Answers(Box<ItemAnswer>),
    /// The person wants to go.
    Quit,
}

/// An answer to an item, as the person gave it.
pub(in crate::cli::watch) struct ItemAnswer {
    pub(in crate::cli::watch) room: Room,
    pub(in crate::cli::watch) who: AgentIdentity,
    pub(in crate::cli::watch) item: PendingItem,
    pub(in crate::cli::watch) action: ItemAction,
}

/// The timeline, the numbers, and the line that is being written.
pub(in crate::cli::watch) struct WatchView {
    room: Room,
    /// The directory of the room, as a person calls it.
    place: String,
    who: AgentIdentity,
    channels: ChannelSelection,
    palette: Palette,
    entries: VecDeque<TimelineEntry>,
    /// Older entries are read before this record; `None`: before the first entry.
    older: Option<u64>,
    everybody: Option<KnownAgents>,
    /// The entries' lines at the width of the screen.
    lines: Vec<Line<'static>>,
    /// The first line of each entry.
    starts: Vec<usize>,
    width: usize,
    /// Number of lines below the screen.
    below: usize,
    /// Number of new entries since the person scrolled back.
    news: usize,
    page: usize,
    prompt: Prompt,
    note: Option<(String, Style)>,
    glance: Option<RoomCounters>,
    trouble: Option<String>,
    board: ItemBoard,
    /// The line with the answer that is being recorded.
    answering: Option<String>,
    /// True while the help is shown.
    helps: bool,
    /// The approval that the person reads before deciding.
    reading: Option<ApprovalReader>,
}

impl WatchView {
    pub(in crate::cli::watch) fn new(
        room: Room,
        who: AgentIdentity,
        channels: ChannelSelection,
        palette: Palette,
    ) -> WatchView {
        let path = room
            .dir
            .path()
            .canonicalize()
            .unwrap_or_else(|_| room.dir.path().to_path_buf());
        let is_named = path.file_name().is_some_and(|name| name == layout::ROOM);
        let place = match path.parent() {
            Some(parent) if is_named => parent,
            _ => &path,
        };
        let place = place.display().to_string();
        WatchView {
            room,
            place,
            who,
            channels,
            palette,
            entries: VecDeque::new(),
            older: None,
            everybody: None,
            lines: Vec::new(),
            starts: Vec::new(),
            width: 0,
            below: 0,
            news: 0,
            page: 1,
            prompt: Prompt::default(),
            note: None,
            glance: None,
            trouble: None,
            board: ItemBoard::default(),
            answering: None,
            helps: false,
            reading: None,
        }
    }

    /// Adds entries. A person who has scrolled back keeps the position.
    pub(in crate::cli::watch) fn add(&mut self, entries: Vec<TimelineEntry>) {
        let before = self.lines.len();
        for entry in entries {
            self.fold(&entry);
            self.entries.push_back(entry);
            self.news += usize::from(self.below > 0);
        }
        if self.below > 0 {
            self.below += self.lines.len() - before;
        }
        // Many together, because the others are folded again.
        if self.below == 0 && self.entries.len() > KEPT + KEPT / 4 {
            self.older = None;
            self.entries.drain(..self.entries.len() - KEPT);
            self.fold_all();
        }
    }

    /// The numbers and the items are these now.
    pub(in crate::cli::watch) fn looked(&mut self, looked: Result<Box<RoomSnapshot>, String>) {
        match looked {
            Ok(looked) => {
                let RoomSnapshot {
                    glance,
                    pending,
                    everybody,
                } = *looked;
                (self.glance, self.trouble) = (Some(glance), None);
                self.everybody = everybody;
                if let Some(list) = pending {
                    self.board.update(list, !self.prompt.text().is_empty());
                }
            }
            Err(trouble) => self.trouble = Some(trouble),
        }
    }

    /// The log can't be read.
    pub(in crate::cli::watch) fn troubled(&mut self, e: &Error) {
        self.trouble = Some(e.to_string());
    }

    fn fold(&mut self, entry: &TimelineEntry) {
        if self.width == 0 {
            return;
        }
        self.starts.push(self.lines.len());
        let day = |entry: &TimelineEntry| lines::local(entry).date_naive();
        if self.entries.back().map(day) != Some(day(entry)) {
            let rule = format!("  {} ", lines::local(entry).format("%A %Y-%m-%d"));
            self.lines.push(Line::from(Span::styled(
                rule,
                DIM.add_modifier(Modifier::UNDERLINED),
            )));
        }
        self.lines
            .extend(lines::entry(entry, self.width, self.palette));
    }

    /// Folds the entries to another width. The entry at the top of the screen stays there.
    fn fold_again(&mut self, width: usize, page: usize) {
        let top = self.lines.len().saturating_sub(self.below + self.page);
        let entry = self.starts.partition_point(|start| *start <= top);
        self.width = width;
        self.fold_all();
        if self.below > 0
            && let Some(start) = self.starts.get(entry.saturating_sub(1))
        {
            self.below = self.lines.len().saturating_sub(start + page);
        }
    }

    fn fold_all(&mut self) {
        self.lines.clear();
        self.starts.clear();
        for entry in std::mem::take(&mut self.entries) {
            self.fold(&entry);
            self.entries.push_back(entry);
        }
    }

    /// A key or pasted text.
    pub(in crate::cli::watch) fn typed(&mut self, typed: Typed) -> KeyResult {
        match typed {
            Typed::Key(key) if key.kind != KeyEventKind::Release => self.key(key),
            Typed::Paste(text) => self.edit(PromptEdit::Paste(text)),
            _ => KeyResult::Shown,
        }
    }

    fn key(&mut self, key: KeyEvent) -> KeyResult {
        let is_empty = self.prompt.text().is_empty();
        let held = key.modifiers & (KeyModifiers::CONTROL | KeyModifiers::ALT);
        let edit = match (held, key.code) {
            (KeyModifiers::CONTROL, KeyCode::Char('c')) => return KeyResult::Quit,
            (KeyModifiers::CONTROL, KeyCode::Char('d')) if self.prompt.text().is_empty() => {
                return KeyResult::Quit;
            }
            (KeyModifiers::NONE, KeyCode::Enter) => return self.send(),
            (_, KeyCode::Enter) => PromptEdit::Insert('\n'),
            (_, KeyCode::PageUp) if self.reading.is_some() => {
                return self.turn_reading(ApprovalReader::previous_page);
            }
            (_, KeyCode::PageDown) if self.reading.is_some() => {
                return self.turn_reading(ApprovalReader::next_page);
            }
            (_, KeyCode::PageUp) => return self.turn_back(self.below + self.page),
            (_, KeyCode::PageDown) => return self.turn(self.below.saturating_sub(self.page)),
            (_, KeyCode::Tab) => return self.complete(),
            (KeyModifiers::NONE | KeyModifiers::SHIFT, KeyCode::Char('?'))
                if self.prompt.text().is_empty() =>
            {
                self.helps = !self.helps;
                return KeyResult::Shown;
            }
            (KeyModifiers::NONE, KeyCode::Esc) => {
                (self.note, self.helps, self.reading) = (None, false, None);
                return self.turn(0);
            }
            (KeyModifiers::CONTROL, KeyCode::Char('u')) => PromptEdit::KillBefore,
            (KeyModifiers::CONTROL, KeyCode::Char('k')) => PromptEdit::KillAfter,
            (KeyModifiers::CONTROL, KeyCode::Char('w')) | (_, KeyCode::Backspace)
                if !held.is_empty() =>
            {
                PromptEdit::KillWord
            }
            (KeyModifiers::CONTROL, KeyCode::Char('a')) => PromptEdit::Home,
            (KeyModifiers::CONTROL, KeyCode::Char('e')) => PromptEdit::End,
            (KeyModifiers::CONTROL, KeyCode::Char('d')) => PromptEdit::Delete,
            (KeyModifiers::CONTROL, KeyCode::Char('p')) | (KeyModifiers::NONE, KeyCode::Up) => {
                PromptEdit::Older
            }
            (KeyModifiers::CONTROL, KeyCode::Char('n')) | (KeyModifiers::NONE, KeyCode::Down) => {
                PromptEdit::Newer
            }
            (KeyModifiers::NONE, KeyCode::Left) => PromptEdit::Left,
            (KeyModifiers::NONE, KeyCode::Right) => PromptEdit::Right,
            (_, KeyCode::Left) => PromptEdit::WordLeft,
            (_, KeyCode::Right) => PromptEdit::WordRight,
            (_, KeyCode::Home) if is_empty => {
                self.load_older();
                return self.turn(usize::MAX);
            }
            (_, KeyCode::End) if is_empty => return self.turn(0),
            (_, KeyCode::Home) => PromptEdit::Home,
            (_, KeyCode::End) => PromptEdit::End,
            (_, KeyCode::Backspace) => PromptEdit::Backspace,
            (_, KeyCode::Delete) => PromptEdit::Delete,
            (KeyModifiers::NONE, KeyCode::Char(c)) => PromptEdit::Insert(c),
            _ => return KeyResult::Shown,
        };
        self.edit(edit)
    }

    fn edit(&mut self, edit: PromptEdit) -> KeyResult {
        (self.note, self.helps, self.reading) = (None, false, None);
        self.prompt.apply(edit);
        KeyResult::Shown
    }

    fn turn_reading(&mut self, turn: fn(&mut ApprovalReader) -> KeyResult) -> KeyResult {
        self.reading.as_mut().map_or(KeyResult::Shown, turn)
    }

    /// Turns back to a position that can be before the oldest entry.
    fn turn_back(&mut self, below: usize) -> KeyResult {
        if below + self.page > self.lines.len() {
            self.load_older();
        }
        self.turn(below)
    }

    fn load_older(&mut self) {
        let first = self.entries.front().map(|entry| entry.message.seq);
        let before = self.older.or(first);
        // The first record of a log is not an entry.
        if before.is_some_and(|before| before <= 1) {
            return;
        }
        let choice = TimelineFilter {
            channel: self.channels.only().map(str::to_owned),
            ..TimelineFilter::default()
        };
        match timeline::page(&self.room, &choice, before, OLDER) {
            Ok(page) => {
                self.older = Some(page.before.unwrap_or(1));
                let entries = page.entries.into_iter();
                for entry in entries.filter(|entry| self.channels.has(&entry.message.channel)) {
                    self.entries.push_front(entry);
                }
                self.fold_all();
            }
            Err(e) => self.troubled(&e),
        }
    }

    fn turn(&mut self, below: usize) -> KeyResult {
        self.below = below.min(self.lines.len().saturating_sub(self.page));
        if self.below == 0 {
            self.news = 0;
        }
        KeyResult::Shown
    }

    fn complete(&mut self) -> KeyResult {
        let registry = match self.room.registry() {
            Ok(registry) => registry,
            Err(e) => return self.failed(&e),
        };
        let Some(found) = completion::complete(self.prompt.before_place(), &self.board, &registry)
        else {
            return KeyResult::Shown;
        };
        let done = self.edit(PromptEdit::Complete(found.from, found.text));
        let choices: Vec<String> = found
            .choices
            .iter()
            .map(|choice| sanitize::line(choice).into_owned())
            .collect();
        self.note = (!choices.is_empty()).then(|| (choices.join("  "), DIM));
        done
    }

    fn meaning(&self) -> Result<InputMeaning<'_>> {
        meaning(self.prompt.text(), &self.board, &self.channels, |name| {
            Some(self.room.registry().ok()?.find(name)?.id.to_string())
        })
    }

    /// Sends the line. If that fails, the line stays, with the reason below it.
    fn send(&mut self) -> KeyResult {
        if self.answering.is_some() {
            return KeyResult::Shown;
        }
        let (answering, is_open) = match self.meaning() {
            Err(e) => return self.failed(&e),
            Ok(InputMeaning::Message) => return self.send_message(),
            Ok(InputMeaning::Item(slot)) => {
                let fix = forms(slot);
                return self.failed(&Error::usage("the line has a number and no answer", fix));
            }
            Ok(InputMeaning::Answer(slot, action)) => {
                let (room, who, item) = (self.room.clone(), self.who.clone(), slot.item.clone());
                (
                    Box::new(ItemAnswer {
                        room,
                        who,
                        item,
                        action,
                    }),
                    slot.open,
                )
            }
        };
        // The answer to a settled approval is the outcome, so there is nothing to read.
        if let (ItemAction::Decide { digest, .. }, true) = (&answering.action, is_open) {
            match self.read_whole(answering.item.seq, digest) {
                Ok(true) => {}
                Ok(false) => return KeyResult::Shown,
                Err(e) => return self.failed(&e),
            }
        }
        self.note = Some(("answering …".into(), DIM));
        self.answering = Some(self.prompt.text().to_owned());
        KeyResult::Answers(answering)
    }

    /// The answer was given, or can't be: then the line stays.
    pub(in crate::cli::watch) fn answered(&mut self, answered: Result<String>) {
        let line = self.answering.take();
        self.reading = None;
        match answered {
            Ok(sentence) => {
                if line.as_deref() == Some(self.prompt.text()) {
                    self.prompt.sent();
                }
                self.note = Some((sentence, DIM));
                self.turn(0);
            }
            Err(e) => {
                self.failed(&e);
            }
        }
    }

    fn send_message(&mut self) -> KeyResult {
        let drafted = chat_input::draft(self.prompt.text(), &self.channels);
        match drafted.and_then(|draft| send::send(&self.room, &self.who, draft)) {
            Ok(sent) => {
                let to: Vec<&str> = sent
                    .recipients
                    .iter()
                    .map(|recipient| &*recipient.agent)
                    .collect();
                let open = self
                    .board
                    .open()
                    .find(|slot| slot.item.kind == "approval" && to == [slot.item.from.as_str()]);
                let open = open
                    .map(|slot| format!("; the {} is still open: {}", slot.name(), forms(slot)));
                let to = match to.len() {
                    0 => self
                        .channels
                        .only()
                        .map_or("no agent".to_owned(), |channel| {
                            format!("the channel {channel}")
                        }),
                    1..=3 => to.join(", "),
                    many => format!("{many} agents"),
                };
                let unreached = sent.unreached.iter().map(|problem| format!("; {problem}"));
                let more: String = open.into_iter().chain(unreached).collect();
                self.note = Some((format!("sent to {to}{more}"), DIM));
                self.prompt.sent();
                self.turn(0);
                KeyResult::Sent
            }
            Err(e) => self.failed(&e),
        }
    }

    fn failed(&mut self, e: &Error) -> KeyResult {
        let style = if matches!(e, Error::Usage { .. }) {
            self.palette.hint()
        } else {
            self.palette.trouble()
        };
        self.note = Some((e.to_string(), style));
        KeyResult::Shown
    }
}
