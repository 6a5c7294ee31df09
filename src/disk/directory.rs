//! An open directory, and the verbs that work in it.
//!
//! Each verb follows no symbolic link below its directory, and its comment says what survives a kill and what survives
//! a power cut.

use super::access::Access;
use super::listing::Listing;
use super::system::Lease;
use crate::base::error::{Doing, Error, Result};
use crate::disk::failpoint::{self, Protection};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
/// Non-blocking, so that a FIFO or a leased file can't hang the caller; no terminal becomes ours.
const LOOK: OFlags =
    OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

/// An open directory, with its path for error messages. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Dir {
    pub(super) fd: Arc<OwnedFd>,
    pub(super) path: Arc<Path>,
    pub(super) access: Access,
}

/// What `lstat` says of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Meta {
    /// Regular file, directory, symbolic link, …
    pub kind: FileType,
    /// Bytes.
    pub size: u64,
    /// The file's identity on its file system.
    pub inode: u64,
    /// The file system's identity.
    pub device: u64,
    /// How many names the file has.
    pub links: u64,
    /// Its permissions, with the set-user-ID, set-group-ID and sticky bits.
    pub mode: u32,
    /// Who owns it.
    pub uid: u32,
    /// The group that it belongs to.
    pub gid: u32,
    /// When its content last changed, in nanoseconds since 1970 by the file system's clock.
    pub modified: i128,
    /// When its content, names or permissions last changed, likewise.
    pub changed: i128,
}

impl Dir {
    /// Opens a directory outside any room by its path, following links on the way. What is made in it gets the
    /// permissions that the umask leaves.
    pub fn open(path: &Path) -> Result<Dir> {
        let fd = rustix::fs::open(path, DIRECTORY, Mode::empty()).doing("open", path)?;
        Ok(Dir { fd: Arc::new(fd), path: path.into(), access: Access::Umask })
    }

    /// Opens a directory below this one. A symbolic link anywhere on the way is an error.
    pub fn sub(&self, below: impl AsRef<Path>) -> Result<Dir> {
        let path = self.path.join(&below);
        let fd = super::system::open_beneath(self.fd.as_fd(), below.as_ref(), DIRECTORY).doing("open", &path)?;
        Ok(Dir { fd: Arc::new(fd), path: path.into(), access: self.access })
    }

    /// Opens a directory below this one, making what is missing of it. Survives a kill and, since the directories above
    /// are synced where one was made, a power cut.
    pub fn make(&self, below: impl AsRef<Path>) -> Result<Dir> {
        self.make_each(below.as_ref(), &mut Dir::sync)
    }

    /// As [`Dir::make`], where a power cut may take it back. For a directory in an inbox: to sync the inbox alone would
    /// give what was just delivered there two names on btrfs.
    pub fn make_loose(&self, below: impl AsRef<Path>) -> Result<Dir> {
        self.make_each(below.as_ref(), &mut |_| Ok(()))
    }

    pub(super) fn make_each(&self, below: &Path, made_in: &mut dyn FnMut(&Dir) -> Result<()>) -> Result<Dir> {
        if let Ok(dir) = self.sub(below) {
            return Ok(dir);
        }
        let mut at = self.clone();
        for part in below.components() {
            let is_new = match rustix::fs::mkdirat(&*at.fd, part.as_os_str(), self.access.directory()) {
                Ok(()) => true,
                Err(Errno::EXIST) => false,
                Err(e) => return Err(e).doing("make the directory", at.path.join(part)),
            };
            let inner = at.sub(part)?;
            if is_new {
                let done = self.access.complete(inner.as_fd(), self.access.directory(), at.as_fd());
                done.doing("set the permissions of", &inner.path)?;
                made_in(&at)?;
            }
            at = inner;
        }
        Ok(at)
    }

    /// The path by which this directory was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path of something in this directory, for messages.
    pub fn at(&self, name: impl AsRef<Path>) -> PathBuf {
        self.path.join(name)
    }

