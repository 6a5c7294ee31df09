//! Disagreements: threads with proposals and objections, until a decision.
//!
//! The records of the log decide: [`Disputes::apply`] applies them in their order and rejects nothing.

use super::decision::ApprovalChange;
use crate::base::clock::Stamp;
use crate::base::rfc3339;
use crate::base::{limits, sanitize};
use crate::log::state::{ChangeSource, renames};
use crate::message::id;
use crate::message::record::{RecipientGroup, Record};
use crate::message::reference::Reference;
use crate::message::status::CopyStatus;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The most threads with proposals that the state keeps; the oldest are dropped.
const DISPUTES: usize = 1000;
/// The most messages and parties of a disagreement.
const POSITIONS: usize = 100;

/// A thread with undecided proposals.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dispute {
    /// The thread.
    pub thread: String,
    /// The record of its first proposal.
    pub seq: u64,
    /// When it began, in microseconds since 1970, like all times here.
    #[serde(with = "rfc3339")]
    pub since: i64,
    /// The last position of each agent, in the order of the log.
    pub positions: Vec<DisputePosition>,
    /// The number of rounds: a round ends with an objection to a newer position of another agent.
    pub rounds: u32,
    /// When the human is asked. `None` before the escalation, and after the question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due: Option<i64>,
    /// When that was decided; 0 before.
    due_since: i64,
    /// The record of the notice to the supervisor, or of the later question to the human.
    pub escalated: Option<u64>,
    /// The recipients.
    pub asked: Vec<Arc<str>>,
    /// The recipients of the notice to the supervisor that have neither acknowledged nor closed it.
    pub pending: Vec<Arc<str>>,
    /// Its messages, as `<sender>/<id>`.
    names: Vec<String>,
    /// The agents that proposed or objected since the last round.
    since_round: Vec<Arc<str>>,
}

/// A proposal or an objection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DisputePosition {
    /// Its sender.
    pub from: Arc<str>,
    /// Its message, as `<sender>/<id>`.
    pub message: String,
    /// True for a proposal, false for an objection.
    pub proposes: bool,
    /// The position, in one line.
    pub title: String,
}

/// All disagreements of a room.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Disputes {
    list: Vec<Dispute>,
    changed: u64,
}

impl Disputes {
    /// Applies a record with these recipients.
    pub(super) fn apply(
        &mut self,
        step: &ApprovalChange,
        record: ChangeSource<'_>,
        recipients: &[RecipientGroup],
    ) {
        let message = id::full_name(record.from, record.id);
        match step {
            ApprovalChange::Propose { thread, title } => {
                if !self.list.iter().any(|one| one.thread == *thread) {
                    self.begin(thread, record);
                }
                self.said(thread, DisputePosition::of(record, true, title));
            }
            ApprovalChange::Object { thread, title } => {
                self.said(thread, DisputePosition::of(record, false, title));
            }
            ApprovalChange::Settle { thread } => self.end(|one| one.thread == *thread),
            ApprovalChange::Dispute { thread, due } => {
                let Some(one) = self.get_mut(thread) else {
                    return;
                };
                (one.due, one.due_since) = (*due, record.at.micros());
                let asked = recipients.iter().flat_map(|group| &group.agents);
                one.asked = asked.cloned().collect();
                one.pending.clone_from(&one.asked);
                one.names.push(message);
                one.escalated = Some(record.seq);
            }
            ApprovalChange::Ask(terms) => {
                let thread = terms.thread.as_deref();
                let Some(one) = thread.and_then(|thread| self.get_mut(thread)) else {
                    return;
                };
                one.due = None;
                one.pending.clear();
                one.names.push(message);
                one.escalated = Some(record.seq);
            }
            ApprovalChange::Decide { approval, .. } | ApprovalChange::Expire { approval, .. } => {
                self.end(|one| one.names.contains(approval))
            }
            ApprovalChange::Withdraw { .. } | ApprovalChange::Escalate { .. } => return,
        }
        self.changed = record.seq;
    }

    /// Applies new statuses of copies: a supervisor that acknowledged or closed its escalation need not act on it.
    pub(super) fn follow(&mut self, record: &Record) {
        for receipt in record.receipts.iter().chain(record.ack()) {
            if receipt.status.rank() <= CopyStatus::Seen.rank() {
                continue;
            }
            for one in &mut self.list {
                let is_meant = one.escalated.is_some_and(|seq| receipt.seqs.contains(&seq));
                if is_meant && one.pending.contains(&receipt.agent) {
                    one.pending.retain(|agent| *agent != receipt.agent);
                    self.changed = record.seq;
                }
            }
        }
    }

