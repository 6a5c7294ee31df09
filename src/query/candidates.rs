//! Facts about agents for the choice of `any_<role>`, as seen from outside the router.

use super::inbox;
use crate::base::clock::Stamp;
use crate::features::claims;
use crate::log::state::{self, RoomState};
use crate::message::subject::ClaimSubject;
use crate::room::Room;
use crate::room::registry::{AgentStatus, Registry};
use crate::room::resolve::Availability;
use crate::room::sessions::SessionCalls;
use crate::room::signs;
use std::sync::Arc;

/// Activity and unread mail are known only if the log was read.
pub struct RoomAvailability<'a> {
    room: &'a Room,
    registry: &'a Registry,
    /// The state computed from the log.
    state: RoomState,
    calls: SessionCalls,
}

impl<'a> RoomAvailability<'a> {
    /// Without the log: fast, and enough to predict whether the router would reject a message.
    pub fn quick(room: &'a Room, registry: &'a Registry) -> RoomAvailability<'a> {
        RoomAvailability::of_state(room, registry, RoomState::default())
    }

    /// With activity from the log. An unreadable log counts as empty.
    pub fn whole(room: &'a Room, registry: &'a Registry) -> RoomAvailability<'a> {
        let state = state::committed(&room.dir).unwrap_or_default();
        RoomAvailability::of_state(room, registry, state)
    }

    fn of_state(room: &'a Room, registry: &'a Registry, state: RoomState) -> RoomAvailability<'a> {
        RoomAvailability {
            room,
            registry,
            state,
            calls: SessionCalls::of(&room.dir),
        }
    }
}

impl Availability for RoomAvailability<'_> {
    fn unread(&self, agent: &str) -> usize {
        inbox::unread_count(self.room, &self.state, agent)
    }

    fn online(&self, agent: &str) -> bool {
        self.registry
            .agent(agent)
            .is_some_and(|agent| agent.status != AgentStatus::Offline)
    }

    fn was_seen(&self, agent: &str) -> bool {
        signs::is_there(agent, &self.state, &self.calls, Stamp::now())
    }

    fn last_active(&self, agent: &str) -> Stamp {
        self.state.active.get(agent).copied().unwrap_or_default()
    }

    fn owners(&self, subject: &ClaimSubject) -> Vec<Arc<str>> {
        let claims = claims::owners(&self.room.dir).unwrap_or_default();
        claims
            .conflicting(subject)
            .map(|held| held.owner.clone())
            .collect()
    }
}
