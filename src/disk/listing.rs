//! What stands in a directory, one name after the other.

use crate::base::error::{Doing, Result};
use rustix::fs::FileType;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

/// The names of a directory, read as it goes.
pub struct Listing {
    pub(super) entries: rustix::fs::Dir,
    pub(super) path: Arc<Path>,
}

/// A name in a directory, and what kind of file it is if the file system says so without being asked again.
#[derive(Debug)]
pub struct Entry {
    /// The file's name, without its directory.
    pub name: OsString,
    /// What it is, or `FileType::Unknown`.
    pub kind: FileType,
    /// Its identity on its file system.
    pub inode: u64,
}

impl Iterator for Listing {
    type Item = Result<Entry>;

    fn next(&mut self) -> Option<Result<Entry>> {
        loop {
            let entry = match self.entries.next()?.doing("list", &self.path) {
                Ok(entry) => entry,
                Err(e) => return Some(Err(e)),
            };
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name != "." && name != ".." {
                return Some(Ok(Entry { name: name.to_owned(), kind: entry.file_type(), inode: entry.ino() }));
            }
        }
    }
}
