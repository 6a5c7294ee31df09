//! The signals that a router listens to.

use crate::base::error::Result;
use crate::disk::machine;
use crate::router::watcher::{RouterEvent, RouterWaker};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

/// SIGHUP reloads. SIGINT and SIGTERM end the router cleanly; a second one ends it immediately. SIGHUP and SIGINT
/// stay ignored if they were.
pub(super) fn listen(router: RouterWaker) -> Result<()> {
    let mut is_ending = false;
    machine::at_signals(&[SIGHUP, SIGINT, SIGTERM], move |signal| {
        if signal == SIGHUP {
            router.call(RouterEvent::Reload);
            return false;
        }
        router.call(RouterEvent::End);
        std::mem::replace(&mut is_ending, true)
    })
}
