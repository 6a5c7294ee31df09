//! The end of the log, followed: what is committed, from some way back or from now on.

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
    /// At the log's end: only what comes from now on is read.
    pub fn at_end(room: &Room) -> Result<Follower> {
        Ok(Follower { room: room.dir.clone(), at: log::committed(&room.dir)? })
    }

    /// At the log's end, with the last `most` of what `pick` makes of the records before it, in order. Reads backward
    /// from the end, further and further, until there are enough.
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

    /// The records that were committed since the last time.
    pub fn read(&mut self) -> Result<Vec<Record>> {
        let lines = log::lines(&self.room, self.at)?;
        let end = lines.end();
        let new = lines.records().map(|entry| entry.map(|(_, record)| record)).collect::<Result<_>>()?;
        self.at = self.at.max(end);
        Ok(new)
    }
}
