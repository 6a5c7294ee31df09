//! Appending to the log: append-only NDJSON segments, one complete batch at a time.

use super::Position;
use super::committed::Note;
use crate::base::error::Result;
use crate::disk::{self, Append, Dir, failpoint, layout};

/// The open end of the log. Only the holder of the room's lock may have one.
pub struct Log {
    dir: Dir,
    segment: u32,
    append: Append,
    note: Note,
    /// Is the segment's name durable?
    named: bool,
}

impl Log {
    /// Opens the log to append at `end`, the end of the committed log. Later bytes in this segment are cut off.
    pub fn open(room: &Dir, end: Position) -> Result<Log> {
        let dir = room.make(layout::LOG)?;
        let append = Append::open(&dir, &layout::segment(end.segment), Some(end.offset))?;
        let note = Note::open(room);
        note.write(end);
        // The content of the segment was made durable together with its name.
        Ok(Log { dir, segment: end.segment, append, note, named: end.offset > 0 })
    }

    /// The position of the next batch. If the current segment has exceeded its size limit, this starts a new one and
    /// makes its name durable: a batch must not be durable in a segment whose name is not.
    pub fn end(&mut self) -> Result<Position> {
        if self.append.length() >= failpoint::segment_bytes() {
            let append = Append::open(&self.dir, &layout::segment(self.segment + 1), None)?;
            self.dir.sync()?;
            (self.segment, self.append, self.named) = (self.segment + 1, append, true);
        }
        Ok(Position { segment: self.segment, offset: self.append.length() })
    }

    /// Appends all lines of a batch, or nothing.
    pub fn append(&mut self, lines: &[u8]) -> Result<()> {
        self.append.append(lines)
    }

    /// The commit point of a batch: makes the appended lines durable, if `durably` is set, and then shows them to
    /// readers.
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

/// Writes the last batch of the log again, from `from` to `end`, and makes it durable.
pub fn rewrite(room: &Dir, from: Position, end: Position) -> Result<()> {
    disk::rewrite(&room.sub(layout::LOG)?, &layout::segment(from.segment), from.offset..end.offset)
}
