//! The snapshot: a saved state with a digest, so that a start reads only the end of the log.
//!
//! It is a cache. A snapshot that is missing, damaged, of another format or that does not match the log is ignored, and
//! the state is built from the whole log.

use super::state::RoomState;
use crate::base::error::Result;
use crate::base::hash::{hash, hex};
use crate::disk::{Dir, layout};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The largest snapshot that is read.
const SNAPSHOT_MOST: u64 = 2 << 30;

/// The format of the state. A change of the meaning of a field needs another number.
const FORMAT: u32 = 2;

/// The content of the file, after a line with its digest.
#[derive(Serialize, Deserialize)]
struct Snapshot<T> {
    format: u32,
    state: T,
}

impl RoomState {
    /// Writes the index if it is due, and the snapshot. Returns the snapshot's size in bytes without the entries of the index.
    /// After a kill, either the old or the new snapshot exists.
    pub fn save(&mut self, room: &Dir) -> Result<u64> {
        self.write_index(room, layout::INDEX_DRAFT);
        let bytes = self.snapshot();
        room.replace(layout::SNAPSHOT, &bytes)?;
        Ok(bytes.len() as u64 - self.index.saved_bytes())
    }

    /// As [`RoomState::save`], beside a running router, and makes both durable. The log can then be read without the segments
    /// before this state.
    pub fn save_to_archive(&mut self, room: &Dir) -> Result<()> {
        self.fit_index(room)?;
        self.write_index(room, layout::ARCHIVED_INDEX_DRAFT);
        self.sync_index(room)?;
        room.sub(layout::LOG)?.sync()?;
        let [name, draft] = [layout::SNAPSHOT, layout::ARCHIVED_SNAPSHOT_DRAFT].map(Path::new);
        room.replace_by(name, draft, &self.snapshot())
    }

    fn snapshot(&self) -> Vec<u8> {
        let snapshot = Snapshot {
            format: FORMAT,
            state: self,
        };
        let body = serde_json::to_vec(&snapshot).expect("a state has only text keys");
        let mut file = hex(&hash(&body)).into_bytes();
        file.push(b'\n');
        file.extend(body);
        file
    }
}

/// The state in the snapshot, if the snapshot is intact and matches the log.
pub(super) fn load(room: &Dir) -> Result<Option<RoomState>> {
    let file = room.read(layout::SNAPSHOT, SNAPSHOT_MOST);
    let Some(state) = file.ok().flatten().and_then(|file| read(&file)) else {
        return Ok(None);
    };
    Ok(state.tip().is_in(room)?.then_some(state))
}

fn read(file: &[u8]) -> Option<RoomState> {
    let (digest, body) = (file.get(..64)?, file.get(65..)?);
    if hex(&hash(body)).as_bytes() != digest {
        return None;
    }
    let snapshot: Snapshot<RoomState> = serde_json::from_slice(body)
        .inspect_err(|e| tracing::debug!("{}: {e}", layout::SNAPSHOT))
        .ok()?;
    (snapshot.format == FORMAT).then_some(snapshot.state)
}
