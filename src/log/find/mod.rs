//! Fast search in the log: finding the position of a time or a number by reading few lines, and reading many lines at
//! once.
//!
//! A packed segment can be read only from its start. The search uses only the first fields of a line, so an incomplete
//! last line marks the end of the log.

mod scan;
mod line_filter;

pub use line_filter::LineFilter;
pub use scan::{CandidateLine, LogScan, ScannedBlock, scan};

use crate::base::clock::Stamp;
use crate::base::error::Result;
use crate::base::limits;
use crate::disk::Dir;
use crate::log;
use crate::log::{LogLines, LogPosition, RawLogLine, START};
use crate::message::record::Record;

/// The first fields of a line: its number and its accept time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordHead {
    /// The record's number.
    pub seq: u64,
    /// When it was accepted.
    pub at: Stamp,
}

/// Reads the first fields of a line without parsing the rest. `None` if the line does not begin like a record.
pub fn head(line: &[u8]) -> Option<RecordHead> {
    let rest = line.strip_prefix(b"{\"seq\":")?;
    let digits = rest
        .iter()
        .take(limits::SEQ_DIGITS)
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    let (seq, rest) = rest.split_at(digits);
    let rest = rest.strip_prefix(b",\"at\":\"")?;
    let end = rest.iter().take(64).position(|&byte| byte == b'"')?;
    Some(RecordHead {
        seq: std::str::from_utf8(seq).ok()?.parse().ok()?,
        at: Stamp::parse(std::str::from_utf8(&rest[..end]).ok()?)?,
    })
}

/// The position of the first record that was accepted at `at` or later, or the end of the log.
pub fn since(room: &Dir, at: Stamp) -> Result<LogPosition> {
    first(room, &|head| head.at >= at)
}

/// The line with this number, if its batch is complete.
pub fn by_seq(room: &Dir, seq: u64) -> Result<Option<RawLogLine>> {
    RecordFinder::new(room).line(seq)
}

/// The record with this number, if its batch is complete.
pub fn record_by_seq(room: &Dir, seq: u64) -> Result<Option<Record>> {
    Ok(by_seq(room, seq)?.and_then(|line| line.record().ok()))
}

/// Finds lines by their numbers. Numbers that follow each other closely are read in one run.
pub struct RecordFinder {
    room: Dir,
    /// The lines before this position are in complete batches.
    end: LogPosition,
    /// The segments, each with its first number if that was read.
    segments: Vec<(u32, Option<u64>)>,
    /// The number of the last line that was found, and the lines after it in its segment.
    last: Option<(u64, LogLines)>,
}

/// The largest distance of two numbers with a sequential read. A larger distance starts a new search.
const CLOSE_NUMBERS: u64 = 64;

impl RecordFinder {
    /// Finds lines of complete batches.
    pub fn new(room: &Dir) -> RecordFinder {
        RecordFinder::until(room, START)
    }

    /// As [`RecordFinder::new`], if the end of a complete batch is known.
    pub fn until(room: &Dir, end: LogPosition) -> RecordFinder {
        RecordFinder {
            room: room.clone(),
            end,
            segments: Vec::new(),
            last: None,
        }
    }

    /// The line with this number, if its batch is complete. `None` if its segment was moved away.
    pub fn line(&mut self, seq: u64) -> Result<Option<RawLogLine>> {
        if let Some((last, lines)) = self.last.take()
            && last < seq
            && seq - last <= CLOSE_NUMBERS
            && let Some(line) = self.first_from(seq, lines)?
        {
            return self.check(seq, line);
        }
        let mut next = self.segment_of(seq)?;
        while let Some((segment, start)) = next {
            let lines = log::read_segment(&self.room, start)?;
            if let Some(line) = self.first_from(seq, lines)? {
                return self.check(seq, line);
            }
            // The first line of the next segment may be damaged.
            let mut segments = self.segments.iter().map(|(number, _)| *number);
            let follows = segments.any(|number| number == segment + 1);
            next = follows.then(|| (segment + 1, LogPosition::start_of(segment + 1)));
        }
        Ok(None)
    }

    fn check(&mut self, seq: u64, line: RawLogLine) -> Result<Option<RawLogLine>> {
        if line.at >= self.end {
            self.end = log::end(&self.room)?;
        }
        let is_it = head(&line.bytes).is_some_and(|head| head.seq == seq);
        Ok((is_it && line.at < self.end).then_some(line))
    }

