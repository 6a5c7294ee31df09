//! `claims.json`: who owns which work, up to a record of the log. A reader that has to be exact adds the records after it.

use super::state::Claims;
use crate::base::error::Result;
use crate::base::hash::Hash;
use crate::base::{hex_hash, limits};
use crate::disk::{Dir, layout};
use crate::log::state::{self, ChangeSource, RoomState};
use crate::log::{LogPosition, find, lines};
use crate::message::record::Record;
use memchr::memmem::Finder;
use serde::{Deserialize, Serialize};

/// The last record that the file includes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ClaimsPosition {
    /// Its number.
    pub(super) seq: u64,
    /// The hash of its line.
    #[serde(with = "hex_hash")]
    pub(super) hash: Hash,
}

impl ClaimsPosition {
    /// The last record of a state.
    pub(super) fn of(state: &RoomState) -> ClaimsPosition {
        ClaimsPosition {
            seq: state.seq,
            hash: state.prev,
        }
    }

    /// The end of its line. `None` if the log does not have this record.
    fn end_in(&self, room: &Dir) -> Result<Option<LogPosition>> {
        let line = find::by_seq(room, self.seq)?;
        let line = line.filter(|line| line.hash() == self.hash);
        Ok(line.map(|line| line.end()))
    }
}

/// The content of the file, to write it.
#[derive(Serialize)]
struct ClaimsFile<'a> {
    #[serde(flatten)]
    position: ClaimsPosition,
    #[serde(flatten)]
    claims: &'a Claims,
}

/// The text of the file for this state.
pub(super) fn text(state: &RoomState) -> Vec<u8> {
    // A reader of the file judges no answers.
    let mut claims = super::of(state).clone();
    claims.closed.clear();
    let content = ClaimsFile {
        position: ClaimsPosition::of(state),
        claims: &claims,
    };
    let mut text = serde_json::to_vec_pretty(&content).expect("claims have only text keys");
    text.push(b'\n');
    text
}

/// The last record that the file includes. `None` without a file for this log.
pub(super) fn written(room: &Dir) -> Result<Option<ClaimsPosition>> {
    let Some(bytes) = room.read(layout::CLAIMS, limits::CLAIMS_BYTES)? else {
        return Ok(None);
    };
    match serde_json::from_slice::<ClaimsPosition>(&bytes) {
        Ok(position) if position.end_in(room)?.is_some() => Ok(Some(position)),
        _ => Ok(None),
    }
}

/// The claims as the committed log has them at this moment. Reads the file and the records after it, not the whole state.
pub fn owners(room: &Dir) -> Result<Claims> {
    let bytes = room
        .read(layout::CLAIMS, limits::CLAIMS_BYTES)
        .unwrap_or_else(|e| {
            tracing::debug!("{e}; the log is read instead");
            None
        });
    // Parsed twice: a single pass would buffer the whole file.
    if let Some(bytes) = bytes
        && let Ok(position) = serde_json::from_slice::<ClaimsPosition>(&bytes)
        && let Ok(mut claims) = serde_json::from_slice::<Claims>(&bytes)
        && let Some(end) = position.end_in(room)?
        && claims.follow(room, end)?
    {
        return Ok(claims);
    }
    // A room without changes of ownership has no file.
    Ok(super::of(&state::committed(room)?).clone())
}

impl Claims {
    /// Applies the records from a position on. Returns false if a change of the clock moves the times of all claims.
    fn follow(&mut self, room: &Dir, from: LogPosition) -> Result<bool> {
        let [changes, clock] = ["\"facts\":{\"claims\":", "\"clock\":"].map(Finder::new);
        for line in lines(room, from)? {
            let line = line?;
            if clock.find(&line.bytes).is_some() {
                return Ok(false);
            }
            if changes.find(&line.bytes).is_some()
                && let Ok(record) = line.record()
            {
                self.apply_record(&record);
            }
        }
        Ok(true)
    }

    fn apply_record(&mut self, record: &Record) {
        if let (Some(change), Some(name)) = (record.facts.claims.as_ref(), record.name()) {
            let source = ChangeSource {
                seq: record.seq,
                at: record.stamp(),
                from: &name.from,
                id: &name.id,
            };
            self.apply(change, source);
        }
    }
}
