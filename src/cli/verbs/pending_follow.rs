//! `mailbag pending --follow`: the pending items at a terminal, each with a number, and one line to answer them.

use super::watch::deliver;
use crate::base::error::{Error, ErrorContext, Result};
use crate::base::text::quoted;
use crate::base::{limits, sanitize};
use crate::cli::context::{CommandContext, IdentityArgs};
use crate::cli::show::frame::{INDENT, folded, source};
use crate::cli::show::output::{CommandOutput, RED, YELLOW};
use crate::cli::show::row::cut;
use crate::commands::answer::{self, ItemAction};
use crate::commands::approval::{chosen, require_decider};
use crate::commands::wait::{self, StandbyRouter};
use crate::disk::machine;
use crate::disk::terminal::KeyTerminal;
use crate::query::displayed::DisplayedApproval;
use crate::query::identity::AgentIdentity;
use crate::query::latest::RoomStateCache;
use crate::query::pending::{PendingItem, age, left};
use crate::query::timeline::Timeline;
use crate::room::Room;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGWINCH};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};
use unicode_width::UnicodeWidthStr;

/// How the terminal is called in errors.
const TERMINAL: &str = "the terminal";
/// Minimum time between two looks at the room.
const BREATH: Duration = Duration::from_millis(100);
/// The rows of the screen below the page of an approval.
const BELOW: usize = 6;
const CTRL_D: u8 = 0x04;
const BACKSPACE: u8 = 0x08;
const CTRL_U: u8 = 0x15;
const ESCAPE: u8 = 0x1b;
const DELETE: u8 = 0x7f;
const HELP: &str = "`2 yes` answers item 2; Ctrl-C ends";

/// A reason to draw again.
enum FollowEvent {
    /// The log may have grown.
    Grown,
    /// Keys, and when they were read.
    Keys(Instant, Vec<u8>),
    /// The size of the terminal has changed.
    Resized,
    /// End cleanly.
    End,
}

/// An approval that the person reads from the first line to the last.
struct ShownApproval {
    displayed: DisplayedApproval,
    /// The size of the terminal for the page.
    size: (usize, usize),
    /// The first line of the page.
    top: usize,
    /// True if the page was drawn.
    is_drawn: bool,
    /// True if the page is the last one.
    is_last: bool,
}

impl ShownApproval {
    /// The lines of the page. Another size of the terminal begins again at the first page.
    fn page(&mut self, size: (usize, usize)) -> Vec<String> {
        if self.size != size {
            (self.size, self.top, self.is_drawn) = (size, 0, false);
        }
        let lines = source(&self.displayed.text, size.0);
        self.is_last = self.top + self.rows() >= lines.len();
        lines.into_iter().skip(self.top).take(self.rows()).collect()
    }

    fn turn_page(&mut self) {
        self.top += self.rows();
        self.is_drawn = false;
    }

    fn rows(&self) -> usize {
        self.size.1.saturating_sub(BELOW).max(1)
    }

    fn is_whole(&self) -> bool {
        self.is_drawn && self.is_last
    }
}

/// The items, the typed line, and the last answer or problem.
struct FollowView {
    room: Room,
    who: AgentIdentity,
    agent: String,
    items: Vec<(usize, PendingItem)>,
    /// A sentence about the items that are not listed.
    older: Option<String>,
    /// The number that was given last. No number is used for a second item, so no answer reaches another item.
    last: usize,
    line: Vec<u8>,
    note: String,
    shown: Option<ShownApproval>,
    /// Keys that were typed before the page of an approval was drawn do not decide it.
    page_drawn: Instant,
}

