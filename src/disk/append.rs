//! A file that only grows, by whole pieces: the log's segments.

use super::{Dir, system};
use crate::base::error::{Doing, Error, Result};
use rustix::fs::OFlags;
use std::fs::File;
use std::io::Write;
use std::ops::Range;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
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

/// Writes the bytes of a range of a file once more, in place, and makes them durable.
///
/// After a write-back that failed, the system keeps the bytes in memory and counts them as written: reads find them, and
/// the next sync succeeds without them. On ext4 not even writing them again helps, while they are in memory: the blocks
/// stay marked as never written. So memory gives them up first. A kill or a power cut in the middle of it leaves each byte
/// as it was on the disk or as it is here.
pub fn rewrite(dir: &Dir, name: &str, range: Range<u64>) -> Result<()> {
    let file = open_in_place(dir, name)?;
    let mut bytes = vec![0; (range.end - range.start) as usize];
    file.read_exact_at(&mut bytes, range.start).doing("read", dir.at(name))?;
    forget_content(&file, dir, name)?;
    file.write_all_at(&bytes, range.start).doing("rewrite", dir.at(name))?;
    sync(&file, dir, name)
}

/// Makes memory give up what it holds of a file, so that the next read finds what is on the disk, where the system can.
pub fn forget(dir: &Dir, name: &str) -> Result<()> {
    forget_content(&open_in_place(dir, name)?, dir, name)
}

fn open_in_place(dir: &Dir, name: &str) -> Result<File> {
    let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    Ok(rustix::fs::openat(dir.as_fd(), name, flags, rustix::fs::Mode::empty()).doing("open", dir.at(name))?.into())
}

// What nobody tried to write yet can't be given up, so it is written first.
fn forget_content(file: &File, dir: &Dir, name: &str) -> Result<()> {
    sync(file, dir, name)?;
    system::forget(file.as_fd()).doing("read anew", dir.at(name))
}

fn sync(file: &File, dir: &Dir, name: &str) -> Result<()> {
    system::sync_data(file.as_fd()).map_err(|source| Error::Sync { path: dir.at(name), source })
}
