//! The names in a directory, read one after the other.

use super::allowance::{NAME, charge_read};
use crate::base::error::{ErrorContext, Result};
use rustix::fs::FileType;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

/// An iterator over the names in a directory.
pub struct DirectoryListing {
    pub(super) entries: rustix::fs::Dir,
    pub(super) path: Arc<Path>,
}

/// A name in a directory, with the file type if the file system includes it in the listing.
#[derive(Debug)]
pub struct DirectoryEntry {
    /// The file's name, without its directory.
    pub name: OsString,
    /// The file type, or `FileType::Unknown`.
    pub kind: FileType,
    /// Its identity on its file system.
    pub inode: u64,
}

impl Iterator for DirectoryListing {
    type Item = Result<DirectoryEntry>;

    fn next(&mut self) -> Option<Result<DirectoryEntry>> {
        loop {
            let entry = match self.entries.next()?.doing("list", &self.path) {
                Ok(entry) => entry,
                Err(e) => return Some(Err(e)),
            };
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name != "." && name != ".." {
                if let Err(e) = charge_read(NAME).doing("list", &self.path) {
                    return Some(Err(e));
                }
                return Some(Ok(DirectoryEntry {
                    name: name.to_owned(),
                    kind: entry.file_type(),
                    inode: entry.ino(),
                }));
            }
        }
    }
}