    /// The last record that changed anything; 0 for none.
    pub(super) fn changed_at(&self) -> u64 {
        self.changed
    }

    fn get_mut(&mut self, thread: &str) -> Option<&mut Dispute> {
        self.list.iter_mut().find(|one| one.thread == thread)
    }

    fn end(&mut self, is_meant: impl Fn(&Dispute) -> bool) {
        self.list.retain(|one| !is_meant(one));
    }

    /// Cuts all times after the clock was set back.
    pub(super) fn cut_times(&mut self, now: Stamp) {
        for one in &mut self.list {
            now.cut(&mut one.since, None);
            now.cut(&mut one.due_since, one.due.as_mut());
        }
    }

    /// The disagreement of a message with this thread and this reference.
    pub fn of(&self, thread: Option<&str>, in_reply_to: Option<&str>) -> Option<&Dispute> {
        if let Some(one) = thread.and_then(|thread| self.get(thread)) {
            return Some(one);
        }
        let reference = in_reply_to.and_then(Reference::parse)?;
        self.list.iter().find(|one| {
            one.names.iter().any(|name| {
                let (from, id) = name.split_once('/').unwrap_or_default();
                reference.is_of(from, id, None)
            })
        })
    }

    /// Moves the positions of one agent to another.
    pub(super) fn rename(&mut self, of: &str, to: &Arc<str>) {
        for one in &mut self.list {
            for position in &mut one.positions {
                if *position.from == *of {
                    position.from = to.clone();
                }
            }
            renames::replace(&mut one.asked, of, to);
            renames::replace(&mut one.pending, of, to);
            renames::replace(&mut one.since_round, of, to);
        }
    }

    /// The disagreement of this thread.
    pub fn get(&self, thread: &str) -> Option<&Dispute> {
        self.list.iter().find(|one| one.thread == thread)
    }

    /// All disagreements, in the order of the log.
    pub fn iter(&self) -> impl Iterator<Item = &Dispute> {
        self.list.iter()
    }

    fn begin(&mut self, thread: &str, record: ChangeSource<'_>) {
        if self.list.len() >= DISPUTES {
            self.list.remove(0);
        }
        self.list.push(Dispute {
            thread: thread.to_owned(),
            seq: record.seq,
            since: record.at.micros(),
            positions: Vec::new(),
            rounds: 0,
            due: None,
            due_since: 0,
            escalated: None,
            asked: Vec::new(),
            pending: Vec::new(),
            names: Vec::new(),
            since_round: Vec::new(),
        });
    }

    fn said(&mut self, thread: &str, position: DisputePosition) {
        let Some(one) = self.get_mut(thread) else {
            return;
        };
        let from = position.from.clone();
        let ends_round = !position.proposes && one.since_round.iter().any(|other| *other != from);
        if ends_round {
            one.rounds += 1;
            one.since_round.clear();
        } else if !one.since_round.contains(&from) {
            one.since_round.push(from);
        }
        if one.names.len() < POSITIONS {
            one.names.push(position.message.clone());
        }
        one.positions
            .retain(|other| (&other.from, other.proposes) != (&position.from, position.proposes));
        if one.positions.len() < POSITIONS {
            one.positions.push(position);
        }
    }
}

impl DisputePosition {
    fn of(record: ChangeSource<'_>, proposes: bool, title: &str) -> DisputePosition {
        DisputePosition {
            from: record.from.clone(),
            message: id::full_name(record.from, record.id),
            proposes,
            title: title.to_owned(),
        }
    }
}

impl Dispute {
    /// The first proposal, or the thread.
    pub fn subject(&self) -> String {
        let mut positions = self.positions.iter();
        let first = positions.find(|position| position.proposes);
        first.or(self.positions.first()).map_or_else(
            || self.thread.clone(),
            |position| sanitize::quote(&position.title, limits::TITLE),
        )
    }

    /// The notice to the supervisor, as `<sender>/<id>`, and the time of it.
    pub fn escalation(&self) -> Option<(&str, i64)> {
        let mut names = self.names.iter().rev();
        let notice = names.find(|name| {
            name.split_once('/')
                .is_some_and(|(from, _)| from == id::MAILBAG)
        });
        Some((notice?, self.due_since))
    }

    /// Returns true if the human was asked. Then only the human's decision on the approval ends it.
    pub fn has_asked_human(&self) -> bool {
        self.escalated.is_some() && self.due.is_none()
    }

    /// The agents that proposed or objected, in the order of their last positions.
    pub fn parties(&self) -> Vec<Arc<str>> {
        let mut parties: Vec<Arc<str>> = Vec::new();
        for position in &self.positions {
            parties.extend((!parties.contains(&position.from)).then(|| position.from.clone()));
        }
        parties
    }
}