pub(super) fn run(identity: &IdentityArgs, cx: &CommandContext) -> Result<()> {
    let who = identity.who(cx)?;
    let room = cx.room()?;
    let agent = who.mailbox(&room, &room.registry()?)?;
    require_decider(&agent)?;
    if cx.out.json || !cx.out.is_terminal() {
        return Err(Error::usage(
            "`mailbag pending --follow` needs a terminal",
            "run `mailbag pending --json` for the items, or `mailbag watch --json` for new messages",
        ));
    }
    let _hold = wait::hold(&room, Some(&agent));
    let (wakes, woken) = channel();
    let (grown, ends) = (wakes.clone(), wakes.clone());
    // Without events, the items are read every two seconds. A receiver is gone only when the program ends.
    let _watch = Timeline::notify(&room, move || {
        let _ = grown.send(FollowEvent::Grown);
    });
    machine::at_signals(&[SIGHUP, SIGINT, SIGTERM, SIGWINCH], move |signal| {
        let event = if signal == SIGWINCH {
            FollowEvent::Resized
        } else {
            FollowEvent::End
        };
        ends.send(event).is_err()
    })?;
    let mut terminal = KeyTerminal::open().doing("open", TERMINAL)?;
    let keys = terminal.keys().doing("read from", TERMINAL)?;
    std::thread::spawn(move || {
        for read in keys {
            let _ = wakes.send(FollowEvent::Keys(Instant::now(), read));
        }
        let _ = wakes.send(FollowEvent::End);
    });
    let mut routing = StandbyRouter::new(&room);
    let mut state = RoomStateCache::new(room.clone());
    let mut view = FollowView {
        room,
        who,
        agent,
        items: Vec::new(),
        older: None,
        last: 0,
        line: Vec::new(),
        note: String::new(),
        shown: None,
        page_drawn: Instant::now(),
    };
    let (mut is_stale, mut looked, mut trouble) = (true, None, None);
    loop {
        if is_stale && looked.is_none_or(|at: Instant| at.elapsed() >= BREATH) {
            let list = deliver(&view.room, &mut routing).and_then(|()| state.pending(&view.agent));
            match list {
                Ok(list) => {
                    if trouble.take().is_some_and(|trouble| trouble == view.note) {
                        view.note.clear();
                    }
                    view.older = list.older_sentence();
                    view.update(list.items);
                }
                Err(e) => {
                    view.note = e.to_string();
                    trouble = Some(view.note.clone());
                }
            }
            (is_stale, looked) = (false, Some(Instant::now()));
        }
        view.draw(&mut terminal, &cx.out)?;
        let pause = if is_stale {
            BREATH
        } else {
            limits::SWEEP_UNTRUSTED
        };
        match woken.recv_timeout(pause) {
            Ok(FollowEvent::End) | Err(RecvTimeoutError::Disconnected) => return Ok(()),
            Ok(FollowEvent::Keys(at, keys)) => {
                if at >= view.page_drawn && !view.apply(&keys, &mut terminal, &cx.out)? {
                    return Ok(());
                }
                is_stale = true;
            }
            Ok(FollowEvent::Resized) => {}
            Ok(FollowEvent::Grown) | Err(RecvTimeoutError::Timeout) => is_stale = true,
        }
    }
}

impl FollowView {
    /// Replaces the items. An open item keeps its number.
    fn update(&mut self, items: Vec<PendingItem>) {
        let before = std::mem::take(&mut self.items);
        for item in items {
            let same = before.iter().find(|(_, old)| old.key() == item.key());
            let number = same.map_or(self.last + 1, |(number, _)| *number);
            self.last = self.last.max(number);
            self.items.push((number, item));
        }
    }

    /// Applies keys. Returns false if the person ends the command.
    fn apply(
        &mut self,
        keys: &[u8],
        terminal: &mut KeyTerminal,
        out: &CommandOutput,
    ) -> Result<bool> {
        let mut keys = keys.iter().copied();
        while let Some(key) = keys.next() {
            if !is_enter(key) {
                self.note.clear();
            }
            match key {
                _ if is_enter(key) && self.line.is_empty() && self.shown.is_none() => {}
                _ if is_enter(key) => {
                    self.enter(terminal, out)?;
                    // The further keys were typed before the page is shown.
                    if self.shown.is_some() {
                        return Ok(true);
                    }
                }
                CTRL_D if self.line.is_empty() => return Ok(false),
                CTRL_U => self.line.clear(),
                BACKSPACE | DELETE => {
                    // The further bytes of a letter come before its first one.
                    while self.line.pop().is_some_and(|byte| byte & 0xc0 == 0x80) {}
                }
                ESCAPE if keys.len() == 0 => self.shown = None,
                // A function key: an introducer, parameters, and a last byte.
                ESCAPE => {
                    keys.next();
                    keys.find(|byte| (0x40..0x7f).contains(byte));
                }
                0..=0x1f => {}
                _ => self.line.push(key),
            }
        }
        Ok(true)
    }

