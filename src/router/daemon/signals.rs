//! The signals that a router listens to.

use crate::base::error::{ErrorContext, Result};
use crate::disk::machine;
use crate::router::watcher::{RouterEvent, RouterWaker};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::path::Path;

/// SIGHUP reloads. SIGINT and SIGTERM end the router cleanly; a second one ends it immediately. SIGHUP and SIGINT
/// stay ignored if they were.
pub(super) fn listen(router: RouterWaker) -> Result<()> {
    let signals = Signals::new(machine::heard(&[SIGHUP, SIGINT, SIGTERM]));
    signals
        .and_then(|signals| {
            std::thread::Builder::new()
                .name("signals".into())
                .spawn(move || handle(signals, &router))
        })
        .doing("listen for signals in", Path::new("this process"))?;
    Ok(())
}

fn handle(mut signals: Signals, router: &RouterWaker) {
    let mut is_ending = false;
    for signal in signals.forever() {
        if signal == SIGHUP {
            router.call(RouterEvent::Reload);
            continue;
        }
        if is_ending {
            std::process::exit(128 + signal);
        }
        is_ending = true;
        router.call(RouterEvent::End);
    }
}
