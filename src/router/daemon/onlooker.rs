//! What a router reports to the program in which it runs, and what it takes from it.

use super::Ready;
use crate::message::waking::Waking;
use crate::router::watcher::Caller;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A receiver of a router's reports.
pub trait Onlooker {
    /// The router watches. The caller tells it that there is something to take.
    fn ready(&mut self, ready: &Ready, router: Caller);

    /// These agents have new mail, and a program wakes them.
    fn delivered(&mut self, _agents: BTreeSet<Arc<str>>) {}

    /// What the router has to record of wakes.
    fn take_wakes(&mut self) -> Vec<Waking> {
        Vec::new()
    }

    /// For each agent for which a wake was requested: whether its program may be started now. The request is in the log.
    fn answered(&mut self, _answers: BTreeMap<Arc<str>, bool>) {}
}

/// Receives nothing.
impl Onlooker for () {
    fn ready(&mut self, _: &Ready, _: Caller) {}
}
