//! A file in the making: written under a temporary name, read back, and only then moved to its place.

use super::{Dir, Meta, access, system};
use crate::base::error::{Doing, Error, Result};
use rustix::fs::Mode;
use std::fs::File;
use std::io::Write;
use std::os::fd::AsFd;

/// A new file that nobody takes for whole yet. Dropped before it is in its place, it is removed; a kill leaves it under
/// its temporary name.
pub struct Draft {
    dir: Dir,
    file: File,
    name: String,
    written: u64,
    placed: bool,
}

impl Draft {
    /// Begins a file, never over another.
    pub fn new(dir: &Dir, name: &str) -> Result<Draft> {
        let file = dir.create(name, b"")?;
        Ok(Draft { dir: dir.clone(), file, name: name.to_owned(), written: 0, placed: false })
    }

    /// Takes from everybody what this mode does not allow: a copy is no more open than what it is of.
    pub fn narrow(&self, mode: u32) -> Result<()> {
        let own = super::file_meta(&self.file).doing("look at", self.path())?.mode & 0o777;
        let mode = rustix::fs::Mode::from_raw_mode((own & mode) as _);
        rustix::fs::fchmod(&self.file, mode).doing("set the permissions of", self.path())
    }

    /// How many bytes were written.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Gives it the permissions and the owner of another file, the owner where this process may.
    pub fn take_after(&self, meta: &Meta) -> Result<()> {
        let done = access::give(&self.file, meta.uid, Some(meta.gid))
            .and_then(|()| rustix::fs::fchmod(&self.file, Mode::from_raw_mode((meta.mode & 0o777) as _)));
        done.doing("set the permissions of", self.path())
    }

    /// Makes what was written durable.
    pub fn sync(&self) -> Result<()> {
        system::sync_file(self.file.as_fd()).map_err(|source| Error::Sync { path: self.dir.at(&self.name), source })
    }

    /// Opens it from its beginning, to read back what was written.
    pub fn look(&self) -> Result<File> {
        self.dir.look(&self.name)
    }

    /// Its path, for messages.
    pub fn path(&self) -> std::path::PathBuf {
        self.dir.at(&self.name)
    }

    /// Moves it to its place, never over another file. Survives a kill: it is whole under one of the two names. Survives
    /// a power cut once its directory was synced.
    pub fn place(mut self, name: &str) -> Result<()> {
        self.put(name)
    }

    /// As [`Draft::place`]; `false`, and it is still a draft, if something else has the name.
    pub fn try_place(&mut self, name: &str) -> Result<bool> {
        match self.put(name) {
            Ok(()) => Ok(true),
            Err(e) if e.errno() == Some(libc::EEXIST) => Ok(false),
            Err(e) => Err(e),
        }
    }

    fn put(&mut self, name: &str) -> Result<()> {
        self.dir.rename(&self.name, &self.dir, name, "put in its place")?;
        self.placed = true;
        Ok(())
    }
}

/// Writes a new file in one step, by way of this temporary name in the same directory, never over another. Whoever finds
/// the temporary one locked knows that its writer lives. A failure leaves nothing of it; only `Some` says that the file
/// stands in its place, and that a power cut can lose it.
pub fn put(dir: &Dir, name: &str, temporary: &str, bytes: &[u8]) -> Result<Option<Error>> {
    let mut draft = Draft::new(dir, temporary)?;
    // Where a file system knows no locks, the draft's age has to do.
    let _ = draft.file.try_lock();
    draft.write_all(bytes).doing("write", draft.path())?;
    draft.sync()?;
    // Whoever takes the file takes none that is still open for writing.
    draft.file = dir.look(temporary)?;
    draft.place(name)?;
    Ok(dir.sync().err())
}

impl Write for Draft {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.written += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if !self.placed {
            let _ = self.dir.remove(&self.name);
        }
    }
}
