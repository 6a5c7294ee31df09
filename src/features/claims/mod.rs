//! Claims: who owns which files, tasks and lanes, until when, and how owners hand work over.
//!
//! `state` has the owners and offers, `requests` the rules, `judge` judges a message by them, `due` lets claims
//! lapse, and `claims.json` shows them.

pub mod change;
mod check;
mod due;
mod file;
mod index;
mod judge;
mod leases;
mod owned;
mod pending;
mod requests;
mod state;
#[cfg(test)]
mod steps;
#[cfg(test)]
mod tests;
mod written;

pub use file::owners;
pub use leases::{ActivitySigns, ClaimLifetime, life};
pub use owned::{ClaimOffer, OwnedClaim};
pub use requests::OfferAnswer;
pub use state::Claims;

use super::{AppliedRecord, Feature, States};
use crate::base::clock::Stamp;
use crate::base::error::{Problem, Result};
use crate::disk::{Dir, layout};
use crate::log::state::{ChangeSource, RoomState};
use crate::message::schema::CheckedFields;
use crate::message::subject::ClaimSubject;
use crate::router::projections::Projection;
use crate::router::projections::pending::AddressedItem;
use crate::router::seam::{Cx, Draft, Due};
use std::sync::Arc;

pub(super) const FEATURE: ClaimsFeature = ClaimsFeature;

pub(super) struct ClaimsFeature;

/// The claims of the room.
pub(super) type State = Claims;

/// The claims of a room.
pub fn of(state: &RoomState) -> &Claims {
    &state.features.claims
}

/// Drops the claims and the offers of all other agents, as if they had lapsed.
pub fn retain_agents(state: &mut RoomState, is_active: impl Fn(&str) -> bool) {
    state.features.claims.retain_agents(is_active);
}

impl Feature for ClaimsFeature {
    fn check(&self, fields: &CheckedFields, kind: &str, _: Stamp, problems: &mut Vec<Problem>) {
        check::check(fields, kind, problems);
    }

    fn owners(&self, state: &RoomState, subject: &ClaimSubject) -> Vec<Arc<str>> {
        let owned = of(state).conflicting(subject);
        owned.map(|held| held.owner.clone()).collect()
    }

    fn judge(
        &self,
        cx: Cx<'_>,
        draft: &mut Draft,
    ) -> Result<std::result::Result<(), Vec<Problem>>> {
        Ok(judge::judge(cx, draft))
    }

    fn due(&self, cx: Cx<'_>) -> Due {
        due::due(cx)
    }

    fn apply(&self, states: &mut States, applied: &AppliedRecord<'_>) {
        let record = applied.record;
        if let (Some(change), Some(name)) = (&record.facts.claims, record.name()) {
            let source = ChangeSource {
                seq: record.seq,
                at: applied.time,
                from: &name.from,
                id: &name.id,
            };
            states.claims.apply(change, source);
        }
    }

    fn cut_times(&self, states: &mut States, now: Stamp, seq: u64) {
        states.claims.cut_times(now, seq);
    }

    fn pending<'s>(&self, state: &'s RoomState) -> Vec<AddressedItem<'s>> {
        pending::pending(state)
    }

    fn pending_changed_at(&self, state: &RoomState) -> u64 {
        of(state).changed_at()
    }

    fn derived(&self, _: &Dir) -> Option<Box<dyn Projection>> {
        Some(Box::new(written::ClaimsProjection::default()))
    }

    fn derived_names(&self) -> &'static [&'static str] {
        &[layout::CLAIMS]
    }
}
