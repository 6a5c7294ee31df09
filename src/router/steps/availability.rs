//! Availability of agents and their unread mail, for `any_<role>`, and the owners of work.

use crate::base::clock::Stamp;
use crate::features;
use crate::log::state::RoomState;
use crate::message::subject::ClaimSubject;
use crate::room::registry::AgentStatus;
use crate::room::resolve::Availability;
use crate::room::sessions::SessionCalls;
use crate::room::signs;
use crate::router::parts::RoomConfig;
use std::sync::Arc;

/// The agents at the time of a message.
pub(crate) struct AgentAvailability<'a> {
    pub(in crate::router) config: &'a RoomConfig,
    pub(in crate::router) state: &'a RoomState,
    pub(in crate::router) calls: &'a SessionCalls,
}

impl Availability for AgentAvailability<'_> {
    fn unread(&self, agent: &str) -> usize {
        self.state.mailboxes.count(agent)
    }

    fn online(&self, agent: &str) -> bool {
        self.config
            .registry()
            .agent(agent)
            .is_some_and(|agent| agent.status != AgentStatus::Offline)
    }

    fn was_seen(&self, agent: &str) -> bool {
        signs::is_there(agent, self.state, self.calls, Stamp::now())
    }

    fn last_active(&self, agent: &str) -> Stamp {
        self.state.active.get(agent).copied().unwrap_or_default()
    }

    fn owners(&self, subject: &ClaimSubject) -> Vec<Arc<str>> {
        let owners = features::ALL.iter();
        owners
            .flat_map(|feature| feature.owners(self.state, subject))
            .collect()
    }
}
