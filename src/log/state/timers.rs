//! Deadlines: messages that expire, and messages that need an answer or an acknowledgement.
//!
//! An entry is removed when the log records that its deadline has passed, or that no answer is missing any more.

use super::clock::Shift;
use super::renames;
use crate::base::clock::Stamp;
use crate::log::Position;
use crate::message::id;
use crate::message::reference::{Fit, Reference};
use crate::message::status::Status;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// A message with a deadline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timed {
    /// Its record.
    pub seq: u64,
    /// The accept time, in microseconds since 1970, like all times here.
    pub at: i64,
    /// The position of its record.
    pub place: Position,
    /// The sender.
    pub from: Arc<str>,
    /// Its id.
    pub id: String,
    /// The expiry time.
    pub expires: Option<i64>,
    /// The missing answers and their deadline.
    pub wanted: Option<Wanted>,
}

/// Recipients whose answer is missing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wanted {
    /// The time of the next notice.
    pub due: i64,
    /// The interval between two notices.
    pub period: i64,
    /// Is an answer required? Otherwise an ack is sufficient.
    pub answer: bool,
    /// The recipients that have not answered.
    pub of: Vec<Arc<str>>,
    /// Were their supervisors notified?
    #[serde(rename = "told")]
    pub notified: bool,
}

/// All deadlines.
#[derive(Debug, Clone, Default)]
pub struct Timers {
    timed: BTreeMap<u64, Timed>,
    due: BTreeSet<(i64, u64)>,
    ids: HashMap<String, Vec<u64>>,
}

impl Timers {
    /// Restores the deadlines from a checkpoint.
    pub(super) fn of(timed: Vec<Timed>) -> Timers {
        let mut timers = Timers::default();
        timed.into_iter().for_each(|one| timers.insert(one));
        timers
    }

    /// Adds a message.
    pub fn insert(&mut self, timed: Timed) {
        self.line_up(&timed);
        self.ids.entry(timed.id.clone()).or_default().push(timed.seq);
        self.timed.insert(timed.seq, timed);
    }

    fn line_up(&mut self, timed: &Timed) {
        let wanted = timed.wanted.as_ref().map(|wanted| wanted.due);
        self.due.extend(timed.expires.into_iter().chain(wanted).map(|due| (due, timed.seq)));
    }

    /// Moves the times of missing answers. A time of expiry was chosen by its sender and does not move.
    pub(super) fn shift(&mut self, shift: Shift) {
        for mut timed in std::mem::take(self).timed.into_values() {
            if let Some(wanted) = &mut timed.wanted {
                let mut since = wanted.due - wanted.period;
                shift.apply_to(&mut since, Some(&mut wanted.due));
            }
            self.insert(timed);
        }
    }

    /// All entries, in the order of the log.
    pub fn iter(&self) -> impl Iterator<Item = &Timed> {
        self.timed.values()
    }

    /// The time of the next deadline.
    pub fn next(&self) -> Option<Stamp> {
        self.due.first().map(|&(due, _)| Stamp::from_micros(due))
    }

    /// The entries that are due, in the order of their deadlines.
    pub fn due(&self, now: Stamp) -> Vec<Timed> {
        let due = self.due.range(..=(now.micros(), u64::MAX)).map(|(_, seq)| seq);
        let mut seqs: Vec<u64> = Vec::new();
        due.for_each(|seq| seqs.extend((!seqs.contains(seq)).then_some(seq)));
        seqs.iter().filter_map(|seq| self.timed.get(seq)).cloned().collect()
    }

    /// The message that a reference identifies, if `asker` still has to answer it.
    pub fn meant(&self, reference: &str, asker: &str) -> Option<u64> {
        let reference = Reference::parse(reference)?;
        let is_meant = |timed: &&Timed| {
            reference.fit(&timed.from, &timed.id, Some(timed.seq)) == Some(Fit::Whole)
                && timed.wanted.as_ref().is_some_and(|wanted| wanted.of.iter().any(|of| id::answers_for(asker, of)))
        };
        let by_id = reference.id().and_then(|id| self.ids.get(id)).into_iter().flatten();
        let seqs = by_id.copied().chain(reference.seq());
        seqs.filter_map(|seq| self.timed.get(&seq)).find(is_meant).map(|timed| timed.seq)
    }

    /// Records an answer.
    pub(super) fn answered(&mut self, seq: u64, by: &str) {
        self.change(seq, |timed| {
            if let Some(wanted) = &mut timed.wanted {
                wanted.of.retain(|of| !id::answers_for(by, of));
            }
        });
    }

    /// Records an ack. A closed copy needs no answer. An ack that does not close the copy is not an answer.
    pub(super) fn reached(&mut self, seq: u64, agent: &str, status: Status) {
        self.change(seq, |timed| {
            if let Some(wanted) = timed.wanted.as_mut().filter(|wanted| !wanted.answer || status.is_closed()) {
                wanted.of.retain(|of| **of != *agent);
            }
        });
    }

    /// The answers of one agent are those of another.
    pub(super) fn rename(&mut self, of: &str, to: &Arc<str>) {
        let is_theirs = |timed: &&Timed| timed.wanted.iter().any(|wanted| wanted.of.iter().any(|one| **one == *of));
        let seqs: Vec<u64> = self.timed.values().filter(is_theirs).map(|timed| timed.seq).collect();
        for seq in seqs {
            self.change(seq, |timed| {
                timed.wanted.iter_mut().for_each(|wanted| renames::replace(&mut wanted.of, of, to))
            });
        }
    }

    /// Removes the expiry after the notice to the sender, or if no notice is needed. The next start builds the entry
    /// again.
    pub fn expired(&mut self, seq: u64) {
        self.change(seq, |timed| timed.expires = None);
    }

    /// Records a notice to the supervisors, or the last notice to the human.
    pub(super) fn notified(&mut self, seq: u64, at: Stamp, at_last: bool) {
        self.change(seq, |timed| match &mut timed.wanted {
            Some(wanted) if !at_last => (wanted.notified, wanted.due) = (true, at.micros() + wanted.period),
            wanted => *wanted = None,
        });
    }

    fn change(&mut self, seq: u64, change: impl FnOnce(&mut Timed)) {
        let Some(mut timed) = self.timed.remove(&seq) else { return };
        let before = [timed.expires, timed.wanted.as_ref().map(|wanted| wanted.due)];
        for due in before.into_iter().flatten() {
            self.due.remove(&(due, seq));
        }
        change(&mut timed);
        timed.wanted = timed.wanted.filter(|wanted| !wanted.of.is_empty());
        if timed.expires.is_some() || timed.wanted.is_some() {
            self.line_up(&timed);
            self.timed.insert(seq, timed);
        } else if let Some(seqs) = self.ids.get_mut(&timed.id) {
            seqs.retain(|&other| other != seq);
            if seqs.is_empty() {
                self.ids.remove(&timed.id);
            }
        }
    }
}
