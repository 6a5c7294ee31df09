//! Keeps one link connected: connects, mirrors, and connects again after a pause that grows.

use super::mirror::{Conduct, Standing, mirror};
use super::{nats, ssh};
use crate::base::error::{Error, Result};
use crate::base::limits;
use crate::base::text::count;
use crate::query::links;
use crate::room::Room;
use crate::room::carriers::CarrierState;
use crate::room::consent::Connection;
use crate::room::links::cure;
use crate::room::settings::{Carrier, SshAddress};
use std::fs::File;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Asks threads to end.
#[derive(Default)]
pub(super) struct Stop(Mutex<bool>, Condvar);

impl Stop {
    pub(super) fn ask(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.1.notify_all();
    }

    pub(super) fn is_asked(&self) -> bool {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits at most this long; `true` if the end is asked for.
    pub(super) fn wait(&self, patience: Duration) -> bool {
        let asked = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *self
            .1
            .wait_timeout_while(asked, patience, |asked| !*asked)
            .unwrap_or_else(PoisonError::into_inner)
            .0
    }
}

/// One link, and what was said of it last.
pub(super) struct Keeper {
    pub(super) room: Room,
    pub(super) connection: Connection,
    pub(super) stop: Arc<Stop>,
    /// End when both rooms have committed everything, or at the first failure.
    pub(super) once: bool,
    pub(super) said: Option<(CarrierState, Option<String>)>,
    pub(super) was_connected: bool,
}

impl Keeper {
    /// Connects until it is asked to end.
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
                    self.say(CarrierState::Waiting, Some(&e));
                    return Err(e);
                }
                Err(e) => self.say(CarrierState::Waiting, Some(&e)),
            }
            if self.stop.wait(jittered(pause)) {
                break;
            }
            pause = (pause * 2).min(limits::RECONNECT_MOST);
        }
        self.say(CarrierState::Ended, None);
        Ok(())
    }

    fn connect(&mut self) -> Result<()> {
        let (room, Connection { link, known_as, .. }) =
            (self.room.clone(), self.connection.clone());
        // Only while it connects: two machines that connect to each other must not keep each other out.
        let _held = room.lock_link(&link, Duration::ZERO)?;
        let known_as = known_as.ok_or_else(|| Error::Usage {
            what: format!("the room {link} cannot know this room, which has no tag"),
            cure: format!("set `tag` in settings.toml, or `as` in [links.{link}]"),
        })?;
        let (client, ends) = self.start(&known_as)?;
        let mut near = Near {
            keeper: self,
            moved: Instant::now(),
            last: Standing::default(),
        };
        let done = mirror(&room, &link, ends, &mut near);
        let last = client.end();
        done.map_err(|e| match e {
            Error::Busy { what, cure } if !last.is_empty() => Error::Busy {
                what: format!("{what} ({last})"),
                cure,
            },
            e if !last.is_empty() => Error::Busy {
                what: format!("{e} ({last})"),
                cure: "it connects again".into(),
            },
            e => e,
        })
    }

    /// Starts what connects. Gives what comes from the other room, and where to write for it.
    fn start(&self, known_as: &str) -> Result<(Client, (File, File))> {
        let Connection {
            carrier, address, ..
        } = &self.connection;
        if Carrier::parse(carrier) == Some(Carrier::Nats) {
            let (client, ends) = nats::Client::start(&self.room, &self.connection, known_as)?;
            return Ok((Client::Nats(client), ends));
        }
        let address = SshAddress::parse(address).ok_or_else(|| Error::Usage {
            what: format!("{address} is no address for SSH"),
            cure: "write [user@]host:/path/to/room".into(),
        })?;
        let (client, ends) = ssh::Client::start(&address, known_as)?;
        Ok((Client::Ssh(client), ends))
    }

    /// Says a change of state, in one line and in the note of the link.
    fn say(&mut self, state: CarrierState, why: Option<&Error>) {
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

/// What connects to the other machine.
enum Client {
    Ssh(ssh::Client),
    Nats(nats::Client),
}

impl Client {
    /// Ends it, and gives the last thing that it or the other end said.
    fn end(self) -> String {
        match self {
            Client::Ssh(client) => client.end(),
            Client::Nats(client) => client.end(),
        }
    }
}

/// The end of a connection on the machine that connects.
struct Near<'a> {
    keeper: &'a mut Keeper,
    /// How far both rooms are, and since when.
    last: Standing,
    moved: Instant,
}

impl Conduct for Near<'_> {
    fn connected(&mut self) {
        self.keeper.was_connected = true;
        self.keeper.say(CarrierState::Connected, None);
    }

    fn goes_on(&mut self, standing: &Standing) -> Result<bool> {
        if self.keeper.stop.is_asked() || self.keeper.once && standing.is_settled() {
            return Ok(false);
        }
        if *standing != self.last {
            (self.moved, self.last) = (Instant::now(), standing.clone());
        }
        if !self.keeper.once {
            return Ok(true);
        }
        if self.moved.elapsed() > limits::ONCE_STOPPED {
            self.check_stopped()?;
        }
        if self.moved.elapsed() > limits::ONCE_PATIENCE {
            let waited = count(limits::ONCE_PATIENCE.as_secs(), "second");
            return Err(Error::Timeout {
                what: format!(
                    "nothing crossed the link {} for {waited}",
                    self.keeper.connection.link
                ),
                cure: "run `mailbag status` in both rooms".into(),
            });
        }
        Ok(true)
    }
}

impl Near<'_> {
    /// Does the state of one room not fit the other one? Then nothing crosses before a person has run a rebind.
    fn check_stopped(&self) -> Result<()> {
        let Keeper {
            room,
            connection: Connection { link, .. },
            ..
        } = &*self.keeper;
        let why = match links::stopped(room, link) {
            Some(why) => why,
            None if self.last.is_stopped_there() => {
                format!("the room {link} had confirmed items that this room lacks")
            }
            None => return Ok(()),
        };
        Err(Error::Busy {
            what: format!("the link {link} has stopped: {why}"),
            cure: cure(link),
        })
    }
}

/// A pause between half of this one and all of it, so that many carriers do not come at the same instant.
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
