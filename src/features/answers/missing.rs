//! Messages that need an answer or an acknowledgement, until it arrives or the last notice about it is sent.

use super::change::AnswerTimes;
use super::reply::{AnswerableMessage, ReplyKey};
use super::reply_index::{ReplyIndex, owes};
use crate::base::clock::Stamp;
use crate::log::state::renames;
use crate::message::ConversationKeys;
use crate::message::id;
use crate::message::record::{MessageHead, Record};
use crate::message::status::CopyStatus;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A message with recipients that have not answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnansweredMessage {
    /// Its record.
    pub seq: u64,
    /// The accept time, in microseconds since 1970, like all times here.
    pub at: i64,
    /// The sender.
    pub from: Arc<str>,
    /// Its id.
    pub id: String,
    /// The thread and the reference that its answers can share.
    pub shares: ConversationKeys,
    /// True for urgent mail, which must not expire in silence.
    pub urgent: bool,
    /// True if an answer is required, false if an ack is sufficient.
    pub answer: bool,
    /// The recipients that have not answered. The human is not among them.
    pub of: Vec<Arc<str>>,
    /// The time of the next notice about missing answers. `None` if only an expiry needs one.
    wanted_by: Option<i64>,
    /// The interval between two notices.
    period: i64,
    /// Whether the supervisors of the recipients were notified.
    pub notified: bool,
    /// Whether the human has an unread copy of this urgent message, which can expire.
    for_human: bool,
    /// The recipients of this urgent message with a copy that expired unread.
    pub expired: Vec<Arc<str>>,
}

impl UnansweredMessage {
    /// The missing answers to an accepted message with this head. `None` if it needs none.
    pub(super) fn of(
        record: &Record,
        times: &AnswerTimes,
        head: &MessageHead<'_>,
        time: Stamp,
    ) -> Option<UnansweredMessage> {
        let accepted = record.accepted()?;
        let (answer, ack) = (micros(&times.answer_by), micros(&times.ack_by));
        let due = answer.or(ack);
        let all = record.recipients().map(|(agent, _)| agent);
        let (human, others): (Vec<_>, Vec<_>) = all.partition(|agent| ***agent == *id::HUMAN);
        let urgent = head.is_urgent();
        let one = UnansweredMessage {
            seq: record.seq,
            at: record.stamp().micros(),
            from: accepted.name.from.clone(),
            id: accepted.name.id.clone(),
            shares: head.shares(),
            urgent,
            answer: answer.is_some(),
            of: if due.is_some() {
                others.into_iter().cloned().collect()
            } else {
                Vec::new()
            },
            wanted_by: due,
            period: due.unwrap_or_default() - time.micros(),
            notified: false,
            for_human: urgent && !human.is_empty() && accepted.times.expires_at.is_some(),
            expired: Vec::new(),
        };
        (!one.is_over()).then_some(one)
    }

    /// The time of the next notice. The expiry of urgent mail needs one immediately, even if the time of its record is ahead
    /// of the clock.
    pub fn due(&self) -> Option<Stamp> {
        let due = if self.expired.is_empty() {
            self.wanted_by
        } else {
            Some(0)
        };
        due.map(Stamp::from_micros)
    }

    /// Returns true if no notice about it is needed.
    fn is_over(&self) -> bool {
        self.of.is_empty() && !self.for_human && self.expired.is_empty()
    }

