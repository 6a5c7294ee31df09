//! The calls on files that this program makes, on an open file or directory.
//!
//! In: names below an open directory, and bytes. Out: files, or the error of the system. The one implementation in the
//! program is in `real`. Tests have a second one in memory. It leaves a disk as a kill or a power cut does, by the comment
//! of each call here. "Survives a kill" means that the call was complete when it returned, and that a kill during the call
//! leaves the state before it or after it. "Survives a power cut" names the call that is needed for it. A call without
//! these words changes nothing.
//!
//! A call follows a symbolic link only if its comment says so. The meaning of a file does not belong here.

use crate::base::clock::Stamp;
use crate::base::error::{Error, Result as ErrorResult};
use rustix::fs::FileType;
use std::any::Any;
use std::ffi::OsString;
use std::fmt;
use std::io::{ErrorKind, Result};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An open file or directory. It is closed, and its lock ends, when the last reference is dropped.
pub trait Fs: fmt::Debug + Send + std::marker::Sync {
    /// Opens a file or directory below this directory, and creates it if `how` says so. A new name survives a kill; it
    /// survives a power cut after a sync of its directory. Never blocks.
    fn open(&self, below: &Path, how: Open) -> Result<Arc<dyn Fs>>;

    /// Creates a directory. Survives a kill, and a power cut after a sync of this directory.
    fn make_directory(&self, name: &Path, mode: u32) -> Result<()>;

    /// Creates a symbolic link. Survives a kill, and a power cut after a sync of this directory.
    fn make_link(&self, name: &Path, target: &Path) -> Result<()>;

    /// The target of a symbolic link.
    fn read_link(&self, name: &Path) -> Result<PathBuf>;

    /// Moves a file or directory to another directory of the same file system. Survives a kill. A power cut before both
    /// directories are synced leaves the old name, the new name, or on btrfs both names. The source must be synced first:
    /// btrfs can keep both names if only the target was synced.
    fn rename(&self, name: &Path, to: &dyn Fs, new: &Path, existing: Existing) -> Result<()>;

    /// Removes a name of a file. Survives a kill, and a power cut after a sync of this directory.
    fn remove(&self, name: &Path) -> Result<()>;

    /// Removes an empty directory. Survives a kill, and a power cut after a sync of this directory.
    fn remove_directory(&self, name: &Path) -> Result<()>;

    /// The metadata of a name, as lstat(2).
    fn stat(&self, name: &Path) -> Result<Meta>;

    /// The names in this directory without `.` and `..`, in no order.
    fn list(&self) -> Result<Listing>;

    /// Whether this process may create and remove names in this directory.
    fn may_write(&self) -> bool;

    /// The absolute path behind a path, with all symbolic links followed.
    fn canonical(&self, path: &Path) -> Result<PathBuf>;

    /// The metadata of this file or directory.
    fn meta(&self) -> Result<Meta>;

    /// Reads bytes at this place. Fewer than asked for are not an error; none means the end.
    fn read_at(&self, bytes: &mut [u8], at: u64) -> Result<usize>;

    /// Writes bytes at this place, at the end of a file that was opened with [`Open::Append`]. Returns the number of
    /// written bytes, which may be fewer. A kill leaves any part of them. They survive a power cut after a sync of the file;
    /// before it, any part may be missing, or be zeros.
    fn write_at(&self, bytes: &[u8], at: u64) -> Result<usize>;

    /// Cuts the file, or extends it by zeros. Survives a kill, and a power cut after a sync of the file.
    fn set_len(&self, length: u64) -> Result<()>;

    /// Sets the modification time, in nanoseconds since 1970; `None` is the time of the file system's clock. Survives a
    /// kill, and a power cut after a full sync of the file.
    fn set_modified(&self, time: Option<i128>) -> Result<()>;

    /// Sets the permissions. Survives a kill, and a power cut after a full sync of the file.
    fn set_mode(&self, mode: u32) -> Result<()>;

    /// Takes, or gives back, the lock of the file: flock(2). Returns `false` if another open file has it. Ends with the
    /// process.
    fn lock(&self, lock: Lock) -> Result<bool>;

    /// Whether a writer has the file open.
    fn lease(&self) -> ReadLeaseResult;

    /// Makes the content of a file, or the names of a directory, durable. After a failure, reads still show content that
    /// is not on the disk, and later syncs succeed.
    fn sync(&self, what: Sync) -> Result<()>;

