//! Keeps one link connected: connects, mirrors, and reconnects after a growing pause.

use super::mirror::{ConnectionPolicy, LinkProgress, mirror};
use super::{nats, ssh};
use crate::base::error::{Error, Result};
use crate::base::limits;
use crate::base::text::count;
use crate::query::links;
use crate::room::Room;
use crate::room::carriers::CarrierState;
use crate::room::links::link_fix;
use crate::room::settings::LinkConnection;
use crate::room::settings::{Carrier, SshAddress};
use std::fs::File;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// `mailbag link run --once` gives up if nothing crossed a link for this time.
const ONCE_PATIENCE: Duration = Duration::from_secs(60);
/// `mailbag link run --once` gives up after this time if a link has stopped. Before, a router can read a newer state.
const ONCE_STOPPED: Duration = Duration::from_secs(2);

/// A request to threads to end.
#[derive(Default)]
pub(super) struct StopRequest(Mutex<bool>, Condvar);

impl StopRequest {
    pub(super) fn ask(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.1.notify_all();
    }

    pub(super) fn is_asked(&self) -> bool {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the request, at most this long. Returns true if it was made.
    pub(super) fn wait(&self, patience: Duration) -> bool {
        let asked = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *self
            .1
            .wait_timeout_while(asked, patience, |asked| !*asked)
            .unwrap_or_else(PoisonError::into_inner)
            .0
    }
}

/// One link, and its last reported state.
pub(super) struct LinkConnector {
    pub(super) room: Room,
    pub(super) connection: LinkConnection,
    pub(super) stop: Arc<StopRequest>,
    /// End when both rooms have committed everything, or at the first failure.
    pub(super) once: bool,
    pub(super) said: Option<(CarrierState, Option<String>)>,
    pub(super) was_connected: bool,
}

impl LinkConnector {
    /// Reconnects until a stop is requested. With `once`, returns the first error.
    pub(super) fn keep(mut self) -> Result<()> {
        let mut pause = limits::RECONNECT;
        loop {
            self.was_connected = false;
            let done = self.connect();
            if self.was_connected {
                pause = limits::RECONNECT;
            }
            match done {
                Ok(()) => break,
                Err(e) if self.once => {
                    self.report(CarrierState::Waiting, Some(&e));
                    return Err(e);
                }
                Err(e) => self.report(CarrierState::Waiting, Some(&e)),
            }
            if self.stop.wait(jittered(pause)) {
                break;
            }
            pause = (pause * 2).min(limits::RECONNECT_MOST);
        }
        self.report(CarrierState::Ended, None);
        Ok(())
    }

    fn connect(&mut self) -> Result<()> {
        let (room, LinkConnection { link, known_as, .. }) =
            (self.room.clone(), self.connection.clone());
        // Held only during a connection: two machines that connect to each other must not block each other.
        let _held = room.lock_link(&link, Duration::ZERO)?;
        let known_as = known_as.ok_or_else(|| {
            Error::usage(
                format!("the room {link} cannot know this room, which has no tag"),
                format!("set `tag` in settings.toml, or `as` in [links.{link}]"),
            )
        })?;
        let (client, (from, to)) = self.start_client(&known_as)?;
        let mut near = ConnectingEnd {
            keeper: self,
            moved: Instant::now(),
            last: LinkProgress::default(),
        };
        let done = mirror(&room, &link, from, to, &mut near);
        let last = client.end();
        done.map_err(|e| match e {
            Error::Busy { what, fix } if !last.is_empty() => {
                Error::busy(format!("{what} ({last})"), fix)
            }
            e if !last.is_empty() => Error::busy(format!("{e} ({last})"), "it connects again"),
            e => e,
        })
    }

    /// Starts the client. Returns the file to read from the other room, and the file to write to it.
    fn start_client(&self, known_as: &str) -> Result<(CarrierClient, (File, File))> {
        let LinkConnection {
            carrier, address, ..
        } = &self.connection;
        if Carrier::parse(carrier) == Some(Carrier::Nats) {
            let (client, ends) = nats::NatsClient::start(&self.room, &self.connection, known_as)?;
            return Ok((CarrierClient::Nats(client), ends));
        }
        let address = SshAddress::parse(address).ok_or_else(|| {
            Error::usage(
                format!("{address} is not an SSH address"),
                "write [user@]host:/path/to/room",
            )
        })?;
        let (client, ends) = ssh::SshClient::start(&address, known_as)?;
        Ok((CarrierClient::Ssh(client), ends))
    }

