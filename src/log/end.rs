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
    Ok(LogTip::read(room)?.map_or(START, |tip| tip.end))
}

/// The end of the last complete batch that begins in a segment at a position or after it.
fn last_batch_end(room: &Dir, from: LogPosition) -> Result<Option<LogPosition>> {
    // A segment begins with a batch. Another position can be in the middle of a line and of a batch.
    let is_start = from.offset == 0;
    let first = if is_start {
        from
    } else {
        next_line(room, from)?
    };
    let (mut last, mut batch) = (None, is_start.then(ReadBatch::default));
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
            batch = Some(ReadBatch::default());
        }
    }
    Ok(last)
}

/// The lines of a batch that were read.
#[derive(Default, Clone, Copy)]
struct ReadBatch {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::layout;
    use crate::message::record::Event;

    /// A batch of this many records.
    fn batch(records: usize) -> Vec<u8> {
        let record = Record::new(Event::Receipts { origin: None });
        let mut lines = record.line().repeat(records);
        Record::end_batch(&mut lines, records);
        lines
    }

    /// The end of a log with these segments.
    fn end_of(segments: &[&[u8]]) -> LogPosition {
        let home = tempfile::tempdir().expect("a directory");
        let room = Dir::open(home.path()).expect("a room");
        let log = room.make(layout::LOG).expect("a log");
        for (number, bytes) in (1..).zip(segments) {
            log.create(layout::segment(number), bytes)
                .expect("a segment");
        }
        end(&room).expect("an end")
    }

    fn at(segment: u32, bytes: &[u8]) -> LogPosition {
        let offset = bytes.len() as u64;
        LogPosition { segment, offset }
    }

    #[test]
    fn the_log_ends_after_its_last_complete_batch() {
        let (one, two) = (batch(1), batch(3));
        let both = [&one[..], &two].concat();
        assert_eq!(end_of(&[]), START);
        assert_eq!(end_of(&[&both]), at(1, &both));
        for length in one.len()..both.len() {
            assert_eq!(end_of(&[&both[..length]]), at(1, &one), "{length}");
        }
        for length in 0..one.len() {
            assert_eq!(end_of(&[&one[..length]]), START, "{length}");
        }
    }

    #[test]
    fn a_damaged_last_batch_is_not_complete_and_an_earlier_one_is_passed_over() {
        let (one, two) = (batch(1), batch(2));
        let mut damaged = two.clone();
        damaged[..20].fill(0);
        let end = [&one[..], &damaged].concat();
        assert_eq!(end_of(&[&end]), at(1, &one));
        let middle = [&end[..], &one].concat();
        assert_eq!(end_of(&[&middle]), at(1, &middle));
    }

    #[test]
    fn a_batch_that_is_larger_than_the_first_look_is_found() {
        let large = batch(FIRST_LOOK as usize / 20);
        assert!(large.len() as u64 > 2 * FIRST_LOOK);
        let torn = [&large[..], &large[..large.len() - 1]].concat();
        assert_eq!(end_of(&[&torn]), at(1, &large));
    }

    #[test]
    fn the_log_ends_in_the_segment_before_one_without_a_complete_batch() {
        let one = batch(1);
        assert_eq!(end_of(&[&one, b""]), at(1, &one));
        assert_eq!(end_of(&[&one, &one[..9]]), at(1, &one));
        assert_eq!(end_of(&[&one, &one]), at(2, &one));
    }
}
