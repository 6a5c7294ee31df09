//! A small file that is rewritten in place, with its descriptor and disk space reserved in advance. It can report a
//! full disk on a full disk.

use super::Dir;
use crate::base::error::{Doing, Result};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// An open file that is rewritten as a whole. A reader can see a partial write, and must then read again.
pub struct NoteFile {
    file: File,
    path: PathBuf,
    held: usize,
}

impl NoteFile {
    /// How many bytes can always be written.
    pub const HELD: usize = 16 << 10;

    /// Opens or creates the file, reserves its space and clears its content.
    pub fn open(dir: &Dir, name: &str) -> Result<NoteFile> {
        let board = NoteFile { held: Self::HELD, ..NoteFile::keep(dir, name)? };
        board.write(b"")?;
        Ok(board)
    }

    /// Opens or creates the file without reserving space. Its content stays until the first write.
    pub fn keep(dir: &Dir, name: &str) -> Result<NoteFile> {
        Ok(NoteFile { file: dir.open_to_rewrite(name)?, path: dir.at(Path::new(name)), held: 0 })
    }

    /// Replaces the content, and fills the rest of a longer content with spaces. The write need not survive a kill,
    /// because no recovery depends on it.
    pub fn write(&self, text: &[u8]) -> Result<()> {
        let size = super::file_meta(&self.file).doing("look at", &self.path)?.size as usize;
        let mut padded = text.to_vec();
        padded.resize(size.max(self.held).max(text.len()), b' ');
        self.file.write_all_at(&padded, 0).doing("write", &self.path)
    }

    /// Was the file removed or replaced under its name?
    pub fn is_gone(&self) -> bool {
        super::file_meta(&self.file).is_ok_and(|meta| meta.links == 0)
    }
}
