//! A small file that is rewritten in place, its descriptor and its space held from the beginning: what says that the
//! disk is full must not need the disk.

use super::Dir;
use crate::base::error::{Doing, Result};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// An open file that is rewritten as a whole. A reader may catch it half-written, and has to read it again then.
pub struct Board {
    file: File,
    path: PathBuf,
    held: usize,
}

impl Board {
    /// How many bytes can be written whatever happens to the disk.
    pub const HELD: usize = 16 << 10;

    /// Opens the file, making it if there is none, and takes its space. What it said before is gone.
    pub fn open(dir: &Dir, name: &str) -> Result<Board> {
        let board = Board { held: Self::HELD, ..Board::keep(dir, name)? };
        board.write(b"")?;
        Ok(board)
    }

    /// Opens the file, making it if there is none, with no space of its own. What it said before stands until it is written.
    pub fn keep(dir: &Dir, name: &str) -> Result<Board> {
        Ok(Board { file: dir.open_to_rewrite(name)?, path: dir.at(Path::new(name)), held: 0 })
    }

    /// Gives it this text, with blanks behind it in the place of a longer one. Survives a kill or not; nobody acts on it.
    pub fn write(&self, text: &[u8]) -> Result<()> {
        let size = super::file_meta(&self.file).doing("look at", &self.path)?.size as usize;
        let mut padded = text.to_vec();
        padded.resize(size.max(self.held).max(text.len()), b' ');
        self.file.write_all_at(&padded, 0).doing("write", &self.path)
    }

    /// Does nobody find it under its name any more?
    pub fn is_gone(&self) -> bool {
        super::file_meta(&self.file).is_ok_and(|meta| meta.links == 0)
    }
}
