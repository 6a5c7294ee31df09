//! Reading lines of the log, from `log/` or from the archive.

use super::segments::{self, LogSegment};
use crate::base::error::Result;
use crate::base::hash::{Hash, hash};
use crate::base::limits;
use crate::disk::{Dir, layout};
use crate::message::record::Record;
use serde::{Deserialize, Serialize};
use std::io::{BufRead, BufReader, Read};

/// A position in the log: a segment and a byte in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LogPosition {
    /// The segment's number, from 1.
    pub segment: u32,
    /// The first byte of a line, or the length of the segment.
    pub offset: u64,
}

impl LogPosition {
    /// The start of a segment.
    pub const fn start_of(segment: u32) -> LogPosition {
        LogPosition { segment, offset: 0 }
    }
}

/// The start of the log.
pub const START: LogPosition = LogPosition::start_of(1);

/// A line of the log, with its newline.
pub struct RawLogLine {
    /// The position of its first byte.
    pub at: LogPosition,
    /// Its bytes. An incomplete last line has no newline.
    pub bytes: Vec<u8>,
}

impl RawLogLine {
    /// The record of the line. An error if the line is not a record.
    pub fn record(&self) -> serde_json::Result<Record> {
        serde_json::from_slice(&self.bytes)
    }

    /// The position of the next line.
    pub fn end(&self) -> LogPosition {
        LogPosition {
            segment: self.at.segment,
            offset: self.at.offset + self.bytes.len() as u64,
        }
    }

    /// The hash that the next line must contain.
    pub fn hash(&self) -> Hash {
        hash(&self.bytes)
    }
}

/// The buffer, in bytes, to read one line: most lines are shorter.
const ONE_LINE: usize = 4 << 10;
/// The buffer, in bytes, to read many.
const MANY_LINES: usize = 64 << 10;

/// The numbers of all segments, in order, archived or not.
pub fn segments(room: &Dir) -> Result<Vec<u32>> {
    segments::from(room, START.segment)
}

/// Reads the lines from `from` to the end of the log, archived segments included. From [`START`], reading begins at the
/// first existing segment, because the owner may have moved the archive away.
pub fn read(room: &Dir, from: LogPosition) -> Result<LogLines> {
    let mut lines = LogLines::of(room, segments::from(room, from.segment)?, from);
    lines.wanted = (from != START).then_some(from.segment);
    Ok(lines)
}

/// Reads the lines from `from` to the end of its segment. A missing segment has no lines.
pub fn read_segment(room: &Dir, from: LogPosition) -> Result<LogLines> {
    let mut lines = LogLines::of(room, Vec::new(), from);
    if let Some(segment) = LogSegment::open(room, from.segment)? {
        lines.begin(segment, from, MANY_LINES)?;
    }
    Ok(lines)
}

/// Reads all lines of the log. The first segment must exist.
pub fn read_whole(room: &Dir) -> Result<LogLines> {
    let mut lines = LogLines::of(room, segments(room)?, START);
    lines.wanted = Some(START.segment);
    Ok(lines)
}

/// The start of a line with about this many bytes of log after it, or the start of the log.
pub fn before_end(room: &Dir, bytes: u64) -> Result<LogPosition> {
    before(room, LogPosition::start_of(u32::MAX), bytes)
}

/// The start of a line with about this many bytes of log between it and another line, or the start of the log.
pub fn before(room: &Dir, end: LogPosition, bytes: u64) -> Result<LogPosition> {
    let mut left = bytes;
    let mut segments = segments(room)?;
    segments.retain(|&segment| LogPosition::start_of(segment) < end);
    for &segment in segments.iter().rev() {
        let length = length(room, segment)?.map(|length| {
            if segment == end.segment {
                length.min(end.offset)
            } else {
                length
            }
        });
        match length {
            Some(length) if length > left => {
                return next_line(
                    room,
                    LogPosition {
                        segment,
                        offset: length - left,
                    },
                );
            }
            // The unpacked size of an archived segment is not known before it is read.
            None if left <= limits::SEGMENT_BYTES => return Ok(LogPosition::start_of(segment)),
            length => left = left.saturating_sub(length.unwrap_or(limits::SEGMENT_BYTES)),
        }
    }
    Ok(START)
}

/// The start of the first line after a position, which may be in the middle of a line.
pub fn next_line(room: &Dir, within: LogPosition) -> Result<LogPosition> {
    Ok(read_one(room, within)?.map_or(within, |rest| rest.end()))
}

/// The length of a segment in `log/`. `None` if the segment is archived.
pub fn length(room: &Dir, segment: u32) -> Result<Option<u64>> {
    Ok(room
        .sub(layout::LOG)?
        .stat(layout::segment(segment))?
        .map(|meta| meta.size))
}

/// The line at a position.
pub fn read_one(room: &Dir, at: LogPosition) -> Result<Option<RawLogLine>> {
    line_at(room, LogSegment::open(room, at.segment)?, at)
}

/// The record at a position. `None` if no line begins there, or if the line is not a record.
pub fn read_record(room: &Dir, at: LogPosition) -> Result<Option<Record>> {
    Ok(read_one(room, at)?.and_then(|line| line.record().ok()))
}

/// The line at a position. `None` if its segment is archived.
pub fn read_live(room: &Dir, at: LogPosition) -> Result<Option<RawLogLine>> {
    line_at(room, LogSegment::open_live(room, at.segment)?, at)
}

