//! Availability of agents and their unread mail, for `any_<role>`, and the owners of work.

use super::owners::BatchClaims;
use crate::base::clock::Stamp;
use crate::log::state::RoomState;
use crate::message::subject::ClaimSubject;
use crate::room::registry::AgentStatus;
use crate::room::resolve::Availability;
use crate::room::sessions::SessionCalls;
use crate::room::signs;
use crate::router::parts::RoomConfig;
use std::collections::HashMap;
use std::sync::Arc;

/// The agents at the time of a batch.
pub(super) struct BatchAvailability<'a> {
    config: &'a RoomConfig,
    state: &'a RoomState,
    calls: SessionCalls,
    /// The number of copies of this batch for each agent.
    taken: HashMap<String, usize>,
    pub(super) owners: BatchClaims<'a>,
}

impl<'a> BatchAvailability<'a> {
    pub(super) fn new(config: &'a RoomConfig, state: &'a RoomState) -> BatchAvailability<'a> {
        BatchAvailability {
            config,
            state,
            calls: SessionCalls::of(config.dir()),
            taken: HashMap::new(),
            owners: BatchClaims::new(config, state),
        }
    }
}

impl Availability for BatchAvailability<'_> {
    fn unread(&self, agent: &str) -> usize {
        self.state.mailboxes.count(agent) + self.taken.get(agent).copied().unwrap_or(0)
    }

    fn online(&self, agent: &str) -> bool {
        self.config
            .registry()
            .agent(agent)
            .is_some_and(|agent| agent.status != AgentStatus::Offline)
    }

    fn was_seen(&self, agent: &str) -> bool {
        signs::is_there(agent, self.state, &self.calls, Stamp::now())
    }

    fn last_active(&self, agent: &str) -> Stamp {
        self.state.active.get(agent).copied().unwrap_or_default()
    }

    fn owners(&self, subject: &ClaimSubject) -> Vec<Arc<str>> {
        self.owners
            .claims()
            .conflicting(subject)
            .map(|held| held.owner.clone())
            .collect()
    }

    fn taken(&mut self, agent: &str) {
        *self.taken.entry(agent.to_owned()).or_default() += 1;
    }
}
