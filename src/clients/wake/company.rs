//! Connects a router with the thread that wakes agents.

use super::Waker;
use crate::message::waking::Waking;
use crate::room::Room;
use crate::router::daemon::{Onlooker, Ready};
use crate::router::watcher::Caller;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Reports when the router is ready, and wakes agents.
pub struct Company {
    /// `None` for a single pass, which starts no programs.
    wakes: Option<Room>,
    waker: Option<Waker>,
    ready: fn(&Ready),
}

impl Company {
    /// Wakes agents of this room, if there is one.
    pub fn new(wakes: Option<Room>, ready: fn(&Ready)) -> Company {
        Company {
            wakes,
            waker: None,
            ready,
        }
    }
}

impl Onlooker for Company {
    fn ready(&mut self, ready: &Ready, router: Caller) {
        match self
            .wakes
            .as_ref()
            .map(|room| Waker::start(room, router))
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

    fn take_wakes(&mut self) -> Vec<Waking> {
        self.waker.as_ref().map(Waker::take).unwrap_or_default()
    }

    fn answered(&mut self, answers: BTreeMap<Arc<str>, bool>) {
        if let Some(waker) = &self.waker {
            waker.answered(answers);
        }
    }
}
