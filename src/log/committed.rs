//! What of the log is committed, for whoever reads it beside the router.
//!
//! A batch that is just being written, or whose sync failed, can be read as any other, and says that messages were
//! accepted which may never be. So the router notes behind each commit where the log ends: a reader believes what stands
//! in front of the note, and batches that others follow, since none is begun before the last one is durable.

use super::{Line, Lines, Position, now, read, segments};
use crate::base::error::{Error, Result};
use crate::base::limits;
use crate::disk::{Board, Dir, layout};
use crate::message::record::Record;

/// Who reads while the note is being written reads it again.
const TRIES: usize = 3;

/// The router's note of where the committed log ends.
pub(super) struct Note(Option<Board>);

impl Note {
    /// Opens the note. A room in which it can't be made is read as one of an earlier version, which had none.
    pub(super) fn open(room: &Dir) -> Note {
        let board = Board::keep(room, layout::COMMITTED);
        Note(board.map_err(|e| tracing::debug!("{e}")).ok())
    }

    /// The log is committed up to here. Nothing depends on the note but what readers are told meanwhile.
    pub(super) fn write(&self, end: Position) {
        let Position { segment, offset } = end;
        // Twice, so that half a note is told from a whole one.
        let text = format!("{segment:010} {offset:020} {segment:010} {offset:020}\n");
        if let Some(Err(e)) = self.0.as_ref().map(|board| board.write(text.as_bytes())) {
            tracing::debug!("{e}");
        }
    }

    fn read(room: &Dir) -> Result<Option<Position>> {
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

/// Where the committed log ends: in front of a batch that is not whole, and of a whole one of which nothing shows yet that
/// it is durable.
pub fn committed(room: &Dir) -> Result<Position> {
    for _ in 0..TRIES {
        let noted = Note::read(room)?;
        let end = now(room)?;
        match noted {
            Some(noted) if noted == end => return Ok(noted),
            // A router that makes no notes may have gone on behind it.
            Some(noted) if noted < end => {
                if let Some(followed) = ends(room, noted)? {
                    return Ok(followed.followed.unwrap_or(noted));
                }
            }
            // The log was cut back: recovery makes a new note.
            Some(_) => {}
            None => break,
        }
    }
    let mut back = limits::COMMITTED_LOOK;
    loop {
        let from = super::before_end(room, back)?;
        match ends(room, first_batch(room, from)?)? {
            // Without a note, as in a room of an earlier version, a whole batch counts.
            Some(Ends { whole: Some(whole), .. }) => return Ok(whole),
            _ if from == super::START => return beginning(room),
            _ => back = back.saturating_mul(8),
        }
    }
}

/// The committed lines from a position on, at which a line begins.
pub fn lines(room: &Dir, from: Position) -> Result<Committed> {
    let end = committed(room)?;
    Ok(Committed { lines: read(room, from)?, end, room: room.clone() })
}

/// Committed lines, in the order of the log.
pub struct Committed {
    lines: Lines,
    end: Position,
    room: Dir,
}

impl Committed {
    /// Where they end: what comes later begins there.
    pub fn end(&self) -> Position {
        self.end
    }

    /// The record of each line, with the line.
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

/// Where batches end.
#[derive(Default)]
struct Ends {
    /// The last whole one.
    whole: Option<Position>,
    /// The last whole one that another follows.
    followed: Option<Position>,
}

/// Reads batches from the beginning of one on; `None` if none begins there. A damaged line counts as
/// one, so that it hides no other.
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
        // What is begun behind a batch shows that it is committed, even if it is cut short.
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

/// Where the first batch begins from a position on; the log's end if none does.
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

/// Where the log's first line begins.
fn beginning(room: &Dir) -> Result<Position> {
    let first = segments(room)?.first().copied();
    Ok(first.map_or(super::START, |segment| Position { segment, offset: 0 }))
}