    /// What `lstat` says of a file below this directory, or `None` if there is none.
    pub fn stat(&self, name: impl AsRef<Path>) -> Result<Option<Meta>> {
        match rustix::fs::statat(&*self.fd, name.as_ref(), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(Meta::new(&stat))),
            Err(Errno::NOENT) => Ok(None),
            Err(e) => Err(e).doing("look at", self.at(name)),
        }
    }

    /// What `fstat` says of this directory itself.
    pub fn meta(&self) -> Result<Meta> {
        Ok(Meta::new(&rustix::fs::fstat(&*self.fd).doing("look at", &self.path)?))
    }

    /// The names in this directory, in the file system's order, without `.` and `..`. Read as it goes: a directory
    /// of a million files costs a buffer.
    pub fn list(&self) -> Result<Listing> {
        let entries = rustix::fs::Dir::read_from(&*self.fd).doing("list", &self.path)?;
        Ok(Listing { entries, path: self.path.clone() })
    }

    /// Opens a file to be rewritten in place, making it if there is none.
    pub(super) fn open_to_rewrite(&self, name: impl AsRef<Path>) -> Result<File> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = File::from(
            rustix::fs::openat(&*self.fd, name.as_ref(), flags, self.access.file()).doing("open", self.at(&name))?,
        );
        let done = self.access.complete(file.as_fd(), self.access.file(), self.as_fd());
        done.doing("set the permissions of", self.at(name))?;
        Ok(file)
    }

    /// Opens a file in this directory to look at it: never blocks, never follows a link.
    pub fn look(&self, name: impl AsRef<Path>) -> Result<File> {
        let fd = rustix::fs::openat(&*self.fd, name.as_ref(), LOOK, Mode::empty()).doing("open", self.at(name))?;
        Ok(fd.into())
    }

    /// The whole content of a regular file of at most `most` bytes, or `None` if there is no such file.
    pub fn read(&self, name: impl AsRef<Path>, most: u64) -> Result<Option<Vec<u8>>> {
        let name = name.as_ref();
        let file = match self.look(name) {
            Err(e) if e.errno() == Some(libc::ENOENT) => return Ok(None),
            file => file?,
        };
        let meta = file_meta(&file).doing("look at", self.at(name))?;
        if meta.kind != FileType::RegularFile || meta.size > most {
            let what = if meta.size > most { "is larger than it may be" } else { "is not a regular file" };
            let cure = "move it away".to_string();
            return Err(Error::State { path: self.at(name), line: None, what: what.into(), cure });
        }
        let mut bytes = Vec::with_capacity(meta.size as usize + 1);
        file.take(most).read_to_end(&mut bytes).doing("read", self.at(name))?;
        Ok(Some(bytes))
    }

    /// Makes a file with this content, never over another. A kill may leave a part of it, which the caller's names
    /// and records tell from a whole one; a failure leaves nothing. A power cut keeps it only after it was synced.
    pub fn create(&self, name: impl AsRef<Path>, bytes: &[u8]) -> Result<File> {
        let name = name.as_ref();
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(&*self.fd, name, flags, self.access.file()).doing("make", self.at(name))?;
        let mut file = File::from(fd);
        let completed = self.access.complete(file.as_fd(), self.access.file(), self.as_fd());
        if let Err(e) = completed.map_err(std::io::Error::from).and_then(|()| file.write_all(bytes)) {
            let _ = self.remove(name);
            return Err(e).doing("write", self.at(name));
        }
        Ok(file)
    }

    /// Gives a file this content in one step: readers see the old content or the new. Survives a kill at any
    /// instant, and a power cut once it has returned.
    pub fn replace(&self, name: impl AsRef<Path>, bytes: &[u8]) -> Result<()> {
        let name = name.as_ref();
        let mut temporary = OsString::from(".");
        temporary.push(name.file_name().unwrap_or_default());
        temporary.push(format!(".{}.tmp", std::process::id()));
        self.replace_by(name, &name.with_file_name(temporary), bytes)
    }

    /// As [`Dir::replace`], by way of this temporary name in the same directory, where a kill may leave a part of it.
    pub fn replace_by(&self, name: &Path, temporary: &Path, bytes: &[u8]) -> Result<()> {
        self.remove(temporary)?;
        let file = self.create(temporary, bytes)?;
        self.keep_permissions(name, &file)?;
        super::system::sync_file(file.as_fd()).map_err(|source| Error::Sync { path: self.at(temporary), source })?;
        rustix::fs::renameat(&*self.fd, temporary, &*self.fd, name).doing("replace", self.at(name))?;
        match name.parent().filter(|p| !p.as_os_str().is_empty()) {
            Some(parent) => self.sub(parent)?.sync(),
            None => self.sync(),
        }
    }

    /// As [`Dir::replace`], for what can be made again: nothing is synced, so that a power cut may leave anything of it. At
    /// most one process may do so at a time.
    pub fn show(&self, name: impl AsRef<OsStr>, bytes: &[u8]) -> Result<()> {
        let name = name.as_ref();
        let temporary = [OsStr::new("."), name, OsStr::new(".tmp")].into_iter().collect::<OsString>();
        self.remove(&temporary)?;
        let file = self.create(&temporary, bytes)?;
        self.keep_permissions(Path::new(name), &file)?;
        rustix::fs::renameat(&*self.fd, &temporary, &*self.fd, name).doing("replace", self.at(name))
    }

    /// Makes a symbolic link, in one step and in the place of what is there, unless it is this link already. As with
    /// [`Dir::show`], nothing is synced, and one process does so at a time.
    pub fn link(&self, name: &str, target: &str) -> Result<()> {
        if rustix::fs::readlinkat(&*self.fd, name, Vec::new()).is_ok_and(|there| there.as_bytes() == target.as_bytes())
        {
            return Ok(());
        }
        let temporary = format!(".{name}.tmp");
        self.remove(&temporary)?;
        rustix::fs::symlinkat(target, &*self.fd, &temporary).doing("make a link", self.at(&temporary))?;
        rustix::fs::renameat(&*self.fd, &temporary, &*self.fd, name).doing("replace", self.at(name))
    }

    /// Moves a file, never over another. Survives a kill: it is at one of the two places, whole. Survives a power cut
    /// once both directories were synced, the one it left first: btrfs can keep both names where only the other one was.
    /// A file that has both names was moved before, and loses the old one now.
    pub fn rename(&self, name: impl AsRef<Path>, to: &Dir, new: impl AsRef<Path>, verb: &'static str) -> Result<()> {
        let (name, new) = (name.as_ref(), new.as_ref());
        let done = if failpoint::on(Protection::NoReplace) {
            super::system::rename_no_replace(self.fd.as_fd(), name, to.fd.as_fd(), new)
        } else {
            rustix::fs::renameat(&*self.fd, name, &*to.fd, new)
        };
        if done == Err(Errno::EXIST) && failpoint::on(Protection::SecondName) && self.is_second_name(name, to, new)? {
            return self.remove(name);
        }
        done.doing(verb, to.at(new))
    }

    /// Are these two names of one file?
    fn is_second_name(&self, name: &Path, to: &Dir, new: &Path) -> Result<bool> {
        let (Some(one), Some(other)) = (self.stat(name)?, to.stat(new)?) else { return Ok(false) };
        let is_same_name = name == new && self.meta()?.is_same_file(&to.meta()?);
        Ok(one.is_same_file(&other) && one.links > 1 && !is_same_name)
    }

    /// Removes a file; that there is none is fine.
    pub fn remove(&self, name: impl AsRef<Path>) -> Result<()> {
        match rustix::fs::unlinkat(&*self.fd, name.as_ref(), AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(e) => Err(e).doing("remove", self.at(name)),
        }
    }

    /// Removes a file if it still is what it was when `then` was asked of it. `false`, and nothing is removed, if it is
    /// another or was changed; that there is none is fine. A write in the instant between the look and the removal goes
    /// with the file.
    pub fn remove_if_same(&self, name: impl AsRef<Path>, then: &Meta) -> Result<bool> {
        match self.stat(&name)? {
            Some(now) if now != *then => Ok(false),
            Some(_) => self.remove(&name).map(|()| true),
            None => Ok(true),
        }
    }

    /// Removes an empty directory; that there is none, or that it is not empty, is fine.
    pub fn remove_empty(&self, name: impl AsRef<Path>) -> Result<()> {
        match rustix::fs::unlinkat(&*self.fd, name.as_ref(), AtFlags::REMOVEDIR) {
            Ok(()) | Err(Errno::NOENT | Errno::NOTEMPTY | Errno::EXIST) => Ok(()),
            Err(e) => Err(e).doing("remove", self.at(name)),
        }
    }

    /// May names be made in this directory, and removed from it?
    pub fn is_writable(&self) -> bool {
        let access = rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK;
        rustix::fs::accessat(&*self.fd, ".", access, AtFlags::EACCESS).is_ok()
    }

    /// Makes the names in this directory durable.
    pub fn sync(&self) -> Result<()> {
        super::system::sync_file(self.fd.as_fd())
            .map_err(|source| Error::Sync { path: self.path.to_path_buf(), source })
    }
}

