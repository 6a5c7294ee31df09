//! The end of the log, for every reader except the router: the end of the last complete batch.
//!
//! A batch can be complete before its sync has succeeded. A reader may show it, because a process that is killed loses
//! no complete batch. After a power cut, its messages may have other numbers. Only [`synced`] is final.

use super::{
    LogLines, LogPosition, LogTip, RawLogLine, START, length, next_line, read, read_segment,
    segments,
};
use crate::base::error::{Error, Result};
use crate::disk::Dir;
use crate::message::record::Record;

/// The number of bytes at the end of a segment that are read first; each further part is eight times larger.
const FIRST_LOOK: u64 = 16 << 10;

/// The end of the last complete batch. Bytes after it are being written, or were left by a kill.
pub fn end(room: &Dir) -> Result<LogPosition> {
    let segments = segments(room)?;
    for &segment in segments.iter().rev() {
        let start = LogPosition::start_of(segment);
        let length = length(room, segment)?.unwrap_or_default();
        let mut look = FIRST_LOOK;
        loop {
            let offset = length.saturating_sub(look);
            let from = LogPosition { segment, offset };
            if let Some(end) = last_batch_end(room, from)? {
                return Ok(end);
            }
            if from == start {
                break;
            }
            look = look.saturating_mul(8);
        }
    }
    Ok(segments
        .first()
        .map_or(START, |&first| LogPosition::start_of(first)))
}

/// The end of the part of the log that is known to be durable. A message after it may not be reported as accepted.
pub fn synced(room: &Dir) -> Result<LogPosition> {
    match LogTip::read(room)? {
        Some(tip) => Ok(tip.end.min(end(room)?)),
        None => Ok(START),
    }
}

/// The end of the last complete batch that begins in a segment at a position or after it.
fn last_batch_end(room: &Dir, from: LogPosition) -> Result<Option<LogPosition>> {
    // A segment begins with a batch. Another position can be in the middle of a line and of a batch.
    let is_start = from.offset == 0;
    let first = if is_start { from } else { next_line(room, from)? };
    let (mut last, mut batch) = (None, is_start.then(OpenBatch::default));
    for line in read_segment(room, first)? {
        let line = line?;
        let record = if line.bytes.ends_with(b"\n") {
            line.record().ok()
        } else {
            None
        };
        if let Some(batch) = &mut batch {
            batch.records += 1;
            batch.is_damaged |= record.is_none();
        }
        if let Some(count) = record.and_then(|record| record.count) {
            if batch.is_some_and(|batch| !batch.is_damaged && batch.records == count) {
                last = Some(line.end());
            }
            batch = Some(OpenBatch::default());
        }
    }
    Ok(last)
}

/// The lines of a batch that were read.
#[derive(Default, Clone, Copy)]
struct OpenBatch {
    records: u32,
    is_damaged: bool,
}

/// Reads the lines of complete batches from a position on. From [`START`], reading begins at the first existing
/// segment.
pub fn lines(room: &Dir, from: LogPosition) -> Result<BatchLines> {
    lines_until(room, from, end(room)?)
}

/// As [`lines`], up to a position.
pub fn lines_until(room: &Dir, from: LogPosition, end: LogPosition) -> Result<BatchLines> {
    Ok(BatchLines {
        lines: read(room, from)?,
        end,
        room: room.clone(),
    })
}

/// An iterator over lines of complete batches, in the order of the log.
pub struct BatchLines {
    lines: LogLines,
    end: LogPosition,
    room: Dir,
}

impl BatchLines {
    /// The end of the lines. A later call can continue there.
    pub fn end(&self) -> LogPosition {
        self.end
    }

    /// The lines with their records.
    pub fn records(self) -> impl Iterator<Item = Result<(RawLogLine, Record)>> {
        let room = self.room.clone();
        self.map(move |line| {
            let line = line?;
            match line.record() {
                Ok(record) => Ok((line, record)),
                Err(e) => Err(Error::state(
                    super::path(&room, line.at.segment),
                    format!("the line at byte {} is not a record: {e}", line.at.offset),
                    "run `mailbag log verify`",
                )),
            }
        })
    }
}

impl Iterator for BatchLines {
    type Item = Result<RawLogLine>;

    fn next(&mut self) -> Option<Result<RawLogLine>> {
        match self.lines.next()? {
            Ok(line) if line.at >= self.end => None,
            line => Some(line),
        }
    }
}
