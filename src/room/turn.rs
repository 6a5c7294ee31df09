//! Turns: whoever copies a room holds its router still between two batches.

use crate::base::error::{Doing, Error, Result};
use crate::base::limits;
use crate::disk::{Dir, layout};
use std::fs::{File, TryLockError};
use std::time::{Duration, Instant};

/// A router's right to change the room. It is given up between batches, so that somebody else can have it.
pub struct Turn {
    room: Dir,
    lock: File,
    wanted: File,
    /// Since when somebody else has it.
    since: Option<Instant>,
}

/// The room held still: no router changes it while this lives.
pub struct Still {
    _wanted: File,
    _lock: File,
}

impl Turn {
    /// Waits so long for whoever holds the room still.
    pub fn new(room: &Dir, within: Duration) -> Result<Turn> {
        let (lock, wanted) = (room.lock_file(layout::TURN)?, room.lock_file(layout::TURN_WANTED)?);
        let mut turn = Turn { room: room.clone(), lock, wanted, since: None };
        while !turn.take(within)? {
            std::thread::sleep(limits::LOCK_LOOK);
        }
        Ok(turn)
    }

    /// Takes the turn if nobody wants the room still. Fails once somebody else has had it for `within`.
    pub fn take(&mut self, within: Duration) -> Result<bool> {
        let is_ours = match self.wanted.try_lock_shared() {
            Ok(()) => {
                self.wanted.unlock().doing("unlock", self.room.at(layout::TURN_WANTED))?;
                self.lock.try_lock()
            }
            held => held,
        };
        match is_ours {
            Ok(()) => {
                self.since = None;
                Ok(true)
            }
            Err(TryLockError::Error(e)) => Err(e).doing("lock", self.room.at(layout::TURN)),
            Err(TryLockError::WouldBlock) if self.since.get_or_insert_with(Instant::now).elapsed() < within => {
                Ok(false)
            }
            Err(TryLockError::WouldBlock) => {
                let held = self.room.locked(layout::TURN_WANTED, &self.wanted);
                let Error::Busy { what, cure } = held else { unreachable!("it is held") };
                Err(Error::Busy { what: format!("a backup holds the room still: {what}"), cure })
            }
        }
    }

    /// Gives it up.
    pub fn give(&self) -> Result<()> {
        self.lock.unlock().doing("unlock", self.room.at(layout::TURN))
    }
}

/// Holds a room still, once the batch that its router has in hand is through.
pub fn hold_still(room: &Dir) -> Result<Still> {
    let wanted = room.lock_within(layout::TURN_WANTED, limits::LOCK_WAIT)?;
    Ok(Still { _wanted: wanted, _lock: room.lock_within(layout::TURN, limits::LOCK_WAIT)? })
}
