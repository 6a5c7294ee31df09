//! Deadlines: messages that expire, and messages that need an answer or an acknowledgement.
//!
//! An entry is removed when the log records that its deadline has passed, or that all answers have arrived.

use super::renames;
use super::reply_index::{ReplyIndex, owes};
use crate::base::clock::Stamp;
use crate::log::LogPosition;
use crate::message::answer::{AnswerableMessage, ConversationKeys, ReplyKey};
use crate::message::id;
use crate::message::record::{AcceptedMessage, MessageHead, Record};
use crate::message::status::CopyStatus;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A message with a deadline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageDeadline {
    /// Its record.
    pub seq: u64,
    /// The accept time, in microseconds since 1970, like all times here.
    pub at: i64,
    /// The position of its record.
    pub place: LogPosition,
    /// The sender.
    pub from: Arc<str>,
    /// Its id.
    pub id: String,
    /// The thread and the reference that its answers can share.
    pub shares: ConversationKeys,
    /// True for urgent mail, which must not expire in silence.
    pub urgent: bool,
    /// The expiry time.
    pub expires: Option<i64>,
    /// The missing answers and their deadline.
    pub wanted: Option<MissingAnswers>,
}

/// Recipients that have not answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MissingAnswers {
    /// The time of the next notice.
    pub due: i64,
    /// The interval between two notices.
    pub period: i64,
    /// True if an answer is required, false if an ack is sufficient.
    pub answer: bool,
    /// The recipients that have not answered.
    pub of: Vec<Arc<str>>,
    /// Whether their supervisors were notified.
    pub notified: bool,
}

impl MessageDeadline {
    /// The deadlines of an accepted message, if it has any.
    pub(super) fn of(
        record: &Record,
        accepted: &AcceptedMessage,
        head: &MessageHead<'_>,
        time: Stamp,
        stamp: Stamp,
        place: LogPosition,
    ) -> Option<MessageDeadline> {
        let times = &accepted.times;
        let (answer, ack) = (micros(&times.answer_by), micros(&times.ack_by));
        let wanted = answer.or(ack).map(|due| MissingAnswers {
            due,
            period: due - time.micros(),
            answer: answer.is_some(),
            of: record
                .recipients()
                .map(|(agent, _)| agent.clone())
                .filter(|agent| &**agent != id::HUMAN)
                .collect(),
            notified: false,
        });
        let wanted = wanted.filter(|wanted| !wanted.of.is_empty());
        let expires = if accepted.to.is_empty() {
            None
        } else {
            micros(&times.expires_at)
        };
        if wanted.is_none() && expires.is_none() {
            return None;
        }
        Some(MessageDeadline {
            seq: record.seq,
            at: stamp.micros(),
            place,
            from: accepted.name.from.clone(),
            id: accepted.name.id.clone(),
            shares: head.shares(),
            urgent: head.is_urgent(),
            expires,
            wanted,
        })
    }

    /// The time of its first deadline.
    pub fn first(&self) -> Stamp {
        let wanted = self.wanted.as_ref().map(|wanted| wanted.due);
        let first = self.expires.into_iter().chain(wanted).min();
        Stamp::from_micros(first.unwrap_or(i64::MAX))
    }

    fn asked(&self) -> AnswerableMessage<'_> {
        AnswerableMessage {
            seq: self.seq,
            from: &self.from,
            id: &self.id,
            shares: &self.shares,
        }
    }
}

fn micros(text: &Option<String>) -> Option<i64> {
    text.as_deref().and_then(Stamp::parse).map(Stamp::micros)
}

/// All deadlines.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(from = "Vec<MessageDeadline>", into = "Vec<MessageDeadline>")]
pub struct MessageDeadlines {
    timed: BTreeMap<u64, MessageDeadline>,
    due: BTreeSet<(i64, u64)>,
    asked: ReplyIndex,
}

impl From<Vec<MessageDeadline>> for MessageDeadlines {
    fn from(timed: Vec<MessageDeadline>) -> MessageDeadlines {
        let mut timers = MessageDeadlines::default();
        for one in timed {
            timers.insert(one);
        }
        timers
    }
}

impl From<MessageDeadlines> for Vec<MessageDeadline> {
    fn from(timers: MessageDeadlines) -> Vec<MessageDeadline> {
        timers.timed.into_values().collect()
    }
}

impl MessageDeadlines {
    /// Adds a message.
    pub fn insert(&mut self, timed: MessageDeadline) {
        self.line_up(&timed);
        self.asked.add(timed.asked());
        self.timed.insert(timed.seq, timed);
    }

