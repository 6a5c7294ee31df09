//! Connects a router with the thread that wakes agents.

use super::AgentWaker;
use crate::message::waking::WakeUpdate;
use crate::room::Room;
use crate::router::daemon::{ReadyReport, RouterObserver};
use crate::router::watcher::RouterWaker;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Reports when the router is ready, and wakes agents.
pub struct WakingObserver {
    /// `None` for a single pass, which starts no programs.
    wakes: Option<Room>,
    waker: Option<AgentWaker>,
    ready: fn(&ReadyReport),
}

impl WakingObserver {
    /// Wakes agents of this room, if there is one.
    pub fn new(wakes: Option<Room>, ready: fn(&ReadyReport)) -> WakingObserver {
        WakingObserver {
            wakes,
            waker: None,
            ready,
        }
    }
}

impl RouterObserver for WakingObserver {
    fn ready(&mut self, ready: &ReadyReport, router: RouterWaker) {
        match self
            .wakes
            .as_ref()
            .map(|room| AgentWaker::start(room, router))
            .transpose()
        {
            Ok(waker) => self.waker = waker,
            Err(e) => tracing::warn!("no agent is woken: {e}"),
        }
        (self.ready)(ready);
    }

    fn delivered(&mut self, agents: BTreeSet<Arc<str>>) {
        if let Some(waker) = &self.waker {
            waker.delivered(agents);
        }
    }

    fn take_wakes(&mut self) -> Vec<WakeUpdate> {
        self.waker
            .as_ref()
            .map(AgentWaker::take)
            .unwrap_or_default()
    }

    fn answered(&mut self, answers: BTreeMap<Arc<str>, bool>) {
        if let Some(waker) = &self.waker {
            waker.answered(answers);
        }
    }
}
