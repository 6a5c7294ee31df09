//! The committed part of the log, for every reader except the router.
//!
//! A batch can be read while it is being written, or after its sync has failed. Such a batch may be lost, and with it
//! the messages that it accepts. So after each commit the router writes the end of the log into a note. A reader trusts
//! the log up to the noted end. It also trusts a batch that another batch follows, because the router starts a batch
//! only after the previous one is durable.

use super::{Line, Lines, Position, now, read, segments};
use crate::base::error::{Error, Result};
use crate::base::limits;
use crate::disk::failpoint::{self, Failpoint};
use crate::disk::{Dir, NoteFile, layout};
use crate::message::record::Record;

/// A reader that meets a note during a write reads it again.
const TRIES: usize = 3;

/// The router's note: the end of the committed log.
pub(super) struct Note(Option<NoteFile>);

impl Note {
    /// Opens the note. If it cannot be created, readers treat the room like one of an earlier version, which has no
    /// note.
    pub(super) fn open(room: &Dir) -> Note {
        let board = NoteFile::keep(room, layout::COMMITTED);
        Note(board.map_err(|e| tracing::debug!("{e}")).ok())
    }

    /// Notes that the log is committed up to `end`. Only readers depend on the note, so a failure is ignored.
    pub(super) fn write(&self, end: Position) {
        let Position { segment, offset } = end;
        // The position is written twice, so that a reader detects a partial note.
        let once = format!("{segment:010} {offset:020}");
        let text = [&once, " ", &once, "\n"].concat();
        if let Some(Err(e)) = self.0.as_ref().map(|board| board.write(text.as_bytes())) {
            tracing::debug!("{e}");
        }
    }

    fn read(room: &Dir) -> Result<Option<Position>> {
        if !failpoint::on(Failpoint::CommittedNote) {
            return Ok(None);
        }
        for _ in 0..TRIES {
            let Some(bytes) = room.read(layout::COMMITTED, limits::NOTE_BYTES)? else { return Ok(None) };
            let text = String::from_utf8_lossy(&bytes);
            let numbers: Vec<u64> = text.split_ascii_whitespace().filter_map(|word| word.parse().ok()).collect();
            if let [segment, offset, again, once_more] = numbers[..]
                && (segment, offset) == (again, once_more)
            {
                return Ok(u32::try_from(segment).ok().map(|segment| Position { segment, offset }));
            }
        }
        Ok(None)
    }
}

/// The end of the committed log. An incomplete last batch is not committed, and neither is a complete one that is not
/// yet known to be durable.
pub fn committed(room: &Dir) -> Result<Position> {
    for _ in 0..TRIES {
        let noted = Note::read(room)?;
        let end = now(room)?;
        match noted {
            Some(noted) if noted == end => return Ok(noted),
            // A router of an earlier version writes no note, and may have appended more.
            Some(noted) if noted < end => {
                if let Some(followed) = ends(room, noted)? {
                    return Ok(followed.followed.unwrap_or(noted));
                }
            }
            // The log was cut off, and recovery writes a new note.
            Some(_) => {}
            None => break,
        }
    }
    let mut back = limits::COMMITTED_LOOK;
    loop {
        let from = super::before_end(room, back)?;
        match ends(room, first_batch(room, from)?)? {
            // Without a note, as in a room of an earlier version, a complete batch counts as committed.
            Some(Ends { whole: Some(whole), .. }) => return Ok(whole),
            _ if from == super::START => return beginning(room),
            _ => back = back.saturating_mul(8),
        }
    }
}

/// The committed lines from `from` on. A line must begin at `from`.
pub fn lines(room: &Dir, from: Position) -> Result<Committed> {
    let end = committed(room)?;
    Ok(Committed { lines: read(room, from)?, end, room: room.clone() })
}

/// An iterator over committed lines, in the order of the log.
pub struct Committed {
    lines: Lines,
    end: Position,
    room: Dir,
}

impl Committed {
    /// The end of the committed lines. A later call can continue there.
    pub fn end(&self) -> Position {
        self.end
    }

    /// The lines with their records.
    pub fn records(self) -> impl Iterator<Item = Result<(Line, Record)>> {
        let room = self.room.clone();
        self.map(move |line| {
            let line = line?;
            match serde_json::from_slice(&line.bytes) {
                Ok(record) => Ok((line, record)),
                Err(e) => Err(Error::State {
                    path: super::path(&room, line.at.segment),
                    line: None,
                    what: format!("the line at byte {} is not a record: {e}", line.at.offset),
                    cure: "run `mailbag log verify`".into(),
                }),
            }
        })
    }
}

impl Iterator for Committed {
    type Item = Result<Line>;

    fn next(&mut self) -> Option<Result<Line>> {
        match self.lines.next()? {
            Ok(line) if line.at >= self.end => None,
            line => Some(line),
        }
    }
}

/// Ends of batches.
#[derive(Default)]
struct Ends {
    /// The end of the last complete batch.
    whole: Option<Position>,
    /// The end of the last complete batch that another batch follows.
    followed: Option<Position>,
}

/// Reads batches from the start of one. `None` if no batch begins at `from`. A damaged line counts as a batch of its
/// own, so that it hides no other batch.
fn ends(room: &Dir, from: Position) -> Result<Option<Ends>> {
    let (mut ends, mut missing) = (Ends::default(), 0);
    for line in read(room, from)? {
        let line = line?;
        let begins = line.bytes.starts_with(b"{\"seq\":");
        if line.at == from && !begins {
            return Ok(None);
        }
        let is_whole = line.bytes.ends_with(b"\n");
        let record = serde_json::from_slice::<Record>(&line.bytes).ok().filter(|_| is_whole);
        let count = record.and_then(|record| record.count);
        // A batch is committed if another batch begins after it, even an incomplete one.
        if missing == 0 && begins {
            ends.followed = ends.whole;
        }
        missing = count.unwrap_or(missing);
        if missing == 1 && is_whole {
            ends.whole = Some(line.end());
        }
        missing = missing.saturating_sub(1);
    }
    Ok(Some(ends))
}

/// The start of the first batch at or after a position, or the end of the log.
fn first_batch(room: &Dir, from: Position) -> Result<Position> {
    let mut at = from;
    for line in read(room, from)? {
        let line = line?;
        if serde_json::from_slice::<Record>(&line.bytes).is_ok_and(|record| record.count.is_some()) {
            return Ok(line.at);
        }
        at = line.end();
    }
    Ok(at)
}

/// The start of the log's first line.
fn beginning(room: &Dir) -> Result<Position> {
    let first = segments(room)?.first().copied();
    Ok(first.map_or(super::START, |segment| Position { segment, offset: 0 }))
}
