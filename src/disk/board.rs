//! A small file that is rewritten in place, with its descriptor and disk space reserved in advance. It can report a
//! full disk on a full disk.

use super::Dir;
use crate::base::error::{ErrorContext, Result};
use std::cell::Cell;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

/// An open file that is rewritten as a whole. A reader can see a partial write, and must then read again.
pub struct NoteFile {
    file: File,
    path: PathBuf,
    held: usize,
    /// The length in bytes. Only the holder of the room's lock writes to the file.
    size: Cell<usize>,
}

impl NoteFile {
    /// The reserved space in bytes: a full disk does not prevent a write of this length.
    pub const HELD: usize = 16 << 10;

    /// Opens or creates the file and reserves its space. Its content stays until the first write.
    pub fn open(dir: &Dir, name: &str) -> Result<NoteFile> {
        let board = NoteFile {
            held: Self::HELD,
            ..NoteFile::keep(dir, name)?
        };
        if board.size.get() < board.held {
            board.write(b"")?;
        }
        Ok(board)
    }

    /// As [`NoteFile::open`], without reserving space.
    pub fn keep(dir: &Dir, name: &str) -> Result<NoteFile> {
        let (file, path) = (dir.open_to_rewrite(name)?, dir.at(name));
        let size = super::file_meta(&file).doing("look at", &path)?.size as usize;
        Ok(NoteFile {
            file,
            path,
            held: 0,
            size: Cell::new(size),
        })
    }

    /// Replaces the content, and fills the rest of a longer content with spaces. The write need not survive a kill,
    /// because no recovery depends on it.
    pub fn write(&self, text: &[u8]) -> Result<()> {
        self.file
            .write_all_at(&self.padded(text), 0)
            .doing("write", &self.path)
    }

    /// As [`NoteFile::write`], but does not write the same content again, so that the next sync has less work.
    pub fn update(&self, text: &[u8]) -> Result<()> {
        let wanted = self.padded(text);
        let mut present = vec![0; wanted.len()];
        match self.file.read_exact_at(&mut present, 0) {
            Ok(()) if present == wanted => Ok(()),
            _ => self.write(text),
        }
    }

    fn padded(&self, text: &[u8]) -> Vec<u8> {
        self.size
            .set(self.size.get().max(self.held).max(text.len()));
        let mut padded = text.to_vec();
        padded.resize(self.size.get(), b' ');
        padded
    }

    /// Returns true if the file was removed or replaced under its name.
    pub fn is_gone(&self) -> bool {
        super::file_meta(&self.file).is_ok_and(|meta| meta.links == 0)
    }
}
