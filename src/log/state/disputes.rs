//! Disagreements: threads with proposals and objections, until a decision.
//!
//! The records of the log decide: [`Disputes::apply`] applies them in their order and rejects nothing.

use super::{ChangeSource, renames};
use crate::base::clock::Stamp;
use crate::base::rfc3339;
use crate::features::approvals::decision::ApprovalChange;
use crate::message::id;
use crate::message::record::RecipientGroup;
use crate::message::reference::Reference;
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
pub struct Disputes(Vec<Dispute>);

impl Disputes {
    /// Applies a record with these recipients. Returns the record of the notice that no longer needs a decision.
    pub fn apply(
        &mut self,
        step: &ApprovalChange,
        record: ChangeSource<'_>,
        recipients: &[RecipientGroup],
    ) -> Option<u64> {
        let message = id::full_name(record.from, record.id);
        match step {
            ApprovalChange::Propose { thread, title } => {
                if !self.0.iter().any(|one| one.thread == *thread) {
                    self.begin(thread, record);
                }
                self.said(
                    thread,
                    DisputePosition {
                        from: record.from.clone(),
                        message,
                        proposes: true,
                        title: title.clone(),
                    },
                );
                None
            }
            ApprovalChange::Object { thread, title } => {
                self.said(
                    thread,
                    DisputePosition {
                        from: record.from.clone(),
                        message,
                        proposes: false,
                        title: title.clone(),
                    },
                );
                None
            }
            ApprovalChange::Settle { thread } => self.end(|one| one.thread == *thread),
            ApprovalChange::Dispute { thread, due } => {
                let one = self.get_mut(thread)?;
                (one.due, one.due_since) = (*due, record.at.micros());
                one.asked = recipients
                    .iter()
                    .flat_map(|group| &group.agents)
                    .cloned()
                    .collect();
                one.names.push(message);
                one.escalated.replace(record.seq)
            }
            ApprovalChange::Ask(terms) => {
                let one = self.get_mut(terms.thread.as_deref()?)?;
                one.due = None;
                one.names.push(message);
                one.escalated.replace(record.seq)
            }
            ApprovalChange::Decide { approval, .. } | ApprovalChange::Expire { approval, .. } => {
                self.end(|one| one.names.contains(approval))
            }
            ApprovalChange::Withdraw { .. } | ApprovalChange::Escalate { .. } => None,
        }
    }

    fn get_mut(&mut self, thread: &str) -> Option<&mut Dispute> {
        self.0.iter_mut().find(|one| one.thread == thread)
    }

    /// Removes a disagreement. Returns the record that passed it on.
    fn end(&mut self, is_meant: impl Fn(&Dispute) -> bool) -> Option<u64> {
        let at = self.0.iter().position(is_meant)?;
        self.0.remove(at).escalated
    }

    /// Cuts all times after the clock was set back.
    pub(super) fn cut_times(&mut self, now: Stamp) {
        for one in &mut self.0 {
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
        self.0.iter().find(|one| {
            one.names.iter().any(|name| {
                let (from, id) = name.split_once('/').unwrap_or_default();
                reference.is_of(from, id, None)
            })
        })
    }

    /// Moves the positions of one agent to another.
    pub(super) fn rename(&mut self, of: &str, to: &Arc<str>) {
        for one in &mut self.0 {
            for position in &mut one.positions {
                if *position.from == *of {
                    position.from = to.clone();
                }
            }
            renames::replace(&mut one.asked, of, to);
            renames::replace(&mut one.since_round, of, to);
        }
    }

    /// The disagreement of this thread.
    pub fn get(&self, thread: &str) -> Option<&Dispute> {
        self.0.iter().find(|one| one.thread == thread)
    }

    /// All disagreements, in the order of the log.
    pub fn iter(&self) -> impl Iterator<Item = &Dispute> {
        self.0.iter()
    }

    fn begin(&mut self, thread: &str, record: ChangeSource<'_>) {
        if self.0.len() >= DISPUTES {
            self.0.remove(0);
        }
        self.0.push(Dispute {
            thread: thread.to_owned(),
            seq: record.seq,
            since: record.at.micros(),
            positions: Vec::new(),
            rounds: 0,
            due: None,
            due_since: 0,
            escalated: None,
            asked: Vec::new(),
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

impl Dispute {
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
