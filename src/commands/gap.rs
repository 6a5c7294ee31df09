//! Gives up records that the log has lost, so that the room can be used again.

use crate::base::error::{Error, Result};
use crate::base::limits;
use crate::room::actor::require_person;
use crate::room::{LockAttempt, Room, RouterMode};
use crate::router::recover;

pub use crate::router::recover::LogLoss;

/// The records that the log has lost.
pub fn find_loss(room: &Room) -> Result<LogLoss> {
    recover::find_loss(room)?.ok_or_else(nothing_lost)
}

/// Records that a person gives up the lost records. Later records get numbers above all lost ones.
pub fn accept_gap(room: &Room) -> Result<LogLoss> {
    require_person("give up records of the log")?;
    match room.lock(RouterMode::Pass, limits::LOCK_WAIT)? {
        LockAttempt::Ours(lock) => recover::accept_gap(room, lock)?.ok_or_else(nothing_lost),
        LockAttempt::Theirs(holder) => Err(Error::busy(
            format!(
                "a router runs in {}, as process {}",
                room.dir.path().display(),
                holder.pid
            ),
            "stop it, then try again",
        )),
    }
}

fn nothing_lost() -> Error {
    Error::not_found(
        "the log has lost no record, as far as the room shows it",
        "`mailbag log verify` checks the whole log",
    )
}
