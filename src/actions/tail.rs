//! The end of the log, followed: whole batches only, from some way back or from now on.

use crate::disk::Dir;
use crate::error::{Error, Result};
use crate::layout;
use crate::log::{self, Line, Position};
use crate::record::Record;
use crate::room::Room;

/// How far back the first look goes.
const FIRST_LOOK: u64 = 64 << 10;

/// A reader at the end of the log. A batch that is not whole yet is left until it is.
pub struct Tail {
    room: Dir,
    at: Position,
}

impl Tail {
    /// At the log's end: only what comes from now on is read.
    pub fn at_end(room: &Room) -> Result<Tail> {
        Tail::last(room, 0, |_| None::<()>).map(|(tail, _)| tail)
    }

    /// At the log's end, with the last `most` of what `pick` makes of the records before it, in order. Reads backward
    /// from the end, further and further, until there are enough.
    pub fn last<T>(room: &Room, most: usize, pick: impl Fn(Record) -> Option<T>) -> Result<(Tail, Vec<T>)> {
        let segments = log::segments(&room.dir)?;
        let Some((&first, &last)) = segments.first().zip(segments.last()) else {
            return Ok((Tail { room: room.dir.clone(), at: log::START }, Vec::new()));
        };
        let (mut segment, mut step) = (last, FIRST_LOOK);
        let mut offset = size(&room.dir, segment)?;
        loop {
            if offset == 0 && segment > first {
                segment = segments.iter().copied().filter(|&number| number < segment).max().unwrap_or(first);
                offset = size(&room.dir, segment)?;
            }
            offset = offset.saturating_sub(step);
            step = step.saturating_mul(4);
            let from = Position { segment, offset };
            let mut picked = std::collections::VecDeque::new();
            let end = read(&room.dir, from, offset > 0, |record| {
                picked.extend(pick(record));
                if picked.len() > most {
                    picked.pop_front();
                }
            })?;
            let is_all = segment == first && offset == 0;
            match end {
                Some(at) if picked.len() >= most || is_all => {
                    return Ok((Tail { room: room.dir.clone(), at }, picked.into()));
                }
                None if is_all => return Ok((Tail { room: room.dir.clone(), at: from }, Vec::new())),
                _ => {}
            }
        }
    }

    /// The records of every batch that has become whole since the last time.
    pub fn read(&mut self) -> Result<Vec<Record>> {
        let mut records = Vec::new();
        let end = read(&self.room, self.at, false, |record| records.push(record))?;
        self.at = end.unwrap_or(self.at);
        Ok(records)
    }
}

/// Gives every record of every whole batch from a position on, and says where the last such batch ends; `None` if there
/// is none. A position in the middle (`blindly`) has something before its first batch, which is passed over.
fn read(room: &Dir, from: Position, blindly: bool, mut give: impl FnMut(Record)) -> Result<Option<Position>> {
    let (mut end, mut batch, mut count) = (None, Vec::new(), 0);
    for line in log::read(room, from)? {
        let line = line?;
        if !line.bytes.ends_with(b"\n") {
            break;
        }
        let searches = blindly && end.is_none() && batch.is_empty();
        let record: Record = match serde_json::from_slice(&line.bytes) {
            Ok(record) => record,
            Err(_) if searches => continue,
            Err(e) => return Err(unreadable(room, &line, &e.to_string())),
        };
        match record.count {
            Some(first) if batch.is_empty() => count = first as usize,
            None if searches => continue,
            None if !batch.is_empty() => {}
            _ => return Err(unreadable(room, &line, "a batch begins in the middle of another")),
        }
        batch.push(record);
        if batch.len() >= count {
            batch.drain(..).for_each(&mut give);
            end = Some(line.end());
        }
    }
    Ok(end)
}

fn unreadable(room: &Dir, line: &Line, what: &str) -> Error {
    Error::State {
        path: room.at(layout::LOG),
        line: None,
        what: format!("segment {}, byte {}: not what a log has there: {what}", line.at.segment, line.at.offset),
        cure: "run `mailbag log verify`".into(),
    }
}

fn size(room: &Dir, segment: u32) -> Result<u64> {
    Ok(room.sub(layout::LOG)?.stat(layout::segment(segment))?.map_or(0, |meta| meta.size))
}