    fn reached(&mut self, agent: &str, status: CopyStatus) {
        let is_human = agent == id::HUMAN;
        if status == CopyStatus::Expired && self.urgent {
            let of = self.of.iter().find(|of| ***of == *agent).cloned();
            let human = (is_human && self.for_human).then(|| id::HUMAN.into());
            self.expired.extend(of.or(human));
        }
        if status.settles(self.answer, self.urgent) {
            self.of.retain(|of| !status.counts_for(agent, of));
            self.expired.retain(|of| !status.counts_for(agent, of));
        }
        self.for_human &= !(is_human && status.rank() >= CopyStatus::Seen.rank());
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

/// All messages with missing answers.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(from = "Vec<UnansweredMessage>", into = "Vec<UnansweredMessage>")]
pub struct UnansweredMessages {
    all: BTreeMap<u64, UnansweredMessage>,
    due: BTreeSet<(i64, u64)>,
    asked: ReplyIndex,
}

impl From<Vec<UnansweredMessage>> for UnansweredMessages {
    fn from(saved: Vec<UnansweredMessage>) -> UnansweredMessages {
        let mut all = UnansweredMessages::default();
        for one in saved {
            all.insert(one);
        }
        all
    }
}

impl From<UnansweredMessages> for Vec<UnansweredMessage> {
    fn from(all: UnansweredMessages) -> Vec<UnansweredMessage> {
        all.all.into_values().collect()
    }
}

impl UnansweredMessages {
    /// Adds a message.
    pub(super) fn insert(&mut self, one: UnansweredMessage) {
        self.due
            .extend(one.due().map(|due| (due.micros(), one.seq)));
        self.asked.add(one.asked());
        self.all.insert(one.seq, one);
    }

    /// Cuts the times of missing answers after the clock was set back.
    pub(super) fn cut_times(&mut self, now: Stamp) {
        for mut one in std::mem::take(self).all.into_values() {
            if let Some(due) = &mut one.wanted_by {
                *due = (*due).min(now.micros() + one.period);
            }
            self.insert(one);
        }
    }

    /// All messages, in the order of the log.
    pub fn iter(&self) -> impl Iterator<Item = &UnansweredMessage> {
        self.all.values()
    }

    /// The messages that need a notice by now, in the order of their deadlines.
    pub fn due(&self, now: Stamp) -> impl Iterator<Item = &UnansweredMessage> {
        let due = self.due.range(..=(now.micros(), u64::MAX));
        due.filter_map(|(_, seq)| self.all.get(seq))
    }

    /// The time of the first notice after now.
    pub fn next_due(&self, now: Stamp) -> Option<Stamp> {
        let mut later = self.due.range((now.micros() + 1, 0)..);
        later.next().map(|&(due, _)| Stamp::from_micros(due))
    }

    /// The message of this record, if answers to it are missing.
    pub fn get(&self, seq: u64) -> Option<&UnansweredMessage> {
        self.all.get(&seq)
    }

    /// The first message with one of these names that the agent has to answer and that fulfils the condition.
    pub(super) fn first_owed(
        &self,
        agent: &str,
        names: &[ReplyKey],
        is_meant: &dyn Fn(&AnswerableMessage<'_>) -> bool,
    ) -> Option<u64> {
        self.asked.first(names, |seq| {
            let one = self.all.get(&seq);
            one.is_some_and(|one| owes(&one.of, agent) && is_meant(&one.asked()))
        })
    }

    /// Records an answer.
    pub(super) fn answered(&mut self, seq: u64, by: &str) {
        self.change(seq, |one| {
            one.of.retain(|of| !id::answers_for(by, of));
            one.expired.retain(|of| !id::answers_for(by, of));
        });
    }

    /// Records a status of a copy.
    pub(super) fn reached(&mut self, seq: u64, agent: &str, status: CopyStatus) {
        self.change(seq, |one| one.reached(agent, status));
    }

    /// Moves the answers of one agent to another.
    pub(super) fn rename(&mut self, of: &str, to: &Arc<str>) {
        for one in self.all.values_mut() {
            renames::replace(&mut one.of, of, to);
            renames::replace(&mut one.expired, of, to);
        }
    }

    /// Records a notice to the supervisors, or the last notice, which the human gets.
    pub(super) fn notified(&mut self, seq: u64, time: Stamp, is_last: bool) {
        self.change(seq, |one| {
            if is_last {
                (one.of, one.for_human, one.expired) = (Vec::new(), false, Vec::new());
            } else {
                one.notified = true;
                one.wanted_by = Some(time.micros() + one.period);
            }
        });
    }

    fn change(&mut self, seq: u64, change: impl FnOnce(&mut UnansweredMessage)) {
        let Some(mut one) = self.all.remove(&seq) else {
            return;
        };
        if let Some(due) = one.due() {
            self.due.remove(&(due.micros(), seq));
        }
        self.asked.remove(one.asked());
        change(&mut one);
        if !one.is_over() {
            self.insert(one);
        }
    }
}
