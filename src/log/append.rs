//! The log: append-only NDJSON segments. Writes whole batches, reads lines from a position on.

use super::Position;
use super::committed::Note;
use crate::base::error::Result;
use crate::disk::{self, Append, Dir, failpoint, layout};

/// The open end of the log. Only who holds the room's lock may have one.
pub struct Log {
    dir: Dir,
    segment: u32,
    append: Append,
    note: Note,
    /// Is the segment's name durable?
    named: bool,
}

impl Log {
    /// Opens the log to append from `end` on, up to which it is committed; what stands behind it in that segment is cut
    /// off.
    pub fn open(room: &Dir, end: Position) -> Result<Log> {
        let dir = room.make(layout::LOG)?;
        let append = Append::open(&dir, &layout::segment(end.segment), Some(end.offset))?;
        let note = Note::open(room);
        note.write(end);
        // What stands in it was made durable together with its name.
        Ok(Log { dir, segment: end.segment, append, note, named: end.offset > 0 })
    }

    /// Where the next batch will begin. Goes on to a new segment when this one has grown past its bound, and makes
    /// the new segment's name durable, so that no batch can be durable in a file that isn't.
    pub fn end(&mut self) -> Result<Position> {
        if self.append.length() >= failpoint::segment_bytes() {
            let append = Append::open(&self.dir, &layout::segment(self.segment + 1), None)?;
            self.dir.sync()?;
            (self.segment, self.append, self.named) = (self.segment + 1, append, true);
        }
        Ok(Position { segment: self.segment, offset: self.append.length() })
    }

    /// Appends a batch's lines, or nothing.
    pub fn append(&mut self, lines: &[u8]) -> Result<()> {
        self.append.append(lines)
    }

    /// Makes what was appended durable, where that is wanted: the commit point of a batch. Then readers are told of it.
    pub fn commit(&mut self, durably: bool) -> Result<()> {
        if durably {
            self.append.sync()?;
            if !self.named {
                self.dir.sync()?;
                self.named = true;
            }
        }
        self.note.write(Position { segment: self.segment, offset: self.append.length() });
        Ok(())
    }
}

/// Writes a batch that ends the log once more, from where it begins to `end`, and makes it durable.
pub fn rewrite(room: &Dir, from: Position, end: Position) -> Result<()> {
    disk::rewrite(&room.sub(layout::LOG)?, &layout::segment(from.segment), from.offset..end.offset)
}
