//! Gives up records that the log has lost, so that the room can be used again.

use crate::base::error::{Error, Result};
use crate::base::limits;
use crate::room::actor::require_person;
use crate::room::{Locking, Mode, Room};
use crate::router::recover;

pub use crate::router::recover::Loss;

/// The records that the log has lost.
pub fn find_loss(room: &Room) -> Result<Loss> {
    recover::find_loss(room)?.ok_or_else(nothing_lost)
}

/// Records that a person gives up the lost records. Later records get numbers above all lost ones.
pub fn accept_gap(room: &Room) -> Result<Loss> {
    require_person("give up records of the log")?;
    match room.lock(Mode::Pass, limits::LOCK_WAIT)? {
        Locking::Ours(lock) => recover::accept_gap(room, lock)?.ok_or_else(nothing_lost),
        Locking::Closed(e) => Err(e),
        Locking::Theirs(holder) => Err(Error::Busy {
            what: format!(
                "a router runs in {}, as process {}",
                room.dir.path().display(),
                holder.pid
            ),
            cure: "stop it, then try again".into(),
        }),
    }
}

fn nothing_lost() -> Error {
    Error::NotFound {
        what: "the log has lost no record, as far as the room shows it".into(),
        cure: "`mailbag log verify` checks the whole log".into(),
    }
}
