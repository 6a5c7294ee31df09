//! What has its time: messages that expire, and messages that somebody has to answer or acknowledge.
//!
//! An entry goes when the log says that its time came, or that nobody is waited for any more.

use crate::base::clock::Stamp;
use crate::log::Position;
use crate::message::reference::{Fit, Reference};
use crate::message::status::Status;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// A message that has its time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timed {
    /// Its record.
    pub seq: u64,
    /// When it was accepted, in microseconds since 1970, as all times here.
    pub at: i64,
    /// Where its record stands.
    pub place: Position,
    /// Who wrote it.
    pub from: Arc<str>,
    /// Its id.
    pub id: String,
    /// When its unread copies are of no use any more.
    pub expires: Option<i64>,
    /// Who is waited for, and until when.
    pub wanted: Option<Wanted>,
}

/// Recipients that are waited for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wanted {
    /// When somebody else is told.
    pub due: i64,
    /// How long after that the next one is told.
    pub period: i64,
    /// Is an answer wanted? Else an ack is enough.
    pub answer: bool,
    /// Who has not answered yet.
    pub of: Vec<Arc<str>>,
    /// Were their supervisors told?
    pub told: bool,
}

/// Everything that has its time.
#[derive(Debug, Clone, Default)]
pub struct Timers {
    timed: BTreeMap<u64, Timed>,
    due: BTreeSet<(i64, u64)>,
    ids: HashMap<String, Vec<u64>>,
}

impl Timers {
    /// From what a checkpoint held.
    pub(super) fn of(timed: Vec<Timed>) -> Timers {
        let mut timers = Timers::default();
        timed.into_iter().for_each(|one| timers.insert(one));
        timers
    }

    /// One more message has its time.
    pub fn insert(&mut self, timed: Timed) {
        self.line_up(&timed);
        self.ids.entry(timed.id.clone()).or_default().push(timed.seq);
        self.timed.insert(timed.seq, timed);
    }

    fn line_up(&mut self, timed: &Timed) {
        let wanted = timed.wanted.as_ref().map(|wanted| wanted.due);
        self.due.extend(timed.expires.into_iter().chain(wanted).map(|due| (due, timed.seq)));
    }

    /// Everything, in the order of the log.
    pub fn iter(&self) -> impl Iterator<Item = &Timed> {
        self.timed.values()
    }

    /// The next instant at which something is due.
    pub fn next(&self) -> Option<Stamp> {
        self.due.first().map(|&(due, _)| Stamp::from_micros(due))
    }

    /// What is due by now, in the order of its time.
    pub fn due(&self, now: Stamp) -> Vec<Timed> {
        let due = self.due.range(..=(now.micros(), u64::MAX)).map(|(_, seq)| seq);
        let mut seqs: Vec<u64> = Vec::new();
        due.for_each(|seq| seqs.extend((!seqs.contains(seq)).then_some(seq)));
        seqs.iter().filter_map(|seq| self.timed.get(seq)).cloned().collect()
    }

    /// The message that a reference means, if `asker` is waited for there.
    pub fn meant(&self, reference: &str, asker: &str) -> Option<u64> {
        let reference = Reference::parse(reference)?;
        let is_meant = |timed: &&Timed| {
            reference.fit(&timed.from, &timed.id, Some(timed.seq)) == Some(Fit::Whole)
                && timed.wanted.as_ref().is_some_and(|wanted| wanted.of.iter().any(|of| **of == *asker))
        };
        let by_id = reference.id().and_then(|id| self.ids.get(id)).into_iter().flatten();
        let seqs = by_id.copied().chain(reference.seq());
        seqs.filter_map(|seq| self.timed.get(&seq)).find(is_meant).map(|timed| timed.seq)
    }

    /// Somebody answered.
    pub(super) fn answered(&mut self, seq: u64, by: &str) {
        self.change(seq, |timed| {
            if let Some(wanted) = &mut timed.wanted {
                wanted.of.retain(|of| **of != *by);
            }
        });
    }

    /// A copy reached a status by an ack. What is closed is not waited for; a mere ack is no answer.
    pub(super) fn climbed(&mut self, seq: u64, agent: &str, status: Status) {
        self.change(seq, |timed| {
            if let Some(wanted) = timed.wanted.as_mut().filter(|wanted| !wanted.answer || status.is_closed()) {
                wanted.of.retain(|of| **of != *agent);
            }
        });
    }

    /// The sender was told who had not read it in its time, or nobody was to be told: then it comes up again only when the
    /// log is folded anew.
    pub fn expired(&mut self, seq: u64) {
        self.change(seq, |timed| timed.expires = None);
    }

    /// Supervisors, or at last the human, were told that nobody has answered.
    pub(super) fn told(&mut self, seq: u64, at: Stamp, at_last: bool) {
        self.change(seq, |timed| match &mut timed.wanted {
            Some(wanted) if !at_last => (wanted.told, wanted.due) = (true, at.micros() + wanted.period),
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
