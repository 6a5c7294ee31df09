//! Renamed agents: the registry has an alias in the place of an agent that the log knows.

use crate::base::limits;
use crate::log::state::RoomState;
use crate::room::registry::Registry;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A name, and the agent that has it now.
pub(crate) type AgentRename = (Arc<str>, Arc<str>);

/// The time of the next try after a batch with renamings, because the batch may fail.
#[derive(Default)]
pub(crate) struct RenameRetry {
    not_before: Option<Instant>,
}

impl RenameRetry {
    /// Returns true if there are renamings to record. Until then, all work that depends on the registry waits,
    /// because the former name would be an unknown agent.
    pub(crate) fn are_open(&self, state: &RoomState, registry: &Registry) -> bool {
        due(state, registry).next().is_some()
    }

    /// Returns true if there are renamings to record now.
    pub(crate) fn is_due(&self, state: &RoomState, registry: &Registry) -> bool {
        self.not_before.is_none_or(|at| at <= Instant::now())
            && due(state, registry).next().is_some()
    }

    /// The time until the next try.
    pub(crate) fn until_next(&self, state: &RoomState, registry: &Registry) -> Option<Duration> {
        let left = self.not_before?.saturating_duration_since(Instant::now());
        due(state, registry).next().map(|_| left)
    }

    /// Takes the renamings for the next batch.
    pub(crate) fn take(&mut self, state: &RoomState, registry: &Registry) -> Vec<AgentRename> {
        if !self.is_due(state, registry) {
            return Vec::new();
        }
        self.not_before = Some(Instant::now() + limits::RETRY_FIRST);
        due(state, registry).collect()
    }
}

fn due<'a>(state: &'a RoomState, registry: &'a Registry) -> impl Iterator<Item = AgentRename> {
    let known = registry
        .aliases()
        .iter()
        .filter(|(alias, _)| state.knows(alias));
    known.filter_map(|(alias, _)| {
        let agent = registry
            .now(alias)
            .filter(|agent| *agent.id != **alias && !agent.is_retired())?;
        Some((alias.as_str().into(), agent.id.clone()))
    })
}
