//! The signals that a router listens to.

use crate::base::error::{Error, Result};
use crate::disk::machine;
use crate::router::watcher::{Caller, Wake};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::path::PathBuf;

/// SIGHUP reloads. SIGINT and SIGTERM end the router cleanly; a second one ends it immediately. SIGHUP and SIGINT stay
/// ignored if they were.
pub(super) fn listen(router: Caller) -> Result<()> {
    let cannot = |source| Error::Io {
        verb: "listen for signals in",
        path: PathBuf::from("this process"),
        source,
    };
    let mut signals =
        signal_hook::iterator::Signals::new(machine::heard(&[SIGHUP, SIGINT, SIGTERM]))
            .map_err(cannot)?;
    let listen = move || {
        let mut asked = false;
        for signal in signals.forever() {
            if signal != SIGHUP && std::mem::replace(&mut asked, true) {
                std::process::exit(128 + signal);
            }
            router.call(if signal == SIGHUP {
                Wake::Reload
            } else {
                Wake::End
            });
        }
    };
    std::thread::Builder::new()
        .name("signals".into())
        .spawn(listen)
        .map(drop)
        .map_err(cannot)
}
