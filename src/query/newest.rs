//! The newest few of many, for lists with a bound.

use crate::base::error::Result;
use crate::disk::Dir;
use crate::log::{self, LogPosition};
use std::collections::VecDeque;

/// The number of bytes that are read first for the newest few records; each further attempt reads eight times more.
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

/// The last `most` values that `scan` finds between a position and the end of the log. It usually reads only the end.
pub fn near_end<T, I: IntoIterator<Item = Result<T>>>(
    room: &Dir,
    begin: LogPosition,
    most: usize,
    scan: impl Fn(LogPosition) -> Result<I>,
) -> Result<Vec<T>> {
    let mut size = TAIL;
    loop {
        let from = begin.max(log::before_end(room, size)?);
        let newest = last_of(scan(from)?, most)?;
        if newest.len() >= most || from == begin {
            return Ok(newest);
        }
        size = size.saturating_mul(8);
    }
}