    /// The first of these lines with this number or a later one.
    fn first_from(&mut self, seq: u64, mut lines: LogLines) -> Result<Option<RawLogLine>> {
        while let Some(line) = lines.next().transpose()? {
            if !line.bytes.ends_with(b"\n") {
                break;
            }
            if let Some(found) = head(&line.bytes).filter(|head| head.seq >= seq) {
                self.last = Some((found.seq, lines));
                return Ok(Some(line));
            }
        }
        Ok(None)
    }

    /// The last segment that begins at or before this number, and a line in it shortly before the number.
    fn segment_of(&mut self, seq: u64) -> Result<Option<(u32, LogPosition)>> {
        if self.segments.is_empty() {
            let segments = log::segments(&self.room)?.into_iter();
            self.segments = segments.map(|number| (number, None)).collect();
        }
        let (mut low, mut high) = (0, self.segments.len());
        while low < high {
            let middle = low.midpoint(high);
            let (number, first) = &mut self.segments[middle];
            if first.is_none() {
                let line = log::read_one(&self.room, LogPosition::start_of(*number))?;
                *first = line.and_then(|line| head(&line.bytes)).map(|head| head.seq);
            }
            // A segment without a valid first line cannot be compared, so the search continues in the segment before it.
            if first.is_some_and(|first| first <= seq) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let Some((segment, _)) = low.checked_sub(1).map(|n| self.segments[n]) else {
            return Ok(None);
        };
        let start = start_before(&self.room, segment, &|head| head.seq > seq)?;
        Ok(Some((segment, start)))
    }
}

/// The number of the first record of a segment; 0 for an empty segment.
pub fn first_seq(room: &Dir, segment: u32) -> Result<u64> {
    let line = log::read_one(room, LogPosition::start_of(segment))?;
    let head = line.and_then(|line| head(&line.bytes));
    Ok(head.map_or(0, |head| head.seq))
}

/// The number of the last record of a complete batch; 0 for an empty log.
pub fn last_seq(room: &Dir) -> Result<u64> {
    let mut back = limits::TAIL_LOOK;
    loop {
        let from = log::before_end(room, back)?;
        let last = log::lines(room, from)?.last().transpose()?;
        if let Some(head) = last.and_then(|line| head(&line.bytes)) {
            return Ok(head.seq);
        }
        if from == START {
            return Ok(0);
        }
        back = back.saturating_mul(4);
    }
}

/// The position of the first line that satisfies `reached`. All later lines also satisfy it.
fn first(room: &Dir, reached: &dyn Fn(&RecordHead) -> bool) -> Result<LogPosition> {
    let Some(segment) = segment_before(room, reached)? else {
        return Ok(START);
    };
    let mut end = start_before(room, segment, reached)?;
    for line in log::read(room, end)? {
        let line = line?;
        if !line.bytes.ends_with(b"\n") || head(&line.bytes).is_some_and(|head| reached(&head)) {
            return Ok(line.at);
        }
        end = line.end();
    }
    Ok(end)
}

/// The last segment with a first line that does not satisfy `reached`.
fn segment_before(room: &Dir, reached: &dyn Fn(&RecordHead) -> bool) -> Result<Option<u32>> {
    let segments = log::segments(room)?;
    let (mut low, mut high) = (0, segments.len());
    while low < high {
        let middle = low.midpoint(high);
        let line = log::read_one(room, LogPosition::start_of(segments[middle]))?;
        // A segment without a valid first line cannot be compared, so the search continues in the segment before it.
        match line.and_then(|line| head(&line.bytes)) {
            Some(head) if !reached(&head) => low = middle + 1,
            _ => high = middle,
        }
    }
    Ok(low.checked_sub(1).map(|before| segments[before]))
}

/// The start of a line before the searched position. It is close to that position if the segment can be read from its
/// middle.
fn start_before(
    room: &Dir,
    segment: u32,
    reached: &dyn Fn(&RecordHead) -> bool,
) -> Result<LogPosition> {
    const NEAR: u64 = 64 << 10;
    let mut start = LogPosition::start_of(segment);
    let Some(mut high) = log::length(room, segment)? else {
        return Ok(start);
    };
    while high.saturating_sub(start.offset) > NEAR {
        let middle = start.offset.midpoint(high);
        let at = log::next_line(
            room,
            LogPosition {
                segment,
                offset: middle,
            },
        )?;
        let line = if at.segment == segment && at.offset < high {
            log::read_one(room, at)?
        } else {
            None
        };
        match line.and_then(|line| head(&line.bytes)) {
            Some(head) if !reached(&head) => start = at,
            _ => high = middle,
        }
    }
    Ok(start)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::layout;
    use crate::log::{Log, LogTip};
    use crate::message::record::{Event, Record};

    /// A log with this many records, one per second, with bodies of various sizes, in segments of at most `lines`
    /// lines.
    fn room(records: u64, lines: u64) -> (tempfile::TempDir, Dir) {
        let temporary = tempfile::tempdir().expect("a directory");
        let dir = Dir::open(temporary.path()).expect("it opens");
        let mut segment = 0;
        for seq in 1..=records {
            if (seq - 1) % lines == 0 {
                segment += 1;
            }
            let mut log = open(&dir, segment);
            let room = Some("x".repeat((seq as usize * 7919) % 3000));
            let mut record = Record::new(Event::Room { room });
            (record.seq, record.at, record.count) = (seq, stamp(seq).to_string(), Some(1));
            log.append(&record.line()).expect("it is written");
        }
        (temporary, dir)
    }

    fn open(dir: &Dir, segment: u32) -> Log {
        let there = dir
            .make(layout::LOG)
            .and_then(|log| log.stat(layout::segment(segment)))
            .expect("a directory");
        let end = LogPosition {
            segment,
            offset: there.map_or(0, |meta| meta.size),
        };
        Log::open(
            dir,
            LogTip {
                end,
                ..LogTip::NONE
            },
        )
        .expect("it opens")
    }

    fn stamp(seq: u64) -> Stamp {
        Stamp::from_micros(1_800_000_000_000_000 + seq as i64 * 1_000_000)
    }

    fn seq_at(dir: &Dir, at: LogPosition) -> Option<u64> {
        let line = log::read_one(dir, at).expect("it is read")?;
        head(&line.bytes).map(|head| head.seq)
    }

    #[test]
    fn every_number_and_every_time_is_found_in_one_segment_and_in_many() {
        for (records, lines) in [(1, 1), (150, 1000), (60, 13), (12, 1)] {
            let (_kept, dir) = room(records, lines);
            for seq in 1..=records {
                let line = by_seq(&dir, seq).expect("it is read").expect("it is there");
                assert_eq!(
                    head(&line.bytes),
                    Some(RecordHead {
                        seq,
                        at: stamp(seq)
                    })
                );
                let found = [-1, 0, 1].map(|micros| {
                    let near = Stamp::from_micros(stamp(seq).micros() + micros);
                    seq_at(&dir, since(&dir, near).expect("it is read"))
                });
                assert_eq!(
                    found,
                    [Some(seq), Some(seq), (seq < records).then_some(seq + 1)]
                );
            }
            assert!(by_seq(&dir, 0).expect("it is read").is_none());
            assert!(by_seq(&dir, records + 1).expect("it is read").is_none());
        }
    }

    #[test]
    fn one_finder_finds_numbers_in_any_order() {
        for (records, lines) in [(300, 1000), (300, 13)] {
            let (_kept, dir) = room(records, lines);
            let mut finder = RecordFinder::new(&dir);
            for seq in (1..=records)
                .chain((1..=records).rev())
                .chain([7, 80, 144, 7, 7, 299, 300])
            {
                let line = finder.line(seq).expect("it is read").expect("it is there");
                assert_eq!(head(&line.bytes).map(|head| head.seq), Some(seq));
            }
            assert!(finder.line(records + 1).expect("it is read").is_none());
        }
    }

    #[test]
    fn an_empty_log_and_a_cut_last_line_are_no_failure() {
        let temporary = tempfile::tempdir().expect("a directory");
        let dir = Dir::open(temporary.path()).expect("it opens");
        assert_eq!(since(&dir, stamp(1)).expect("it is read"), START);
        assert!(by_seq(&dir, 1).expect("it is read").is_none());
        let (_kept, dir) = room(100, 1000);
        let mut log = open(&dir, 1);
        let end = log.end().expect("it has an end");
        log.append(b"{\"seq\":101,\"at\":\"2030-01-01T00:00:00.000000Z\",\"bat")
            .expect("it is written");
        assert!(by_seq(&dir, 101).expect("it is read").is_none());
        assert_eq!(since(&dir, stamp(101)).expect("it is read"), end);
        assert_eq!(
            by_seq(&dir, 100)
                .expect("it is read")
                .map(|line| line.end()),
            Some(end)
        );
    }

    #[test]
    fn the_last_bytes_begin_at_a_line() {
        let (_kept, dir) = room(300, 37);
        for bytes in [0, 1, 5_000, 100_000, 1 << 30] {
            let at = log::before_end(&dir, bytes).expect("it is read");
            let line = log::read_one(&dir, at).expect("it is read");
            assert!(
                line.is_none_or(|line| head(&line.bytes).is_some()),
                "{bytes}"
            );
        }
        assert_eq!(log::before_end(&dir, 1 << 30).expect("it is read"), START);
    }
}
