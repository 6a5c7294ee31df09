//! A file that only grows, by whole pieces: the log's segments.

use super::{Dir, system};
use crate::error::{Doing, Error, Result};
use rustix::fs::OFlags;
use std::fs::File;
use std::io::Write;
use std::os::fd::AsFd;
use std::path::PathBuf;

/// An open file of known length that is only appended to.
pub struct Append {
    file: File,
    path: PathBuf,
    length: u64,
}

impl Append {
    /// Opens a file to append to it from `length` on, making it if there is none. What stands behind `length` is cut
    /// off. `None` stands for the file's own length.
    pub fn open(dir: &Dir, name: &str, length: Option<u64>) -> Result<Append> {
        let (file, stands) = Append::open_file(dir, name)?;
        Append::cut(dir, name, file, stands, length.unwrap_or(stands))
    }

    /// As [`Append::open`], if the file is as long as `stands`; else `None`, and it is as it was. What somebody else
    /// appends between the look and the cut is cut off with the rest: the two follow each other at once.
    pub fn open_if(dir: &Dir, name: &str, stands: u64, length: u64) -> Result<Option<Append>> {
        let (file, size) = Append::open_file(dir, name)?;
        if size == stands { Append::cut(dir, name, file, stands, length).map(Some) } else { Ok(None) }
    }

    fn open_file(dir: &Dir, name: &str) -> Result<(File, u64)> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::APPEND | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        // A FIFO in its place must not hang the caller.
        let flags = flags | OFlags::NONBLOCK | OFlags::NOCTTY;
        let fd = rustix::fs::openat(dir.as_fd(), name, flags, dir.access.file()).doing("open", dir.at(name))?;
        let file = File::from(fd);
        let stands = super::file_meta(&file).doing("look at", dir.at(name))?.size;
        if stands == 0 {
            let done = dir.access.complete(file.as_fd(), dir.access.file(), dir.as_fd());
            done.doing("set the permissions of", dir.at(name))?;
        }
        Ok((file, stands))
    }

    fn cut(dir: &Dir, name: &str, file: File, stands: u64, length: u64) -> Result<Append> {
        if stands > length {
            rustix::fs::ftruncate(&file, length).doing("cut back", dir.at(name))?;
        }
        Ok(Append { file, path: dir.at(name), length })
    }

    /// Appends all of `bytes`, or nothing: a part that was written before a failure is cut off again at once. A kill
    /// may leave a part, which the reader tells by the batch's count and chain. Durable only after [`Append::sync`].
    pub fn append(&mut self, bytes: &[u8]) -> Result<()> {
        if let Err(source) = self.file.write_all(bytes) {
            // Left as it is, the part would be taken for damage, so a failure here must stop the router.
            rustix::fs::ftruncate(&self.file, self.length)
                .map_err(|e| Error::Sync { path: self.path.clone(), source: e.into() })?;
            return Err(Error::Io { verb: "append to", path: self.path.clone(), source });
        }
        self.length += bytes.len() as u64;
        Ok(())
    }

    /// Makes what was appended durable.
    pub fn sync(&self) -> Result<()> {
        system::sync_data(self.file.as_fd()).map_err(|source| Error::Sync { path: self.path.clone(), source })
    }

    /// What `fstat` says of the file now.
    pub fn meta(&self) -> Result<super::Meta> {
        super::file_meta(&self.file).doing("look at", &self.path)
    }

    /// The file's length in bytes.
    pub fn length(&self) -> u64 {
        self.length
    }
}
