//! Follows the committed log, from now on or from the last few records.

use crate::base::error::Result;
use crate::base::limits;
use crate::disk::Dir;
use crate::log;
use crate::log::Position;
use crate::message::record::Record;
use crate::room::Room;
use std::collections::VecDeque;

/// A reader at the end of the log.
pub struct Follower {
    room: Dir,
    at: Position,
}

impl Follower {
    /// Starts at the end of the log: reads only new records.
    pub fn at_end(room: &Room) -> Result<Follower> {
        Ok(Follower { room: room.dir.clone(), at: log::committed(&room.dir)? })
    }

    /// Starts at a position: reads only later records.
    pub fn at(room: &Room, at: Position) -> Follower {
        Follower { room: room.dir.clone(), at }
    }

    /// Starts at the end of the log and returns the last `most` items that `pick` makes of earlier records, in log order.
    /// Reads backward from the end in growing steps until there are enough.
    pub fn last<T>(room: &Room, most: usize, pick: impl Fn(Record) -> Option<T>) -> Result<(Follower, Vec<T>)> {
        let mut back = limits::TAIL_LOOK;
        loop {
            let from = log::before_end(&room.dir, back)?;
            let lines = log::lines(&room.dir, from)?;
            let follower = Follower { room: room.dir.clone(), at: lines.end() };
            let mut picked = VecDeque::new();
            for entry in lines.records() {
                picked.extend(pick(entry?.1));
                if picked.len() > most {
                    picked.pop_front();
                }
            }
            if picked.len() >= most || from == log::START {
                return Ok((follower, picked.into()));
            }
            back = back.saturating_mul(4);
        }
    }

    /// The records committed since the last call.
    pub fn read(&mut self) -> Result<Vec<Record>> {
        let lines = log::lines(&self.room, self.at)?;
        let end = lines.end();
        let new = lines.records().map(|entry| entry.map(|(_, record)| record)).collect::<Result<_>>()?;
        self.at = self.at.max(end);
        Ok(new)
    }
}
