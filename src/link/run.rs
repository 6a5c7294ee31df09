//! `mailbag link run`: one process for all outgoing links of this room.

use super::connect::{LinkConnector, StopRequest};
use crate::base::error::{Error, Result};
use crate::base::limits;
use crate::commands::wait::StandbyRouter;
use crate::disk::machine;
use crate::room::Room;
use crate::room::consent::KnownRooms;
use crate::room::settings::LinkConnection;
use crate::router::daemon;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Serves all links until a signal arrives. Routes mail if no router runs.
pub fn run(room: &Room) -> Result<()> {
    let stop = Arc::new(StopRequest::default());
    listen(stop.clone())?;
    let (mut carriers, mut routing) = (ServedLinks::new(room), StandbyRouter::new(room));
    loop {
        // If routing fails, the items wait, as they do without this process.
        let _ = routing.tend().inspect_err(|e| tracing::debug!("{e}"));
        carriers.tend(false);
        if carriers.threads.is_empty() && !carriers.is_idle_reported {
            tracing::warn!("no link of this room connects to another machine yet");
            carriers.is_idle_reported = true;
        }
        if stop.wait(limits::LINKS_LOOK) {
            break;
        }
        room.check_place()?;
    }
    carriers.end();
    drop(routing);
    daemon::pass(room).map(drop)
}

/// Transports all waiting items over all links, and returns the number of links.
pub fn once(room: &Room) -> Result<usize> {
    daemon::pass(room)?;
    let (mut carriers, mut routing) = (ServedLinks::new(room), StandbyRouter::new(room));
    carriers.tend(true);
    let (served, untrusted) = (
        carriers.threads.len(),
        std::mem::take(&mut carriers.untrusted),
    );
    while !carriers
        .threads
        .iter()
        .all(|thread| thread.handle.is_finished())
    {
        let _ = routing.tend().inspect_err(|e| tracing::debug!("{e}"));
        std::thread::sleep(limits::LOCK_LOOK);
    }
    drop(routing);
    daemon::pass(room)?;
    for thread in carriers.threads.drain(..) {
        thread.handle.join().map_err(|_| broken())??;
    }
    match untrusted.first() {
        Some(link) => Err(Error::untrusted(
            format!("you have not agreed to connect over the link {link}"),
            "`mailbag trust` shows it and asks",
        )),
        None => Ok(served),
    }
}

/// The links being served.
struct ServedLinks {
    room: Room,
    threads: Vec<LinkThread>,
    /// The reported links without the person's consent.
    untrusted: BTreeSet<String>,
    /// The reported error of reading the settings.
    failed: Option<String>,
    /// Whether it was reported that no link connects.
    is_idle_reported: bool,
}

struct LinkThread {
    connection: LinkConnection,
    stop: Arc<StopRequest>,
    handle: JoinHandle<Result<()>>,
}

impl ServedLinks {
    fn new(room: &Room) -> ServedLinks {
        let (room, untrusted) = (room.clone(), BTreeSet::new());
        ServedLinks {
            room,
            threads: Vec::new(),
            untrusted,
            failed: None,
            is_idle_reported: false,
        }
    }

    /// Starts and ends threads according to the present settings and consent.
    fn tend(&mut self, once: bool) {
        let wanted = match self.wanted() {
            Ok(wanted) => wanted,
            Err(e) => {
                let e = e.to_string();
                if self.failed.as_ref() != Some(&e) {
                    tracing::warn!("cannot read the links of this room: {e}");
                }
                self.failed = Some(e);
                return;
            }
        };
        self.failed = None;
        let (connections, is_agreed) = wanted;
        let mut trusted = Vec::new();
        if is_agreed {
            self.untrusted.clear();
            trusted = connections;
        } else {
            self.untrusted
                .retain(|tag| connections.iter().any(|one| one.link == *tag));
            for LinkConnection { link, .. } in connections {
                if self.untrusted.insert(link.clone()) {
                    tracing::warn!(
                        "link {link}: not connected: you have not agreed to it; `mailbag trust` shows it and asks"
                    );
                }
            }
        }
        for thread in &self.threads {
            if !trusted.contains(&thread.connection) {
                thread.stop.ask();
            }
        }
        self.threads.retain(|thread| !thread.stop.is_asked());
        for connection in trusted {
            if !self
                .threads
                .iter()
                .any(|thread| thread.connection == connection)
            {
                self.begin(connection, once);
            }
        }
    }

    /// The connections of the present settings, and whether the person has agreed to them.
    fn wanted(&self) -> Result<(Vec<LinkConnection>, bool)> {
        let settings = self.room.settings()?;
        // The settings do not say why the record grants no consent.
        KnownRooms::read()?;
        Ok((LinkConnection::of(&settings), settings.is_agreed))
    }

    fn begin(&mut self, connection: LinkConnection, once: bool) {
        let stop = Arc::new(StopRequest::default());
        let (room, connection_there) = (self.room.clone(), connection.clone());
        let keeper = LinkConnector {
            room,
            connection: connection_there,
            stop: stop.clone(),
            once,
            said: None,
            was_connected: false,
        };
        let name = format!("link {}", connection.link);
        match std::thread::Builder::new()
            .name(name)
            .spawn(move || keeper.keep())
        {
            Ok(handle) => self.threads.push(LinkThread {
                connection,
                stop,
                handle,
            }),
            Err(e) => tracing::warn!("link {}: cannot start a thread: {e}", connection.link),
        }
    }

    /// Asks all threads to end, and waits for them for a limited time. Threads that are cut off leave nothing unsafe.
    fn end(&mut self) {
        for thread in &self.threads {
            thread.stop.ask();
        }
        let deadline = Instant::now() + limits::CARRIERS_END;
        while Instant::now() < deadline
            && self
                .threads
                .iter()
                .any(|thread| !thread.handle.is_finished())
        {
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

fn broken() -> Error {
    Error::busy(
        "a carrier of this process failed unexpectedly",
        "report it as a bug",
    )
}

/// Handles SIGINT and SIGTERM: the first signal ends all carriers, the second ends the process.
fn listen(stop: Arc<StopRequest>) -> Result<()> {
    machine::at_signals(&machine::END_SIGNALS, move |_| {
        let was_asked = stop.is_asked();
        stop.ask();
        was_asked
    })
}
