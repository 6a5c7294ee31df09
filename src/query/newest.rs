//! Queries of the log: all values in a part of it, or the newest few, for lists with a bound.

use crate::base::error::Result;
use crate::disk::Dir;
use crate::log::find::{self, CandidateLine, LineFilter};
use crate::log::{self, LogPosition};
use std::collections::VecDeque;
use std::sync::Arc;

/// The number of bytes that are read first for the newest few records; each further part is eight times larger.
const TAIL: u64 = 1 << 20;

/// The last `most` values, in their order. Needs memory for these only.
pub fn last_of<T>(values: impl IntoIterator<Item = Result<T>>, most: usize) -> Result<Vec<T>> {
    let mut kept = VecDeque::new();
    for value in values {
        kept.push_back(value?);
        if kept.len() > most {
            kept.pop_front();
        }
    }
    Ok(kept.into())
}

/// A query of the log: the part to read, and the values to make from its lines.
pub struct LogQuery<T> {
    /// The room of the log.
    pub room: Dir,
    /// The start of the part.
    pub begin: LogPosition,
    /// The end of the part. `None` for the end of the log.
    pub end: Option<LogPosition>,
    /// Only lines that pass it are parsed.
    pub sieve: Option<LineFilter>,
    /// Makes a value from a line. Runs in several threads.
    pub take: Arc<LogLineReader<T>>,
}

/// Makes a value from a line, if the line is wanted.
pub type LogLineReader<T> = dyn Fn(CandidateLine<'_>) -> Option<T> + Send + Sync;

impl<T: Send + 'static> LogQuery<T> {
    /// The values in log order; with `last`, only the newest `last`. Passes the bytes of each block to `report`.
    pub fn values<'a>(
        self,
        last: Option<usize>,
        report: &'a dyn Fn(u64),
    ) -> Result<Box<dyn Iterator<Item = Result<T>> + 'a>> {
        Ok(match last {
            Some(most) => Box::new(self.newest(most, report)?.into_iter().map(Ok)),
            None => Box::new(self.scan(self.begin, self.end, report)?),
        })
    }

    /// The last `most` values. Reads from the end, and stops when it has them.
    fn newest(&self, most: usize, report: &dyn Fn(u64)) -> Result<Vec<T>> {
        let mut to = match self.end {
            Some(end) => end,
            None => log::end(&self.room)?,
        };
        let (mut newest, mut size) = (Vec::new(), TAIL);
        loop {
            let from = self.begin.max(log::before(&self.room, to, size)?);
            let part = self.scan(from, Some(to), report)?;
            let mut found = last_of(part, most - newest.len())?;
            found.append(&mut newest);
            newest = found;
            if newest.len() >= most || from == self.begin {
                return Ok(newest);
            }
            (to, size) = (from, size.saturating_mul(8));
        }
    }

    fn scan<'a>(
        &self,
        from: LogPosition,
        to: Option<LogPosition>,
        report: &'a dyn Fn(u64),
    ) -> Result<impl Iterator<Item = Result<T>> + use<'a, T>> {
        let take = self.take.clone();
        let blocks = find::scan(&self.room, from, to, self.sieve.clone(), move |line| {
            take(line)
        })?;
        Ok(blocks.values_seen_by(|block| report(block.bytes)))
    }
}