impl AsFd for Dir {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Do file events reach this machine for all changes in a directory? Not on file systems that others write from
/// elsewhere.
pub fn events_work(dir: &Dir) -> bool {
    // Builds for tests may have a silent file system where there is none.
    if cfg!(any(debug_assertions, feature = "faults")) && std::env::var_os("MAILBAG_TEST_SILENT").is_some() {
        return false;
    }
    super::system::events_work(dir.as_fd())
}

/// What `fstat` says of an open file.
pub fn file_meta(file: &File) -> std::io::Result<Meta> {
    Ok(Meta::new(&rustix::fs::fstat(file)?))
}

/// Does a writer hold this file open? Asked with a read lease, which is given back at once.
pub fn lease(file: &File) -> Lease {
    super::system::lease(file)
}

impl Meta {
    /// Is it a directory?
    pub fn is_directory(&self) -> bool {
        self.kind == FileType::Directory
    }

    /// Is this another name of that file?
    pub fn is_same_file(&self, other: &Meta) -> bool {
        (self.device, self.inode) == (other.device, other.inode)
    }

    // The fields' types differ between systems.
    #[allow(clippy::unnecessary_cast, clippy::useless_conversion)]
    pub(super) fn new(stat: &Stat) -> Meta {
        let nanos = |seconds, nanos| i128::from(seconds) * 1_000_000_000 + nanos as i128;
        Meta {
            kind: FileType::from_raw_mode(stat.st_mode as _),
            size: stat.st_size as u64,
            inode: stat.st_ino as u64,
            device: stat.st_dev as u64,
            links: stat.st_nlink as u64,
            mode: stat.st_mode as u32 & 0o7777,
            uid: stat.st_uid,
            gid: stat.st_gid,
            modified: nanos(stat.st_mtime, stat.st_mtime_nsec),
            changed: nanos(stat.st_ctime, stat.st_ctime_nsec),
        }
    }
}