    /// Reports a change of state in the output and in the link's state file.
    fn report(&mut self, state: CarrierState, why: Option<&Error>) {
        let why = why.map(|why| match why {
            Error::Busy { what, .. } => what.clone(),
            why => why.to_string(),
        });
        let now = (state, why);
        if self.said.as_ref() == Some(&now) {
            return;
        }
        let (link, address) = (&self.connection.link, &self.connection.address);
        match &now {
            (CarrierState::Connected, _) => tracing::info!("link {link}: connected to {address}"),
            (CarrierState::Ended, _) => tracing::info!("link {link}: ended"),
            (_, why) => tracing::warn!(
                "link {link}: not connected: {}",
                why.as_deref().unwrap_or("not yet")
            ),
        }
        if let Err(e) = self.room.note_carrier(link, state, now.1.as_deref()) {
            tracing::debug!("{e}");
        }
        self.said = Some(now);
    }
}

/// The client that connects to the other machine.
enum CarrierClient {
    Ssh(ssh::SshClient),
    Nats(nats::NatsClient),
}

impl CarrierClient {
    /// Ends the client, and returns the last line of its or the other end's error output.
    fn end(self) -> String {
        match self {
            CarrierClient::Ssh(client) => client.end(),
            CarrierClient::Nats(client) => client.end(),
        }
    }
}

/// The end of a connection on the machine that connects.
struct ConnectingEnd<'a> {
    keeper: &'a mut LinkConnector,
    last: LinkProgress,
    /// The time of the last progress.
    moved: Instant,
}

impl ConnectionPolicy for ConnectingEnd<'_> {
    fn connected(&mut self) {
        self.keeper.was_connected = true;
        self.keeper.report(CarrierState::Connected, None);
    }

    fn continues(&mut self, progress: &LinkProgress) -> Result<bool> {
        if self.keeper.stop.is_asked() || self.keeper.once && progress.is_settled() {
            return Ok(false);
        }
        if *progress != self.last {
            (self.moved, self.last) = (Instant::now(), progress.clone());
        }
        if !self.keeper.once {
            return Ok(true);
        }
        if self.moved.elapsed() > ONCE_STOPPED {
            self.check_stopped()?;
        }
        if self.moved.elapsed() > ONCE_PATIENCE {
            let waited = count(ONCE_PATIENCE.as_secs(), "second");
            return Err(Error::timeout(
                format!(
                    "nothing crossed the link {} for {waited}",
                    self.keeper.connection.link
                ),
                "run `mailbag status` in both rooms",
            ));
        }
        Ok(true)
    }
}

impl ConnectingEnd<'_> {
    /// Fails if the states of the two rooms contradict each other. Then nothing crosses until a person removes the link
    /// and adds it again.
    fn check_stopped(&self) -> Result<()> {
        let LinkConnector {
            room,
            connection: LinkConnection { link, .. },
            ..
        } = &*self.keeper;
        let why = match links::stopped(room, link) {
            Some(why) => why,
            None if self.last.is_stopped_there() => {
                format!("the room {link} had confirmed items that this room lacks")
            }
            None => return Ok(()),
        };
        Err(Error::busy(
            format!("the link {link} has stopped: {why}"),
            link_fix(link),
        ))
    }
}

/// Returns a random pause between half of this one and all of it, so that carriers do not reconnect at the same time.
fn jittered(pause: Duration) -> Duration {
    let share = uuid::Uuid::new_v4().as_bytes()[0];
    pause / 2 + pause / 2 * u32::from(share) / u32::from(u8::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_differ_within_their_bounds() {
        let pauses: Vec<Duration> = (0..100).map(|_| jittered(limits::RECONNECT_MOST)).collect();
        assert!(
            pauses
                .iter()
                .all(|pause| (limits::RECONNECT_MOST / 2..=limits::RECONNECT_MOST).contains(pause))
        );
        assert!(pauses.iter().any(|pause| *pause != pauses[0]));
    }
}
