//! Presence: which agents are there, their work, their unread mail, and agents that leave their mail unread for long.

mod activity;
mod roster;
mod stale;
mod waiting;
mod written;

pub use activity::{AgentCommit, State, WorkReport};
pub use roster::{AgentPresence, Presence, Roster, roster, stale};

use super::{AppliedRecord, Feature, States};
use crate::base::error::{Problem, Result};
use crate::disk::{Dir, layout};
use crate::log::state::RoomState;
use crate::router::projections::Projection;
use crate::router::seam::{Cx, Draft};
use crate::router::upkeep::FeatureUpkeep;

pub(super) const FEATURE: PresenceFeature = PresenceFeature;

pub(super) struct PresenceFeature;

/// The reported work of all agents.
pub fn of(state: &RoomState) -> &State {
    &state.features.presence
}

impl Feature for PresenceFeature {
    fn judge(
        &self,
        cx: Cx<'_>,
        draft: &mut Draft,
    ) -> Result<std::result::Result<(), Vec<Problem>>> {
        waiting::add_waiting(cx, draft);
        Ok(Ok(()))
    }

    fn apply(&self, states: &mut States, applied: &AppliedRecord<'_>) {
        states.presence.apply(applied);
    }

    fn derived(&self, _: &Dir) -> Option<Box<dyn Projection>> {
        Some(Box::new(written::RosterProjection::default()))
    }

    fn derived_names(&self) -> &'static [&'static str] {
        &[layout::ROSTER]
    }

    fn upkeep(&self, upkeep: &mut FeatureUpkeep<'_>) {
        stale::check_stale_agents(upkeep);
    }
}
