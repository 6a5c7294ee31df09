//! Watches the session of an agent that owns claims: a background process that holds a lock as long as the client runs.
//! When the client ends, or is killed, the lock shows that, and the agent's claims end soon.

use super::background;
use crate::base::clock::Stamp;
use crate::base::error::Result;
use crate::query::claims;
use crate::room::Room;
use crate::room::sessions::{self, SessionHold, SessionLease};
use std::time::Duration;

/// The interval of checks whether the session must still be watched.
const WATCH_CHECK: Duration = Duration::from_secs(10);

/// Starts the process for the session of this lease, if its agent owns claims, its client is known, and no process
/// watches it yet.
pub fn ensure(room: &Room, client: &str, lease: &SessionLease) -> Result<()> {
    if lease.process.is_none()
        || !claims::may_own(&room.dir, &lease.agent)
        || sessions::is_watched(&room.dir, lease)
    {
        return Ok(());
    }
    background::start(room, &["hook", client, "--watch", &lease.agent], None)
}

/// Holds the lock until the client of the agent's session ends, or the session has nothing to hold it for.
pub fn watch(room: &Room, agent: &str) -> Result<()> {
    let Some(lease) = sessions::of(room, agent)? else {
        return Ok(());
    };
    let Some(client) = lease.process else {
        return Ok(());
    };
    if sessions::is_watched(&room.dir, &lease) {
        return Ok(());
    }
    let mut hold = SessionHold::take_lasting(room, agent, &lease.named())?;
    // A process of another namespace cannot be seen from here.
    while client.runs_for(WATCH_CHECK) == Some(true) {
        let is_ours = sessions::of(room, agent)?.is_some_and(|now| now.named().is(&lease.named()));
        if !is_ours || !claims::may_own(&room.dir, agent) {
            return Ok(());
        }
        hold.renew(room);
    }
    if client.lives() == Some(false) {
        hold.leave(Stamp::now());
    }
    Ok(())
}
