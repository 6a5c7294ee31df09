//! A new file that is written under a temporary name, read back, and then moved to its final name.

use super::directory::synced;
use super::{Dir, File};
use crate::base::error::{Error, ErrorContext, Result};
use std::io::Write;

/// A file that is not complete yet. Dropping a draft removes the file. A kill leaves it under its temporary name.
pub struct DraftFile {
    dir: Dir,
    file: File,
    name: String,
    written: u64,
    placed: bool,
}

impl DraftFile {
    /// Creates the temporary file, never over another file.
    pub fn new(dir: &Dir, name: &str) -> Result<DraftFile> {
        let file = dir.create(name, b"")?;
        Ok(DraftFile {
            dir: dir.clone(),
            file,
            name: name.to_owned(),
            written: 0,
            placed: false,
        })
    }

    /// Writes a complete file under the temporary name, not yet durable. A lock shows that its writer is still running.
    pub fn write(dir: &Dir, name: &str, bytes: &[u8]) -> Result<DraftFile> {
        let mut draft = DraftFile::new(dir, name)?;
        // On a file system without locks, only the age of the draft shows that its writer has ended.
        let _ = draft.file.try_lock();
        draft.write_all(bytes).doing("write", draft.path())?;
        // The router does not take a file that is open for writing, so it is opened for reading. Closing it ended the lock.
        draft.file = dir.look(name)?;
        let _ = draft.file.try_lock();
        Ok(draft)
    }

    /// Makes the content durable and moves the draft to its final name. `Some` means that the file exists, but a power cut
    /// can remove it.
    pub fn put_synced(self, name: &str) -> Result<Option<Error>> {
        self.sync()?;
        let dir = self.dir.clone();
        self.place(name)?;
        Ok(dir.sync().err())
    }

    /// Removes the permissions that `mode` does not allow. A copy must not be more accessible than its source.
    pub fn narrow(&self, mode: u32) -> Result<()> {
        let own = self.file.meta().doing("look at", self.path())?.mode;
        self.file
            .set_mode(own & mode)
            .doing("set the permissions of", self.path())
    }

    /// The number of written bytes.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Makes the written content durable.
    pub fn sync(&self) -> Result<()> {
        synced(self.file.sync(), || self.dir.at(&self.name))
    }

    /// Opens the draft at its start, to read the content back.
    pub fn look(&self) -> Result<File> {
        self.dir.look(&self.name)
    }

    /// The path of the draft, for messages.
    pub fn path(&self) -> std::path::PathBuf {
        self.dir.at(&self.name)
    }

    /// Moves the draft to its final name, never over another file. After a kill, the file is complete under one of the
    /// two names. It survives a power cut once its directory is synced.
    pub fn place(mut self, name: &str) -> Result<()> {
        self.put(name)
    }

    /// As [`DraftFile::place`]. Returns `false` and keeps the draft if the name is already used.
    pub fn try_place(&mut self, name: &str) -> Result<bool> {
        match self.put(name) {
            Ok(()) => Ok(true),
            Err(e) if e.errno() == Some(libc::EEXIST) => Ok(false),
            Err(e) => Err(e),
        }
    }

    fn put(&mut self, name: &str) -> Result<()> {
        self.dir.rename(&self.name, &self.dir, name, "create")?;
        self.placed = true;
        Ok(())
    }
}

impl Write for DraftFile {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.written += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Drop for DraftFile {
    fn drop(&mut self) {
        if !self.placed {
            let _ = self.dir.remove(&self.name);
        }
    }
}
