//! Approvals: questions that a person or an agent decides, and disagreements.

mod check;
mod deadlines;
pub mod decision;
mod disputes;
mod judge;
mod pending;
mod rounds;
pub mod signature;
mod signed;
mod state;

pub use check::check_options;
pub use disputes::{Dispute, Disputes};
pub use state::{Approvals, ClosedApproval, NamedApproval, OpenApproval};

use super::{AppliedRecord, Feature, States};
use crate::base::clock::Stamp;
use crate::base::error::{Problem, Result};
use crate::log::state::{ChangeSource, OpenQuestion, RoomState};
use crate::message::schema::CheckedFields;
use crate::router::projections::pending::AddressedItem;
use crate::router::seam::{Cx, Draft, Due};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

pub(super) const FEATURE: ApprovalsFeature = ApprovalsFeature;

pub(super) struct ApprovalsFeature;

/// The approvals and the disagreements of a room.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    approvals: Approvals,
    disputes: Disputes,
}

/// The approvals of a room.
pub fn of(state: &RoomState) -> &Approvals {
    &state.features.approvals.approvals
}

/// The disagreements of a room.
pub fn disputes(state: &RoomState) -> &Disputes {
    &state.features.approvals.disputes
}

/// A result, or the reason for a rejection.
type ApprovalResult<T> = std::result::Result<T, Box<Problem>>;

fn wrong<T>(problem: Problem) -> ApprovalResult<T> {
    Err(Box::new(problem))
}

impl Feature for ApprovalsFeature {
    fn check(&self, fields: &CheckedFields, kind: &str, now: Stamp, problems: &mut Vec<Problem>) {
        check::check(fields, kind, now, problems);
    }

    fn judge(
        &self,
        cx: Cx<'_>,
        draft: &mut Draft,
    ) -> Result<std::result::Result<(), Vec<Problem>>> {
        judge::judge(cx, draft)
    }

    fn due(&self, cx: Cx<'_>) -> Due {
        deadlines::due(cx)
    }

    fn apply(&self, states: &mut States, applied: &AppliedRecord<'_>) {
        let (state, record) = (&mut states.approvals, applied.record);
        state.disputes.follow(record);
        let (Some(name), Some(step)) = (record.name(), &record.facts.approvals) else {
            return;
        };
        let source = ChangeSource {
            seq: record.seq,
            at: applied.time,
            from: &name.from,
            id: &name.id,
        };
        let to = record.to();
        state.approvals.apply(step, source, to, &name.digest);
        state.disputes.apply(step, source, to);
    }

    fn rename(&self, states: &mut States, of: &str, to: &Arc<str>, seq: u64) {
        let state = &mut states.approvals;
        state.approvals.rename(of, to, seq);
        state.disputes.rename(of, to);
    }

    fn cut_times(&self, states: &mut States, now: Stamp, seq: u64) {
        states.approvals.approvals.cut_times(now, seq);
        states.approvals.disputes.cut_times(now);
    }

    fn pending<'s>(&self, state: &'s RoomState) -> Vec<AddressedItem<'s>> {
        pending::pending(state)
    }

    fn pending_changed_at(&self, state: &RoomState) -> u64 {
        of(state).changed_at().max(disputes(state).changed_at())
    }

    fn questions(&self, state: &RoomState) -> Vec<OpenQuestion> {
        pending::questions(of(state))
    }
}