    /// Answers as the typed line says, or shows the next page of an approval.
    fn enter(&mut self, terminal: &mut KeyTerminal, out: &CommandOutput) -> Result<()> {
        if let Some(shown) = self.shown.as_mut().filter(|shown| !shown.is_whole()) {
            shown.turn_page();
            return Ok(());
        }
        match self.typed() {
            Ok((item, _)) if self.must_show(&item) => {
                let digest = item.digest.as_deref().unwrap_or_default();
                match DisplayedApproval::of_record(&self.room, item.seq, digest) {
                    Ok(displayed) => {
                        self.shown = Some(ShownApproval {
                            displayed,
                            size: terminal.size(),
                            top: 0,
                            is_drawn: false,
                            is_last: false,
                        });
                    }
                    Err(e) => self.note = e.to_string(),
                }
            }
            Ok((item, None)) => {
                let seq = item.seq;
                self.note = format!("{}; `mailbag thread {seq}` shows the message", forms(&item));
            }
            Ok((item, Some(action))) => {
                self.note = "answering …".into();
                self.draw(terminal, out)?;
                match answer::answer(&self.room, &self.who, &item, action) {
                    Ok(sentence) => {
                        self.line.clear();
                        self.note = sentence;
                    }
                    Err(e) => self.note = e.to_string(),
                }
                self.shown = None;
            }
            Err(e) => self.note = e.to_string(),
        }
        Ok(())
    }

    /// Returns true for an approval that is not on the screen.
    fn must_show(&self, item: &PendingItem) -> bool {
        let digest = self.shown.as_ref().map(|shown| &shown.displayed.digest);
        item.kind == "approval" && digest != item.digest.as_ref()
    }

    /// The item and the action of the typed line. A number alone has no action.
    fn typed(&self) -> Result<(PendingItem, Option<ItemAction>)> {
        let line = String::from_utf8_lossy(&self.line);
        let line = line.trim();
        let (number, text) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let text = text.trim();
        let mut items = self.items.iter();
        let found = items.find(|(own, item)| match number.strip_prefix('#') {
            Some(seq) => item.seq > 0 && seq == item.seq.to_string(),
            None => number == own.to_string(),
        });
        let (_, item) = found.ok_or_else(|| {
            Error::not_found(
                format!("no open item has the number {}", quoted(number)),
                "begin with a number of the list",
            )
        })?;
        if text.is_empty() {
            return Ok((item.clone(), None));
        }
        let action = action(item, text).ok_or_else(|| {
            Error::usage(
                format!("{} does not answer the {}", quoted(text), item.kind),
                forms(item),
            )
        })?;
        Ok((item.clone(), Some(action)))
    }

