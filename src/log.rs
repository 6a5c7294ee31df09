//! The log: append-only NDJSON segments. Writes whole batches, reads lines from a position on.

use crate::disk::{Append, Dir};
use crate::error::{Doing, Result};
use crate::record::{Hash, hash_line};
use crate::{fault, layout};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};

/// A place in the log: a segment, and a byte in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Position {
    /// The segment's number, from 1.
    pub segment: u32,
    /// The byte where a line begins, or the segment's end.
    pub offset: u64,
}

/// Where the log begins.
pub const START: Position = Position { segment: 1, offset: 0 };

/// The open end of the log. Only who holds the room's lock may have one.
pub struct Log {
    dir: Dir,
    segment: u32,
    append: Append,
}

impl Log {
    /// Opens the log to append from `end` on; what stands behind it in that segment is cut off.
    pub fn open(room: &Dir, end: Position) -> Result<Log> {
        let dir = room.make(layout::LOG)?;
        let append = Append::open(&dir, &layout::segment(end.segment), Some(end.offset))?;
        Ok(Log { dir, segment: end.segment, append })
    }

    /// Where the next batch will begin. Goes on to a new segment when this one has grown past its bound, and makes
    /// the new segment's name durable, so that no batch can be durable in a file that isn't.
    pub fn end(&mut self) -> Result<Position> {
        if self.append.length() >= fault::segment_bytes() {
            let append = Append::open(&self.dir, &layout::segment(self.segment + 1), None)?;
            self.dir.sync()?;
            (self.segment, self.append) = (self.segment + 1, append);
        }
        Ok(Position { segment: self.segment, offset: self.append.length() })
    }

    /// Appends a batch's lines, or nothing.
    pub fn append(&mut self, lines: &[u8]) -> Result<()> {
        self.append.append(lines)
    }

    /// Makes what was appended durable: the commit point of a batch.
    pub fn sync(&self) -> Result<()> {
        self.append.sync()
    }
}

/// A line of the log as it stands there, newline included.
pub struct Line {
    /// Where it begins.
    pub at: Position,
    /// Its bytes. A last line that was cut short has no newline.
    pub bytes: Vec<u8>,
}

impl Line {
    /// Where the next line begins.
    pub fn end(&self) -> Position {
        Position { segment: self.at.segment, offset: self.at.offset + self.bytes.len() as u64 }
    }

    /// The hash that the next line has to carry.
    pub fn hash(&self) -> Hash {
        hash_line(&self.bytes)
    }
}

/// The numbers of the log's segments, in order.
pub fn segments(room: &Dir) -> Result<Vec<u32>> {
    let dir = match room.sub(layout::LOG) {
        Err(e) if e.errno() == Some(libc::ENOENT) => return Ok(Vec::new()),
        dir => dir?,
    };
    let mut numbers = Vec::new();
    for entry in dir.list()? {
        numbers.extend(entry?.name.to_str().and_then(layout::segment_number));
    }
    numbers.sort_unstable();
    Ok(numbers)
}

/// Where the log ends at this moment, perhaps in the middle of a line that is just being written.
pub fn now(room: &Dir) -> Result<Position> {
    let Some(&segment) = segments(room)?.last() else { return Ok(START) };
    let written = room.sub(layout::LOG)?.stat(layout::segment(segment))?;
    Ok(Position { segment, offset: written.map_or(0, |meta| meta.size) })
}

/// Reads the log's lines from `from` on, over all following segments.
pub fn read(room: &Dir, from: Position) -> Result<Lines> {
    let mut segments = segments(room)?;
    segments.retain(|&number| number >= from.segment);
    segments.reverse();
    let dir = room.sub(layout::LOG).or_else(|_| room.make(layout::LOG))?;
    Ok(Lines { dir, segments, skip: from, open: None })
}

/// The one line at a position.
pub fn read_one(room: &Dir, at: Position) -> Result<Option<Line>> {
    read(room, at)?.next().transpose()
}

/// An iterator over the log's lines.
pub struct Lines {
    dir: Dir,
    /// Those still to be read, the next one last.
    segments: Vec<u32>,
    skip: Position,
    open: Option<(BufReader<File>, Position)>,
}

impl Lines {
    fn open_next(&mut self) -> Option<Result<()>> {
        let segment = self.segments.pop()?;
        let offset = if segment == self.skip.segment { self.skip.offset } else { 0 };
        let name = layout::segment(segment);
        let opened = self.dir.look(&name).and_then(|mut file| {
            file.seek(SeekFrom::Start(offset)).doing("read", self.dir.at(&name))?;
            Ok((BufReader::with_capacity(1 << 18, file), Position { segment, offset }))
        });
        Some(opened.map(|open| self.open = Some(open)))
    }
}

impl Iterator for Lines {
    type Item = Result<Line>;

    fn next(&mut self) -> Option<Result<Line>> {
        loop {
            let Some((reader, at)) = &mut self.open else {
                match self.open_next()? {
                    Ok(()) => continue,
                    Err(e) => return Some(Err(e)),
                }
            };
            let mut bytes = Vec::with_capacity(1024);
            // A damaged log could have a line of any length; a record is bounded by the message's bound.
            let most = crate::limits::MESSAGE_BYTES_MOST * 2;
            match reader.by_ref().take(most).read_until(b'\n', &mut bytes) {
                Ok(0) => self.open = None,
                Ok(_) => {
                    let line = Line { at: *at, bytes };
                    *at = line.end();
                    return Some(Ok(line));
                }
                Err(e) => return Some(Err(e).doing("read", self.dir.at(layout::segment(at.segment)))),
            }
        }
    }
}
