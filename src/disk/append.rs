//! A file that only grows, by complete appends: a segment of the log.

use super::directory::synced;
use super::fs::{Meta, Open};
use super::{Dir, File};
use crate::base::error::{ErrorContext, Result};
use std::io::Write;
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

    /// Appends all of `bytes`. A failed append is cut off again if that is possible. A failure or a kill can leave a part,
    /// which a reader must detect. The bytes are durable only after [`AppendFile::sync`].
    pub fn append(&mut self, bytes: &[u8]) -> Result<()> {
        let written = self.file.write_all(bytes);
        if written.is_err() {
            let _ = self.file.set_len(self.length);
        }
        written.doing("append to", &self.path)?;
        self.length += bytes.len() as u64;
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

/// Drops the cached pages of a file, if the system can, so that the next read uses the disk. Unwritten pages cannot be
/// dropped, so they are written first.
pub fn forget(dir: &Dir, name: &str) -> Result<()> {
    let file = dir.open_file(name, Open::Change, "open")?;
    synced(file.sync_data(), || dir.at(name))?;
    file.fs
        .forget()
        .doing_in("drop the cache of", dir.path(), name)
}
