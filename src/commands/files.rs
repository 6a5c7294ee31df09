//! Finds files that a message or a command names.

use crate::base::error::{Error, Result};
use crate::disk::paths::PathQuestions;
use crate::room::Room;
use crate::room::settings::Settings;
use std::path::{Path, PathBuf};

/// The directory of the room's shared files.
pub fn context(room: &Room, settings: &Settings) -> PathBuf {
    room.dir.path().join(&settings.context)
}

/// A file that a person named. Links are followed.
pub fn find(file: &Path) -> Result<PathBuf> {
    file.real_path().map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => missing(file),
        _ => Error::Io {
            verb: "find",
            path: file.to_path_buf(),
            source: e,
        },
    })
}

/// The error for a file that does not exist.
pub(super) fn missing(file: &Path) -> Error {
    Error::not_found(format!("no file {}", file.display()), "check its path")
}
