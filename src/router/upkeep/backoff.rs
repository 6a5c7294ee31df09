//! What waits, why, and when it is tried again: the router's memory of passing failures, written out for `status`.

use crate::base::clock::Stamp;
use crate::base::limits;
use crate::disk::{Board, Dir, layout};
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Everything that waits.
#[derive(Default)]
pub struct Waiting {
    things: BTreeMap<String, Thing>,
    changed: bool,
    board: Option<Board>,
    told: Option<Instant>,
    said: BTreeMap<String, Said>,
}

/// When the router's own log last had that this waits, and how many times it was left out since.
struct Said {
    at: Instant,
    left_out: u32,
}

struct Thing {
    reason: String,
    since: Stamp,
    due: Option<Instant>,
    failures: u32,
}

#[derive(Serialize)]
struct Line<'a> {
    what: &'a str,
    reason: &'a str,
    since: String,
}

impl Waiting {
    /// This can't go on for this reason; it is tried again later and later. Says it in the router's own log, at most once a
    /// minute, however often it comes and goes.
    pub fn failed(&mut self, what: &str, reason: String) {
        let failures = self.things.get(what).map_or(0, |thing| thing.failures);
        let wait = (limits::RETRY_FIRST * 2u32.saturating_pow(failures.min(16))).min(limits::RETRY_MOST);
        if failures == 0 {
            self.say(what, &reason);
        }
        self.put(what, reason, Some(Instant::now() + wait), failures + 1);
    }

    fn say(&mut self, what: &str, reason: &str) {
        let now = Instant::now();
        let left_out = match self.said.get_mut(what) {
            Some(said) if now - said.at < limits::SAY_AGAIN => {
                said.left_out = said.left_out.saturating_add(1);
                return;
            }
            Some(said) => said.left_out,
            None => 0,
        };
        match left_out {
            0 => tracing::warn!(what, "waits: {reason}"),
            n => tracing::warn!(what, "waits: {reason} (and {n} times more since this was last said)"),
        }
        if self.said.len() >= limits::SAID {
            self.said.retain(|_, said| now - said.at < limits::SAY_AGAIN);
        }
        self.said.insert(what.to_owned(), Said { at: now, left_out: 0 });
    }

    /// This isn't ready for this reason; look again after this long, or only when an event comes.
    pub fn not_ready(&mut self, what: &str, reason: &str, wait: Option<Duration>) {
        self.put(what, reason.to_owned(), wait.map(|wait| Instant::now() + wait), 0);
    }

    /// This is held back on purpose, for so long. It has waited since it was first held back for this reason.
    pub fn delayed(&mut self, what: &str, reason: &str, wait: Duration) {
        // Rounded up: what is looked at before it is due is only put off again.
        let seconds = Stamp::now().micros().saturating_add(wait.as_micros() as i64 + 999_999) / 1_000_000;
        let next = Stamp::from_micros(seconds * 1_000_000).date_time().format("%H:%M:%S");
        let since = self.things.get(what).filter(|thing| thing.reason.starts_with(reason)).map(|thing| thing.since);
        self.put(what, format!("{reason}; next at {next} UTC"), Some(Instant::now() + wait), 0);
        if let (Some(since), Some(thing)) = (since, self.things.get_mut(what)) {
            thing.since = since;
        }
    }

    fn put(&mut self, what: &str, reason: String, due: Option<Instant>, failures: u32) {
        let since = match self.things.get(what) {
            Some(thing) if thing.reason == reason => thing.since,
            _ => {
                self.changed = true;
                Stamp::now()
            }
        };
        self.things.insert(what.to_owned(), Thing { reason, since, due, failures });
    }

    /// This may no longer have to wait: try it again now.
    pub fn hurry(&mut self, what: &str) {
        if let Some(thing) = self.things.get_mut(what) {
            thing.due = Some(Instant::now());
        }
    }

    /// This no longer waits.
    pub fn over(&mut self, what: &str) {
        if !self.things.is_empty() && self.things.remove(what).is_some() {
            self.changed = true;
        }
    }

    /// When the next thing is due.
    pub fn next_due(&self) -> Option<Instant> {
        self.things.values().filter_map(|thing| thing.due).min()
    }

    /// What is due now; each is asked for only once until it fails again.
    pub fn take_due(&mut self) -> Vec<String> {
        let now = Instant::now();
        let due = self.things.iter_mut().filter(|(_, thing)| thing.due.is_some_and(|due| due <= now));
        due.map(|(what, thing)| {
            thing.due = None;
            what.clone()
        })
        .collect()
    }

    /// Does this wait?
    pub fn is_there(&self, what: &str) -> bool {
        self.things.contains_key(what)
    }

    /// How many things wait.
    pub fn len(&self) -> usize {
        self.things.len()
    }

    /// Does nothing wait?
    pub fn is_empty(&self) -> bool {
        self.things.is_empty()
    }

    /// Has anything changed that was not written yet?
    pub fn is_news(&self) -> bool {
        self.changed
    }

    /// Takes what writing the list needs, while it can be had.
    pub fn hold(&mut self, room: &Dir) {
        if self.board.as_ref().is_none_or(Board::is_gone) {
            let board = Board::open(room, layout::WAITING);
            (self.board, self.changed) = (board.map_err(|e| tracing::debug!("{e}")).ok(), true);
        }
    }

    /// Writes the list if it changed, and was not written a moment ago. For what has to be told while mail comes without
    /// end, and the router is never idle.
    pub fn tell(&mut self, room: &Dir) {
        if self.changed && self.told.is_none_or(|told| told.elapsed() >= limits::IDLE) {
            self.told = Some(Instant::now());
            self.write(room);
        }
    }

    /// Writes the list for `status`, if it changed. It is only told to people: that it can't be written stops nothing.
    pub fn write(&mut self, room: &Dir) {
        self.hold(room);
        let Some(board) = self.board.as_ref().filter(|_| self.changed) else { return };
        let mut lines: Vec<Line<'_>> = self
            .things
            .iter()
            .map(|(what, thing)| Line { what, reason: &thing.reason, since: thing.since.to_string() })
            .collect();
        while let Err(e) = board.write(&list(&lines)) {
            // A disk that is full takes no longer list than it holds already.
            if lines.is_empty() || list(&lines).len() <= Board::HELD {
                tracing::debug!("{e}");
                return;
            }
            lines.truncate(lines.len() / 2);
        }
        self.changed = false;
    }
}

fn list(lines: &[Line<'_>]) -> Vec<u8> {
    let mut text = serde_json::to_vec_pretty(lines).unwrap_or_default();
    text.push(b'\n');
    text
}
