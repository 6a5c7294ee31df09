//! Answers: who owes a reply, the items that wait for it, and escalations of messages without one.

pub mod change;
mod due;
mod escalated;
mod item;
mod items;
mod judge;
mod missing;
mod pending;
mod reply;
mod reply_index;

pub use due::{OVERDUE, OVERDUE_AT_LAST};
pub use item::{OpenItem, OpenItemKind};
pub use items::OpenItems;

use super::{AppliedRecord, Feature, States};
use crate::base::clock::Stamp;
use crate::log::state::{OpenQuestion, RoomState};
use crate::message::id;
use crate::message::status::CopyStatus;
use crate::router::projections::pending::AddressedItem;
use crate::router::seam::{Cx, Draft, Due};
use change::AnswerChange;
use escalated::EscalatedMessage;
use missing::{UnansweredMessage, UnansweredMessages};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

pub(super) const FEATURE: AnswersFeature = AnswersFeature;

pub(super) struct AnswersFeature;

/// The messages that need a reply or another action.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct State {
    missing: UnansweredMessages,
    items: OpenItems,
}

/// The state of this feature.
pub fn of(state: &RoomState) -> &State {
    &state.features.answers
}

impl State {
    /// The messages that need an action, except approvals and offers.
    pub fn items(&self) -> &OpenItems {
        &self.items
    }

    /// Returns true if notices about missing answers can follow.
    pub fn has_missing(&self) -> bool {
        self.missing.iter().next().is_some()
    }

    fn apply(&mut self, applied: &AppliedRecord<'_>) {
        let (record, time) = (applied.record, applied.time);
        for receipt in record.receipts.iter().chain(record.ack()) {
            for &seq in &receipt.seqs {
                self.reached(applied, seq, &receipt.agent, receipt.status);
            }
        }
        if let Some(arrived) = record.arrived() {
            for receipt in &arrived.receipts {
                let agent = id::far(&arrived.link, &receipt.agent);
                for &seq in &receipt.seqs {
                    self.reached(applied, seq, &agent, receipt.status);
                }
            }
        }
        let change = record.facts.answers.clone().unwrap_or_default();
        if let Some(accepted) = record.accepted() {
            let name = &accepted.name;
            if let Some(answered) = change.to {
                self.missing.answered(answered, &name.from);
                self.items.answered(answered, &name.from, record.seq);
            }
            let claim = &accepted.origin.claim;
            self.items
                .corrected(&name.from, claim, &name.id, record.seq);
        }
        let about = self.passed_on(&change);
        if let Some(escalated) = &change.escalated {
            self.missing.notified(escalated.seq, time, escalated.last);
        }
        let head = record.accepted().and(applied.head);
        if let (Some(times), Some(head)) = (&change.times, head)
            && let Some(missing) = UnansweredMessage::of(record, times, head, time)
        {
            self.missing.insert(missing);
        }
        if let Some(item) = OpenItem::of(record, head, about, time) {
            self.items.add(item);
        }
    }

    fn reached(&mut self, applied: &AppliedRecord<'_>, seq: u64, agent: &str, status: CopyStatus) {
        self.missing.reached(seq, agent, status);
        self.items.reached(seq, agent, status, applied.record.seq);
    }

    /// The message that a notice passes on.
    fn passed_on(&self, change: &AnswerChange) -> Option<EscalatedMessage> {
        let escalated = change.escalated.as_ref()?;
        let missing = self.missing.get(escalated.seq);
        let missing = missing.map(|one| EscalatedMessage::of(one, &escalated.agents));
        missing.or_else(|| {
            let before = self.items.passed_on(escalated.seq)?;
            Some(before.again(&escalated.agents))
        })
    }
}

impl Feature for AnswersFeature {
    fn complete(&self, cx: Cx<'_>, draft: &mut Draft) {
        let to = judge::answered_by(cx.state(), &draft.message, &draft.to);
        let times = if draft.to.is_empty() {
            None
        } else {
            judge::times_of(cx.settings(), cx.registry(), &draft.message, cx.now)
        };
        if to.is_some() || times.is_some() {
            draft.facts.answers = Some(AnswerChange {
                to,
                times,
                escalated: None,
            });
        }
    }

    fn due(&self, cx: Cx<'_>) -> Due {
        due::due(cx)
    }

    fn apply(&self, states: &mut States, applied: &AppliedRecord<'_>) {
        states.answers.apply(applied);
    }

    fn rename(&self, states: &mut States, of: &str, to: &Arc<str>, seq: u64) {
        states.answers.missing.rename(of, to);
        states.answers.items.rename(of, to, seq);
    }

    fn cut_times(&self, states: &mut States, now: Stamp, seq: u64) {
        states.answers.missing.cut_times(now);
        states.answers.items.cut_times(now, seq);
    }

    fn pending<'s>(&self, state: &'s RoomState) -> Vec<AddressedItem<'s>> {
        pending::pending(state)
    }

    fn unlisted<'s>(&self, state: &'s RoomState) -> Vec<&'s [Arc<str>]> {
        let older = of(state).items.older();
        older.map(|item| &item.of[..]).collect()
    }

    fn pending_changed_at(&self, state: &RoomState) -> u64 {
        of(state).items.changed_at()
    }

    fn questions(&self, state: &RoomState) -> Vec<OpenQuestion> {
        pending::questions(state)
    }
}
