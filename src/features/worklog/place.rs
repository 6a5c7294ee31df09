//! The place of the worklog and its sources. The place is below the room's parent directory, and never in the room.

use super::head;
use crate::base::error::{Error, Result};
use crate::base::hash::{hash, hex};
use crate::disk::Dir;
use crate::log::state::RoomState;
use crate::room::registry::Registry;
use crate::router::projections::ProjectionView;
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// The place and the sources of the worklog.
pub(super) struct WorklogTarget<'a> {
    pub(super) dir: Dir,
    pub(super) name: OsString,
    pub(super) path: &'a str,
    pub(super) room: &'a Dir,
    /// The room's id.
    pub(super) id: &'a str,
    pub(super) state: &'a RoomState,
    pub(super) registry: &'a Registry,
}

/// The path in the settings. Empty if the worklog is off.
pub(super) fn worklog_path<'a>(view: &ProjectionView<'a>) -> &'a str {
    view.settings().worklog.as_deref().unwrap_or_default()
}

impl<'a> WorklogTarget<'a> {
    pub(super) fn of(view: &ProjectionView<'a>) -> Result<WorklogTarget<'a>> {
        let (room, path) = (view.room(), worklog_path(view));
        let (dir, name) = open(room, path)?;
        let id = view.state.room.as_deref().unwrap_or("-");
        let (state, registry) = (view.state, view.registry());
        Ok(WorklogTarget {
            dir,
            name,
            path,
            room,
            id,
            state,
            registry,
        })
    }

    pub(super) fn head(&self, decisions: &[String]) -> (Vec<u8>, String) {
        let head = head::head(self.id, self.registry, self.state, decisions);
        let hash = hex(&hash(&head));
        (head, hash)
    }
}

/// Opens the directory of the worklog. No symbolic link on the way is followed.
pub(super) fn open(room: &Dir, path: &str) -> Result<(Dir, OsString)> {
    let path = Path::new(path);
    let name = path.file_name().unwrap_or(OsStr::new(path)).to_owned();
    let mut dir = room
        .above()?
        .ok_or_else(|| rejected("the room has no parent directory for the worklog"))?;
    let own = room.meta()?;
    for part in path.parent().into_iter().flat_map(Path::components) {
        dir = dir.sub(part)?;
        if dir.meta()?.is_same_file(&own) {
            return Err(rejected("the worklog cannot be in the room"));
        }
    }
    Ok((dir, name))
}

fn rejected(what: &str) -> Error {
    Error::busy(what.to_owned(), "set `worklog` to another path")
}
