//! A small file that is rewritten in place.

use super::fs::Open;
use super::{Dir, File};
use crate::base::error::{ErrorContext, Result};
use std::cell::Cell;
use std::path::PathBuf;

/// An open file that is rewritten as a whole. A reader can see a partial write, and must then read again.
pub struct NoteFile {
    file: File,
    path: PathBuf,
    /// The length in bytes. Only the holder of the room's lock writes to the file.
    size: Cell<usize>,
}

impl NoteFile {
    /// Opens or creates the file. Its content stays until the first write.
    pub fn open(dir: &Dir, name: &str) -> Result<NoteFile> {
        let file = dir.open_file(name, Open::ChangeOrMake(dir.file_mode()), "open")?;
        let path = dir.at(name);
        let size = file.meta().doing("look at", &path)?.size as usize;
        Ok(NoteFile {
            file,
            path,
            size: Cell::new(size),
        })
    }

    /// Replaces the content, and fills the rest of a longer content with spaces. The write need not survive a kill,
    /// because no recovery depends on it.
    pub fn write(&self, text: &[u8]) -> Result<()> {
        self.size.set(self.size.get().max(text.len()));
        let mut padded = text.to_vec();
        padded.resize(self.size.get(), b' ');
        self.file
            .write_all_at(&padded, 0)
            .doing("write", &self.path)
    }
}