    fn draw(&mut self, terminal: &mut KeyTerminal, out: &CommandOutput) -> Result<()> {
        let (width, height) = terminal.size();
        let mut hint = HELP;
        let mut lines = match &mut self.shown {
            Some(shown) => {
                let page = shown.page((width, height));
                hint = if shown.is_last {
                    "this is all; Enter decides by the line below; Esc closes"
                } else {
                    "Enter shows more, Esc closes"
                };
                page
            }
            None => self.rows(width, height.saturating_sub(BELOW).max(1), out),
        };
        let note = if self.note.is_empty() {
            hint
        } else {
            &self.note
        };
        let note = folded(&sanitize::line(note), Some(width), INDENT);
        lines.extend(
            [String::new()]
                .into_iter()
                .chain(note.into_iter().take(BELOW - 2)),
        );
        let typed = String::from_utf8_lossy(&self.line);
        let typed = sanitize::line(&typed);
        let mut tail = &*typed;
        while tail.width() + 3 > width && !tail.is_empty() {
            tail = &tail[tail.chars().next().map_or(0, char::len_utf8)..];
        }
        let lines: String = lines.iter().map(|line| format!("{line}\x1b[K\n")).collect();
        terminal
            .write(&format!("\x1b[H{lines}> {tail}\x1b[J"))
            .doing("draw on", TERMINAL)?;
        if let Some(shown) = self.shown.as_mut().filter(|shown| !shown.is_drawn) {
            shown.is_drawn = true;
            terminal.drop_keys().doing("read from", TERMINAL)?;
            self.page_drawn = Instant::now();
        }
        Ok(())
    }

    /// The most urgent items, one line each.
    fn rows(&self, width: usize, most: usize, out: &CommandOutput) -> Vec<String> {
        if self.items.is_empty() && self.older.is_none() {
            return vec![format!("nothing needs {}", self.agent)];
        }
        let is_cut = self.items.len() > most;
        let shown = if is_cut { most - 1 } else { most };
        let rows = self.items.iter().take(shown);
        let mut rows: Vec<String> = rows
            .map(|(number, item)| row(*number, item, width, out))
            .collect();
        if is_cut {
            let more = self.items.len() - shown;
            rows.push(cut(
                &format!("and {more} more; `mailbag pending` lists them"),
                width,
            ));
        }
        rows.extend(self.older.as_ref().map(|older| cut(older, width)));
        rows
    }
}

fn is_enter(key: u8) -> bool {
    matches!(key, b'\r' | b'\n')
}

/// An item in one line.
fn row(number: usize, item: &PendingItem, width: usize, out: &CommandOutput) -> String {
    let record = if item.seq == 0 {
        String::new()
    } else {
        format!(" #{}", item.seq)
    };
    let deadline = item.deadline.as_deref();
    let time = deadline.map_or_else(|| format!("{} ago", age(&item.since)), left);
    let inactive = if item.inactive { ", inactive" } else { "" };
    let options = if item.options.is_empty() {
        String::new()
    } else {
        format!(" [{}]", options(item).join(", "))
    };
    let title = sanitize::quote(&item.title, limits::TITLE);
    let text = format!(
        "{number:>2} {}{record} {}, {time}{inactive} {title}{options}",
        item.kind,
        sanitize::line(&item.from)
    );
    let style = if matches!(item.kind, "approval" | "escalation") {
        RED
    } else {
        YELLOW
    };
    out.paint(style, &cut(&text, width))
}

fn options(item: &PendingItem) -> Vec<String> {
    let options = item.options.iter();
    options
        .map(|option| sanitize::path(option, limits::TITLE))
        .collect()
}

/// The action that a text means for an item.
fn action(item: &PendingItem, text: &str) -> Option<ItemAction> {
    let lower = text.to_lowercase();
    let dismissal = (lower == "dismiss").then_some(ItemAction::Dismiss);
    match item.kind {
        "approval" => chosen(&item.options, text).map(|option| ItemAction::Decide {
            option: option.to_owned(),
            digest: item.digest.clone().unwrap_or_default(),
        }),
        "question" | "escalation" => dismissal.or_else(|| Some(ItemAction::Reply(text.to_owned()))),
        "offer" if "accept".starts_with(&lower) => Some(ItemAction::Accept),
        "offer" if "decline".starts_with(&lower) => Some(ItemAction::Decline),
        "rejection" => dismissal,
        _ => None,
    }
}

/// How to answer an item.
fn forms(item: &PendingItem) -> String {
    let words = match item.kind {
        "approval" => options(item).join(", "),
        "question" | "escalation" => "a reply, or dismiss".into(),
        "offer" => "accept, decline".into(),
        "rejection" => "dismiss".into(),
        _ => return format!("run `{}` in another terminal", item.command),
    };
    format!("write the number and one of: {words}")
}
