//! The newest few of many, for lists with a bound.

use crate::base::error::Result;
use crate::disk::Dir;
use crate::log::{self, LogPosition};
use std::collections::VecDeque;

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

/// The last `most` values that `scan` finds in a part of the log; without an end, up to the end of the log. Reads from the
/// end, and stops when it has them.
pub fn near_end<T, I: IntoIterator<Item = Result<T>>>(
    room: &Dir,
    begin: LogPosition,
    end: Option<LogPosition>,
    most: usize,
    scan: impl Fn(LogPosition, LogPosition) -> Result<I>,
) -> Result<Vec<T>> {
    let mut to = match end {
        Some(end) => end,
        None => log::end(room)?,
    };
    let (mut newest, mut size) = (Vec::new(), TAIL);
    loop {
        let from = begin.max(log::before(room, to, size)?);
        let mut found = last_of(scan(from, to)?, most - newest.len())?;
        found.append(&mut newest);
        newest = found;
        if newest.len() >= most || from == begin {
            return Ok(newest);
        }
        (to, size) = (from, size.saturating_mul(8));
    }
}
