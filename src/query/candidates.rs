//! Facts about agents for the choice of `any_<role>`, as seen from outside the router.

use crate::base::clock::Stamp;
use crate::log;
use crate::log::state::{self, State};
use crate::message::subject::Subject;
use crate::room::registry::{Registry, Status};
use crate::room::resolve::Availability;
use crate::room::sessions::Calls;
use crate::room::{Room, inbox};
use crate::router::projections::roster;
use std::sync::Arc;

/// Counts unread mail on demand. Activity is known only if the log was read.
pub struct Candidates<'a> {
    room: &'a Room,
    registry: &'a Registry,
    /// The state computed from the log.
    state: State,
}

impl<'a> Candidates<'a> {
    /// Without the log: fast, and enough to predict whether the router would reject a message.
    pub fn quick(room: &'a Room, registry: &'a Registry) -> Candidates<'a> {
        Candidates {
            room,
            registry,
            state: State::default(),
        }
    }

    /// With activity from the log. An unreadable log counts as empty.
    pub fn whole(room: &'a Room, registry: &'a Registry) -> Candidates<'a> {
        let state = state::committed(&room.dir).unwrap_or_default();
        Candidates {
            room,
            registry,
            state,
        }
    }
}

impl Availability for Candidates<'_> {
    fn unread(&self, agent: &str) -> usize {
        inbox::unread(&self.room.dir, agent).map_or(usize::MAX / 2, |names| names.len())
    }

    fn online(&self, agent: &str) -> bool {
        self.registry
            .agent(agent)
            .is_some_and(|agent| agent.status != Status::Offline)
    }

    fn was_seen(&self, agent: &str) -> bool {
        roster::is_there(agent, &self.state, &Calls::of(&self.room.dir), Stamp::now())
    }

    fn last_active(&self, agent: &str) -> Stamp {
        self.state.active.get(agent).copied().unwrap_or_default()
    }

    fn owners(&self, subject: &Subject) -> Vec<Arc<str>> {
        let claims = log::owners::owners(&self.room.dir).unwrap_or_default();
        claims
            .conflicting(subject)
            .map(|held| held.owner.clone())
            .collect()
    }

    fn taken(&mut self, _agent: &str) {}
}

/// No agent is known: for checks without a room.
pub struct NoCandidates;

impl Availability for NoCandidates {
    fn unread(&self, _agent: &str) -> usize {
        0
    }

    fn online(&self, _agent: &str) -> bool {
        true
    }

    fn last_active(&self, _agent: &str) -> Stamp {
        Stamp::default()
    }

    fn taken(&mut self, _agent: &str) {}
}
