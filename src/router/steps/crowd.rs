//! Availability of agents and their unread mail, for `any_<role>`, and the owners of work.

use super::owners::Owners;
use crate::base::clock::Stamp;
use crate::log::state::State;
use crate::message::subject::Subject;
use crate::room::registry::Status;
use crate::room::resolve::Availability;
use crate::room::sessions::Calls;
use crate::router::parts::Config;
use crate::router::projections::roster;
use std::collections::HashMap;
use std::sync::Arc;

/// The agents at the time of a batch.
pub(super) struct Crowd<'a> {
    config: &'a Config,
    state: &'a State,
    /// The number of copies of this batch for each agent.
    taken: HashMap<String, usize>,
    pub(super) owners: Owners<'a>,
}

impl<'a> Crowd<'a> {
    pub(super) fn new(config: &'a Config, state: &'a State) -> Crowd<'a> {
        Crowd {
            config,
            state,
            taken: HashMap::new(),
            owners: Owners::new(config, state),
        }
    }
}

impl Availability for Crowd<'_> {
    fn unread(&self, agent: &str) -> usize {
        self.state.mailboxes.count(agent) + self.taken.get(agent).copied().unwrap_or(0)
    }

    fn online(&self, agent: &str) -> bool {
        self.config
            .registry()
            .agent(agent)
            .is_some_and(|agent| agent.status != Status::Offline)
    }

    fn was_seen(&self, agent: &str) -> bool {
        let calls = Calls::of(self.config.dir());
        roster::is_there(agent, self.state, &calls, Stamp::now())
    }

    fn last_active(&self, agent: &str) -> Stamp {
        self.state.active.get(agent).copied().unwrap_or_default()
    }

    fn owners(&self, subject: &Subject) -> Vec<Arc<str>> {
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
