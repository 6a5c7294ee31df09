//! A small file with one line, which is rewritten in place.

use super::fs::Open;
use super::{Dir, File};
use crate::base::error::{ErrorContext, Result};
use crate::base::limits;
use std::path::PathBuf;

/// An open file with one line. A reader can see a partial write, so the line must show that it is whole.
pub struct NoteFile {
    file: File,
    path: PathBuf,
}

impl NoteFile {
    /// Opens or creates the file. Its line stays until the first write.
    pub fn open(dir: &Dir, name: &str) -> Result<NoteFile> {
        let file = dir.open_file(name, Open::ChangeOrMake(dir.file_mode()), "open")?;
        Ok(NoteFile {
            file,
            path: dir.at(name),
        })
    }

    /// Replaces the line. The rest of a longer line stays after it. Needs no space on the disk, and is not synced.
    pub fn write(&self, line: &str) -> Result<()> {
        let line = format!("{line}\n");
        self.file
            .write_all_at(line.as_bytes(), 0)
            .doing("write", &self.path)
    }

    /// The line. `None` if the file is missing.
    pub fn read(dir: &Dir, name: &str) -> Result<Option<String>> {
        let bytes = dir.read(name, limits::NOTE_BYTES)?;
        Ok(bytes.map(|bytes| {
            let text = String::from_utf8_lossy(&bytes);
            text.lines().next().unwrap_or_default().to_owned()
        }))
    }
}
