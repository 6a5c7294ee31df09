//! How everybody stands, for `any_<role>`, as far as it can be told from outside the router.

use crate::base::clock::Stamp;
use crate::log::state::{self, State};
use crate::room::registry::{Registry, Status};
use crate::room::resolve::Standing;
use crate::room::sessions::Calls;
use crate::room::{Room, inbox};
use crate::router::projections::roster;

/// Counts unread mail only for who is asked about, and knows activity only where the log was read.
pub struct Candidates<'a> {
    room: &'a Room,
    registry: &'a Registry,
    /// What the log amounts to.
    state: State,
}

impl<'a> Candidates<'a> {
    /// Without the log: quick, and good enough to tell whether a message would be refused.
    pub fn quick(room: &'a Room, registry: &'a Registry) -> Candidates<'a> {
        Candidates { room, registry, state: State::default() }
    }

    /// With the log's word on who was active when; a log that can't be read counts as empty.
    pub fn whole(room: &'a Room, registry: &'a Registry) -> Candidates<'a> {
        let state = state::committed(&room.dir).unwrap_or_default();
        Candidates { room, registry, state }
    }
}

impl Standing for Candidates<'_> {
    fn unread(&self, agent: &str) -> usize {
        inbox::unread(&self.room.dir, agent).map_or(usize::MAX / 2, |names| names.len())
    }

    fn online(&self, agent: &str) -> bool {
        self.registry.agent(agent).is_some_and(|agent| agent.status != Status::Offline)
    }

    fn was_seen(&self, agent: &str) -> bool {
        roster::is_there(agent, (&self.state, &Calls::of(&self.room.dir)), Stamp::now())
    }

    fn last_active(&self, agent: &str) -> Stamp {
        self.state.active.get(agent).copied().unwrap_or_default()
    }

    fn taken(&mut self, _agent: &str) {}
}

/// NoCandidates is known: for checks without a room.
pub struct NoCandidates;

impl Standing for NoCandidates {
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
