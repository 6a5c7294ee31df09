//! A file that only grows, by complete appends: a segment of the log.

use super::directory::synced;
use super::fs::{Meta, Open};
use super::{Dir, File};
use crate::base::error::{Error, ErrorContext, Result};
use std::io::Write;
use std::ops::Range;
use std::path::PathBuf;

/// An open append-only file of known length.
pub struct AppendFile {
    file: File,
    path: PathBuf,
    length: u64,
}

impl AppendFile {
    /// Opens or creates a file, and cuts it to `length`. `None` keeps its current length.
    pub fn open(dir: &Dir, name: &str, length: Option<u64>) -> Result<AppendFile> {
        let (file, current) = AppendFile::open_file(dir, name)?;
        AppendFile::cut(dir, name, file, current, length.unwrap_or(current))
    }

    /// As [`AppendFile::open`], if the file has the length `current`. Otherwise returns `None` and does not change the file.
    /// An append by another process between the check and the cut is lost; the two calls follow each other immediately.
    pub fn open_if(dir: &Dir, name: &str, current: u64, length: u64) -> Result<Option<AppendFile>> {
        let (file, size) = AppendFile::open_file(dir, name)?;
        if size == current {
            AppendFile::cut(dir, name, file, current, length).map(Some)
        } else {
            Ok(None)
        }
    }

    fn open_file(dir: &Dir, name: &str) -> Result<(File, u64)> {
        let file = dir.open_file(name, Open::AppendOrMake(dir.file_mode()), "open")?;
        let current = file.meta().doing_in("look at", dir.path(), name)?.size;
        Ok((file, current))
    }

    fn cut(dir: &Dir, name: &str, file: File, current: u64, length: u64) -> Result<AppendFile> {
        if current > length {
            file.set_len(length)
                .doing_in("truncate", dir.path(), name)?;
        }
        Ok(AppendFile {
            file,
            path: dir.at(name),
            length,
        })
    }

    /// Appends all of `bytes` or nothing. If an append fails halfway, the written part is removed immediately. A kill
    /// can leave a part; a reader detects it by the batch's count and chain. The bytes are durable only after
    /// [`AppendFile::sync`].
    pub fn append(&mut self, bytes: &[u8]) -> Result<()> {
        if let Err(source) = self.file.write_all(bytes) {
            // A remaining part would count as damage, so a failure here must stop the router.
            synced(self.file.set_len(self.length), || self.path.clone())?;
            return Err(Error::Io {
                verb: "append to",
                path: self.path.clone(),
                source,
            });
        }
        self.length += bytes.len() as u64;
        Ok(())
    }

    /// Removes these bytes, which were appended last, if they still end the file. Another program can have shortened the
    /// file before the append. Remaining bytes would count as committed, so a failure must stop the router.
    pub fn take_back(&mut self, bytes: &[u8]) -> Result<()> {
        let size = synced(self.file.meta(), || self.path.clone())?.size;
        let Some(start) = size.checked_sub(bytes.len() as u64) else {
            return Ok(());
        };
        let mut end = vec![0; bytes.len()];
        synced(self.file.read_exact_at(&mut end, start), || {
            self.path.clone()
        })?;
        if end == bytes {
            synced(self.file.set_len(start), || self.path.clone())?;
            self.length = start;
        }
        Ok(())
    }

    /// Makes the appended bytes durable.
    pub fn sync(&self) -> Result<()> {
        synced(self.file.sync_data(), || self.path.clone())
    }

    /// The current metadata of the file.
    pub fn meta(&self) -> Result<Meta> {
        self.file.meta().doing("look at", &self.path)
    }

    /// The file's length in bytes.
    pub fn length(&self) -> u64 {
        self.length
    }
}

/// Writes a range of a file again, in place, and makes it durable.
///
/// After a failed write-back, the system keeps the bytes in memory and marks them as written: reads return them, and
/// the next sync succeeds without writing them. On ext4 another write does not help while the bytes are cached, because
/// the blocks stay marked as unwritten. So the cache is dropped first. After a kill or a power cut, each byte is either
/// the byte on the disk or the byte given here.
pub fn rewrite(dir: &Dir, name: &str, range: Range<u64>) -> Result<()> {
    let file = open_in_place(dir, name)?;
    let mut bytes = vec![0; (range.end - range.start) as usize];
    file.read_exact_at(&mut bytes, range.start)
        .doing_in("read", dir.path(), name)?;
    forget_content(&file, dir, name)?;
    file.write_all_at(&bytes, range.start)
        .doing_in("rewrite", dir.path(), name)?;
    sync(&file, dir, name)
}

/// Drops a file from the cache, if the system can, so that the next read uses the disk.
pub fn forget(dir: &Dir, name: &str) -> Result<()> {
    forget_content(&open_in_place(dir, name)?, dir, name)
}

fn open_in_place(dir: &Dir, name: &str) -> Result<File> {
    dir.open_file(name, Open::Change, "open")
}

/// Drops the cached pages of a file. Unwritten pages cannot be dropped, so they are written first.
fn forget_content(file: &File, dir: &Dir, name: &str) -> Result<()> {
    sync(file, dir, name)?;
    file.fs
        .forget()
        .doing_in("drop the cache of", dir.path(), name)
}

fn sync(file: &File, dir: &Dir, name: &str) -> Result<()> {
    synced(file.sync_data(), || dir.at(name))
}
