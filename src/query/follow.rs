//! Follows the log, from now on or from the last few records.

use super::newest::last_of;
use crate::base::error::Result;
use crate::base::limits;
use crate::disk::Dir;
use crate::log;
use crate::log::{BatchLines, LogPosition};
use crate::message::record::Record;
use crate::room::Room;

/// The bytes of records that a follower of the log reads in one step; more only for a single record.
const FOLLOWED_BYTES: usize = 256 << 10;

/// A reader at the end of the log.
pub struct LogFollower {
    room: Dir,
    at: LogPosition,
    part: FollowedPart,
}

/// The part of the log that a follower reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FollowedPart {
    /// Every complete batch.
    Complete,
    /// Only records that a power cut cannot remove.
    Synced,
}

impl LogFollower {
    /// Starts at the end of the log: reads only new records.
    pub fn at_end(room: &Room) -> Result<LogFollower> {
        Ok(LogFollower {
            room: room.dir.clone(),
            at: log::end(&room.dir)?,
            part: FollowedPart::Complete,
        })
    }

    /// Starts at a position: reads only later records.
    pub fn at(room: &Room, at: LogPosition) -> LogFollower {
        LogFollower {
            room: room.dir.clone(),
            at,
            part: FollowedPart::Complete,
        }
    }

    /// Starts at a position: reads only later records that are known to be durable. Each command that reports a message
    /// as accepted reads its record here.
    pub fn of_synced(room: &Room, at: LogPosition) -> LogFollower {
        LogFollower {
            part: FollowedPart::Synced,
            ..LogFollower::at(room, at)
        }
    }

    /// Starts after the record with this number; with 0, at the start of the log. `None` if the record does not exist.
    pub fn after(room: &Room, seq: u64) -> Result<Option<LogFollower>> {
        if seq == 0 {
            return Ok(Some(LogFollower::at(room, log::START)));
        }
        Ok(log::find::by_seq(&room.dir, seq)?.map(|line| LogFollower::at(room, line.end())))
    }

    /// Starts at the end of the log and returns the last `most` items that `pick` makes of earlier records, in log order.
    /// Reads backward from the end in growing steps until there are enough.
    pub fn last<T>(
        room: &Room,
        most: usize,
        pick: impl Fn(Record) -> Option<T>,
    ) -> Result<(LogFollower, Vec<T>)> {
        let mut back = limits::TAIL_LOOK;
        loop {
            let from = log::before_end(&room.dir, back)?;
            let lines = log::lines(&room.dir, from)?;
            let follower = LogFollower {
                room: room.dir.clone(),
                at: lines.end(),
                part: FollowedPart::Complete,
            };
            let records = lines
                .records()
                .filter_map(|entry| entry.map(|(_, record)| pick(record)).transpose());
            let picked = last_of(records, most)?;
            if picked.len() >= most || from == log::START {
                return Ok((follower, picked));
            }
            back = back.saturating_mul(4);
        }
    }

    fn lines(&self) -> Result<BatchLines> {
        match self.part {
            FollowedPart::Complete => log::lines(&self.room, self.at),
            FollowedPart::Synced => log::lines_until(&self.room, self.at, log::synced(&self.room)?),
        }
    }

    /// The records since the last call.
    pub fn read(&mut self) -> Result<Vec<Record>> {
        let lines = self.lines()?;
        let end = lines.end();
        let new = lines
            .records()
            .map(|entry| entry.map(|(_, record)| record))
            .collect::<Result<_>>()?;
        self.at = self.at.max(end);
        Ok(new)
    }

    /// At most `most` of the records since the last call, the oldest first. Ends earlier after a record that
    /// makes them large, so that a reader needs little memory. The next call continues after them.
    pub fn read_some(&mut self, most: usize) -> Result<Vec<Record>> {
        let (mut new, mut size) = (Vec::new(), 0);
        for entry in self.lines()?.records().take(most) {
            let (line, record) = entry?;
            self.at = line.end();
            size += line.bytes.len();
            new.push(record);
            if size >= FOLLOWED_BYTES {
                break;
            }
        }
        Ok(new)
    }
}