    /// Drops the pages of a file from memory, so that the next read uses the disk.
    fn forget(&self) -> Result<()>;

    /// The file system of this file.
    fn volume(&self) -> Option<Volume>;

    /// The implementation, which recognizes its own files.
    fn as_any(&self) -> &dyn Any;
}

/// Creates a directory below another one. `false` if the name exists.
pub(super) fn make_new_directory(above: &dyn Fs, name: &Path, mode: u32) -> Result<bool> {
    match above.make_directory(name, mode) {
        Err(e) if e.kind() == ErrorKind::AlreadyExists => Ok(false),
        made => made.map(|()| true),
    }
}

/// The names in a directory, read in parts.
pub type Listing = Box<dyn Iterator<Item = Result<DirectoryEntry>> + Send>;

/// How a file or directory is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Open {
    /// A directory.
    Directory,
    /// A directory of a person. Symbolic links in its path are followed.
    Outside,
    /// A file, to read it.
    Look,
    /// A file, to read it and write in place.
    Change,
    /// As `Change`. A missing file is created with these permissions.
    ChangeOrMake(u32),
    /// A file, to read it and to write at its end.
    Append,
    /// As `Append`. A missing file is created with these permissions.
    AppendOrMake(u32),
    /// A new file with these permissions, to read and write it. An existing name is an error.
    Make(u32),
}

/// The effect of a rename if its new name exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// It replaces the file, in one step.
    Replace,
    /// It fails with `EEXIST`.
    Keep,
}

/// A change of a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lock {
    /// One holder.
    Exclusive,
    /// Several holders.
    Shared,
    /// No longer held.
    Free,
}

/// The part that is made durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sync {
    /// The content of a file with its times and permissions, or the names of a directory.
    Full,
    /// The content of a file.
    Data,
    /// The whole file system. Only where [`can_sync_all`](super::can_sync_all).
    All,
}

/// The result of asking for a read lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadLeaseResult {
    /// No writer has the file open.
    Free,
    /// A writer has the file open.
    Writer,
    /// The file system, the operating system or the file's owner does not allow the request.
    Unknown,
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

/// A file system.
#[derive(Debug, Clone, Copy)]
pub struct Volume {
    /// Bytes that this user may write.
    pub bytes: u64,
    /// Files that this user may create. `None` if the file system has no such limit.
    pub files: Option<u64>,
    /// Whether it is mounted without the right to write.
    pub is_read_only: bool,
    /// Its magic number in statfs(2). Zero on systems without it.
    pub magic: i64,
}

/// The metadata of a file, as lstat(2) returns it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Meta {
    /// Regular file, directory, symbolic link, and so on.
    pub kind: FileType,
    /// Bytes.
    pub size: u64,
    /// The file's identity on its file system.
    pub inode: u64,
    /// The file system's identity.
    pub device: u64,
    /// The number of hard links.
    pub links: u64,
    /// The permissions, with the set-user-ID, set-group-ID and sticky bits.
    pub mode: u32,
    /// The owner.
    pub uid: u32,
    /// The group.
    pub gid: u32,
    /// The modification time of the content, in nanoseconds since 1970 by the file system's clock.
    pub modified: i128,
    /// The change time of the content, names or permissions, in the same unit.
    pub changed: i128,
}

impl Meta {
    /// The modification time of the content.
    pub fn modified_at(&self) -> Stamp {
        Stamp::from_micros((self.modified / 1000) as i64)
    }

    /// The change time of the content, names or permissions.
    pub fn changed_at(&self) -> Stamp {
        Stamp::from_micros((self.changed / 1000) as i64)
    }

    /// Fails if the file at this path is not a regular file.
    pub fn check_regular(&self, path: &Path) -> ErrorResult<()> {
        if self.kind == FileType::RegularFile {
            return Ok(());
        }
        Err(Error::state(
            path,
            "is not a regular file",
            "move it to another place",
        ))
    }

    /// Returns true for a directory.
    pub fn is_directory(&self) -> bool {
        self.kind == FileType::Directory
    }

    /// Returns true if both describe the same file.
    pub fn is_same_file(&self, other: &Meta) -> bool {
        (self.device, self.inode) == (other.device, other.inode)
    }

    /// Returns true if both describe the same content of the same file, even if it was renamed.
    pub fn has_content_of(&self, other: &Meta) -> bool {
        self.is_same_file(other) && (self.size, self.modified) == (other.size, other.modified)
    }
}
