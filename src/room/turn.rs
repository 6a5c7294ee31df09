//! Turns: a process that copies a room pauses its router between two batches.

use crate::base::error::{Error, ErrorContext, Result};
use crate::base::limits;
use crate::disk::{Dir, LockFile, layout};
use std::time::{Duration, Instant};

/// A router's right to change the room. The router releases it between batches, so that a backup can take it.
pub struct RoomTurn {
    room: Dir,
    lock: LockFile,
    wanted: LockFile,
    /// True if another process wanted to pause the room when the turn was released.
    is_wanted: bool,
    /// The time since another process has the turn.
    since: Option<Instant>,
}

/// The paused room: no router changes it while this value exists.
pub struct PausedRoom {
    _wanted: LockFile,
    _lock: LockFile,
}

impl RoomTurn {
    /// Waits for a process that has paused the room, at most `within`.
    pub fn new(room: &Dir, within: Duration) -> Result<RoomTurn> {
        let (lock, wanted) = (
            room.lock_file(layout::TURN)?,
            room.lock_file(layout::TURN_WANTED)?,
        );
        let mut turn = RoomTurn {
            room: room.clone(),
            lock,
            wanted,
            is_wanted: true,
            since: None,
        };
        while !turn.take(within)? {
            std::thread::sleep(limits::LOCK_LOOK);
        }
        Ok(turn)
    }

    /// Takes the turn. If another process wanted to pause the room when the turn was released, only after that process
    /// has ended. Fails after another process has had the turn for `within`.
    pub fn take(&mut self, within: Duration) -> Result<bool> {
        self.is_wanted = self.is_wanted && self.look_if_wanted()?;
        let is_ours = if self.is_wanted {
            Ok(false)
        } else {
            self.lock.try_lock()
        };
        match is_ours {
            Ok(true) => {
                self.since = None;
                Ok(true)
            }
            Err(e) => Err(e).doing_in("lock", self.room.path(), layout::TURN),
            Ok(false) if self.since.get_or_insert_with(Instant::now).elapsed() < within => {
                Ok(false)
            }
            Ok(false) => {
                let held = self.room.locked(layout::TURN_WANTED, &self.wanted);
                let Error::Busy { what, fix } = held else {
                    unreachable!("it is held")
                };
                Err(Error::busy(
                    format!("a backup has paused the room: {what}"),
                    fix,
                ))
            }
        }
    }

    /// Releases the turn. Looks here whether another process wants it, and not when it is taken again, because mail
    /// waits then.
    pub fn give(&mut self) -> Result<()> {
        self.is_wanted = self.look_if_wanted()?;
        self.lock
            .unlock()
            .doing_in("unlock", self.room.path(), layout::TURN)
    }

    fn look_if_wanted(&self) -> Result<bool> {
        match self.wanted.try_lock_shared() {
            Ok(true) => self
                .wanted
                .unlock()
                .doing_in("unlock", self.room.path(), layout::TURN_WANTED)
                .map(|()| false),
            Ok(false) => Ok(true),
            Err(e) => Err(e).doing_in("lock", self.room.path(), layout::TURN_WANTED),
        }
    }
}

/// Pauses a room after the router's current batch, or the next one.
pub fn pause(room: &Dir) -> Result<PausedRoom> {
    let wanted = room.lock_within(layout::TURN_WANTED, limits::LOCK_WAIT)?;
    Ok(PausedRoom {
        _wanted: wanted,
        _lock: room.lock_within(layout::TURN, limits::LOCK_WAIT)?,
    })
}
