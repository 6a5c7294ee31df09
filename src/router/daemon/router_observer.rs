//! Reports of a router to the program that runs it.

use super::ReadyReport;
use crate::message::waking::WakeUpdate;
use crate::router::watcher::RouterWaker;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A receiver of a router's reports.
pub trait RouterObserver {
    /// Called when the router watches. `router` wakes it when there is something to take.
    fn ready(&mut self, ready: &ReadyReport, router: RouterWaker);

    /// Called when these agents have new mail, and a program wakes them.
    fn delivered(&mut self, _agents: BTreeSet<Arc<str>>) {}

    /// Returns steps of wakes to record.
    fn take_wakes(&mut self) -> Vec<WakeUpdate> {
        Vec::new()
    }

    /// Called when requests for wakes are in the log. The value is whether the agent's program may be started now.
    fn answered(&mut self, _answers: BTreeMap<Arc<str>, bool>) {}
}

/// Receives nothing.
impl RouterObserver for () {
    fn ready(&mut self, _: &ReadyReport, _: RouterWaker) {}
}