    /// Adds the deadlines of a message, if it has any.
    pub(super) fn extend(&mut self, timed: Option<MessageDeadline>) {
        if let Some(timed) = timed {
            self.insert(timed);
        }
    }

    fn line_up(&mut self, timed: &MessageDeadline) {
        let wanted = timed.wanted.as_ref().map(|wanted| wanted.due);
        self.due.extend(
            timed
                .expires
                .into_iter()
                .chain(wanted)
                .map(|due| (due, timed.seq)),
        );
    }

    /// Cuts the times of missing answers. A time of expiry was chosen by its sender and stays.
    pub(super) fn cut_times(&mut self, now: Stamp) {
        for mut timed in std::mem::take(self).timed.into_values() {
            if let Some(wanted) = &mut timed.wanted {
                wanted.due = wanted.due.min(now.micros() + wanted.period);
            }
            self.insert(timed);
        }
    }

    /// All entries, in the order of the log.
    pub fn iter(&self) -> impl Iterator<Item = &MessageDeadline> {
        self.timed.values()
    }

    /// All deadlines, in their order: time and record.
    pub fn times(&self) -> impl Iterator<Item = (Stamp, u64)> {
        let due = self.due.iter();
        due.map(|&(due, seq)| (Stamp::from_micros(due), seq))
    }

    /// The entries that are due, in the order of their deadlines.
    pub fn due(&self, now: Stamp) -> Vec<MessageDeadline> {
        let due = self
            .due
            .range(..=(now.micros(), u64::MAX))
            .map(|(_, seq)| seq);
        let mut seqs: Vec<u64> = Vec::new();
        for seq in due {
            if !seqs.contains(seq) {
                seqs.push(*seq);
            }
        }
        seqs.iter()
            .filter_map(|seq| self.timed.get(seq))
            .cloned()
            .collect()
    }

    /// The message of this record, if it has a deadline.
    pub fn get(&self, seq: u64) -> Option<&MessageDeadline> {
        self.timed.get(&seq)
    }

    /// The first message with one of these names that the agent has to answer and that fulfils the condition.
    pub(super) fn first_owed(
        &self,
        agent: &str,
        names: &[ReplyKey],
        is_meant: &dyn Fn(&AnswerableMessage<'_>) -> bool,
    ) -> Option<u64> {
        self.asked.first(names, |seq| {
            let Some(timed) = self.timed.get(&seq) else {
                return false;
            };
            let wanted = timed.wanted.as_ref();
            wanted.is_some_and(|wanted| owes(&wanted.of, agent)) && is_meant(&timed.asked())
        })
    }

    /// Records an answer.
    pub(super) fn answered(&mut self, seq: u64, by: &str) {
        self.change(seq, |timed| {
            if let Some(wanted) = &mut timed.wanted {
                wanted.of.retain(|of| !id::answers_for(by, of));
            }
        });
    }

    /// Records a status of a copy.
    pub(super) fn reached(&mut self, seq: u64, agent: &str, status: CopyStatus) {
        self.change(seq, |timed| {
            let urgent = timed.urgent;
            if let Some(wanted) = timed
                .wanted
                .as_mut()
                .filter(|wanted| status.settles(wanted.answer, urgent))
            {
                wanted.of.retain(|of| !status.counts_for(agent, of));
            }
        });
    }

    /// Moves the answers of one agent to another.
    pub(super) fn rename(&mut self, of: &str, to: &Arc<str>) {
        for timed in self.timed.values_mut() {
            if let Some(wanted) = &mut timed.wanted {
                renames::replace(&mut wanted.of, of, to);
            }
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
            Some(wanted) if !at_last => {
                (wanted.notified, wanted.due) = (true, at.micros() + wanted.period)
            }
            wanted => *wanted = None,
        });
    }

    fn change(&mut self, seq: u64, change: impl FnOnce(&mut MessageDeadline)) {
        let Some(mut timed) = self.timed.remove(&seq) else {
            return;
        };
        let before = [
            timed.expires,
            timed.wanted.as_ref().map(|wanted| wanted.due),
        ];
        for due in before.into_iter().flatten() {
            self.due.remove(&(due, seq));
        }
        change(&mut timed);
        timed.wanted = timed.wanted.filter(|wanted| !wanted.of.is_empty());
        if timed.expires.is_some() || timed.wanted.is_some() {
            self.line_up(&timed);
            self.timed.insert(seq, timed);
        } else {
            self.asked.remove(timed.asked());
        }
    }
}