fn line_at(room: &Dir, segment: Option<LogSegment>, at: LogPosition) -> Result<Option<RawLogLine>> {
    let Some(segment) = segment else {
        return Ok(None);
    };
    let mut lines = LogLines::of(room, Vec::new(), at);
    lines.begin(segment, at, ONE_LINE)?;
    lines.next().transpose()
}

/// Reads records in their order: one that follows is read without opening its segment again.
pub struct RecordReader {
    lines: LogLines,
    last: Option<(LogPosition, Record)>,
}

impl RecordReader {
    /// Nothing is opened yet.
    pub fn of(room: &Dir) -> RecordReader {
        RecordReader {
            lines: LogLines::of(room, Vec::new(), START),
            last: None,
        }
    }

    /// The record at a position. `None` if no line begins there, or if the line is not a record.
    pub fn at(&mut self, at: LogPosition) -> Result<Option<&Record>> {
        if self.last.as_ref().is_none_or(|(known, _)| *known != at) {
            self.last = self.read(at)?.map(|record| (at, record));
        }
        Ok(self.last.as_ref().map(|(_, record)| record))
    }

    fn read(&mut self, at: LogPosition) -> Result<Option<Record>> {
        if !self.lines.skip_to(at)? {
            let Some(segment) = LogSegment::open(&self.lines.room, at.segment)? else {
                return Ok(None);
            };
            self.lines.begin(segment, at, MANY_LINES)?;
        }
        Ok(self
            .lines
            .next()
            .transpose()?
            .and_then(|line| line.record().ok()))
    }
}

/// An iterator over the log's lines.
pub struct LogLines {
    room: Dir,
    /// The segments still to be read, in reverse order.
    segments: Vec<u32>,
    /// The number of the segment that must follow.
    wanted: Option<u32>,
    skip: LogPosition,
    open: Option<(BufReader<LogSegment>, LogPosition)>,
}

impl LogLines {
    fn of(room: &Dir, mut segments: Vec<u32>, skip: LogPosition) -> LogLines {
        segments.reverse();
        LogLines {
            room: room.clone(),
            segments,
            wanted: None,
            skip,
            open: None,
        }
    }

    fn open_next(&mut self) -> Option<Result<()>> {
        let number = self.segments.pop()?;
        if let Some(wanted) = self.wanted.filter(|&wanted| wanted != number) {
            self.segments.clear();
            return Some(Err(segments::missing(&self.room, wanted)));
        }
        self.wanted = number.checked_add(1);
        let offset = if number == self.skip.segment {
            self.skip.offset
        } else {
            0
        };
        let opened = match LogSegment::open(&self.room, number) {
            Ok(Some(segment)) => self.begin(
                segment,
                LogPosition {
                    segment: number,
                    offset,
                },
                MANY_LINES,
            ),
            Ok(None) => Err(segments::missing(&self.room, number)),
            Err(e) => Err(e),
        };
        Some(opened)
    }

    /// Skips to a position in the open segment. Returns false if the position is not after the current one.
    fn skip_to(&mut self, to: LogPosition) -> Result<bool> {
        let Some((reader, at)) = &mut self.open else {
            return Ok(false);
        };
        if at.segment != to.segment || at.offset > to.offset {
            return Ok(false);
        }
        // Opening the segment again is then faster than reading on.
        if to.offset - at.offset > MANY_LINES as u64 && reader.get_ref().is_live() {
            return Ok(false);
        }
        let skipped = std::io::copy(
            &mut reader.by_ref().take(to.offset - at.offset),
            &mut std::io::sink(),
        );
        skipped.map_err(|e| reader.get_ref().failed(e))?;
        *at = to;
        Ok(true)
    }

    fn begin(&mut self, mut segment: LogSegment, at: LogPosition, buffer: usize) -> Result<()> {
        segment.skip(at.offset)?;
        self.open = Some((BufReader::with_capacity(buffer, segment), at));
        Ok(())
    }
}

impl Iterator for LogLines {
    type Item = Result<RawLogLine>;

    fn next(&mut self) -> Option<Result<RawLogLine>> {
        loop {
            let Some((reader, at)) = &mut self.open else {
                match self.open_next()? {
                    Ok(()) => continue,
                    Err(e) => return Some(Err(e)),
                }
            };
            let mut bytes = Vec::with_capacity(1024);
            // A damaged log could contain a line of any length. The size limit of a message limits the length of a
            // record.
            let most = crate::base::limits::MESSAGE_BYTES_MOST * 2;
            match reader.by_ref().take(most).read_until(b'\n', &mut bytes) {
                Ok(0) => {
                    let complete = reader.get_ref().complete(at.offset);
                    self.open = None;
                    if let Err(e) = complete {
                        self.segments.clear();
                        return Some(Err(e));
                    }
                }
                Ok(length) if length as u64 == most && bytes.last() != Some(&b'\n') => {
                    let path = &reader.get_ref().path;
                    let damaged = segments::damaged(
                        path,
                        &format!("the line at byte {} has no end", at.offset),
                    );
                    (self.open, self.segments) = (None, Vec::new());
                    return Some(Err(damaged));
                }
                Ok(_) => {
                    let line = RawLogLine { at: *at, bytes };
                    *at = line.end();
                    return Some(Ok(line));
                }
                Err(e) => {
                    let failed = reader.get_ref().failed(e);
                    (self.open, self.segments) = (None, Vec::new());
                    return Some(Err(failed));
                }
            }
        }
    }
}
