//! The place of the worklog: below the room's parent directory, and never in the room.

use crate::base::error::{Error, Result};
use crate::disk::Dir;
use std::ffi::{OsStr, OsString};
use std::path::Path;

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
