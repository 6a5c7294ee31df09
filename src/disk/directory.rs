//! An open directory, and the file operations in it.
//!
//! No operation follows a symbolic link below its directory. The comment of each operation says what survives a kill
//! and what survives a power cut.

use super::access::NewFileAccess;
use super::allowance::{OPEN, charge_read};
use super::listing::DirectoryListing;
use super::system::ReadLeaseResult;
use crate::base::clock::Stamp;
use crate::base::error::{Error, ErrorContext, Result};
use crate::base::test_variable;
use crate::disk::failpoint::{self, Failpoint};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const DIRECTORY: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::CLOEXEC);
/// Non-blocking, so that a FIFO or a leased file cannot block the caller. No terminal becomes the controlling terminal.
const LOOK: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

/// An open directory, with its path for error messages. It is cheap to clone.
#[derive(Debug, Clone)]
pub struct Dir {
    pub(super) fd: Arc<OwnedFd>,
    pub(super) path: Arc<Path>,
    pub(super) access: NewFileAccess,
}

/// The metadata of a file, as `lstat` returns it.
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
    pub fn check_regular(&self, path: &Path) -> Result<()> {
        if self.kind == FileType::RegularFile {
            return Ok(());
        }
        Err(Error::state(
            path,
            "is not a regular file",
            "move it to another place",
        ))
    }
}

impl Dir {
    /// Opens a directory outside a room, and follows symbolic links. New files in it get the permissions that the umask
    /// allows.
    pub fn open(path: &Path) -> Result<Dir> {
        let fd = rustix::fs::open(path, DIRECTORY, Mode::empty()).doing("open", path)?;
        Ok(Dir {
            fd: Arc::new(fd),
            path: path.into(),
            access: NewFileAccess::Umask,
        })
    }

    /// Opens a directory below this one. A symbolic link in the path is an error.
    pub fn sub(&self, below: impl AsRef<Path>) -> Result<Dir> {
        let path = self.path.join(&below);
        let fd = super::system::open_beneath(self.fd.as_fd(), below.as_ref(), DIRECTORY)
            .doing("open", &path)?;
        Ok(Dir {
            fd: Arc::new(fd),
            path: path.into(),
            access: self.access,
        })
    }

    /// Opens a directory below this one, and creates missing directories. Survives a kill and a power cut, because the
    /// parents of new directories are synced.
    pub fn make(&self, below: impl AsRef<Path>) -> Result<Dir> {
        self.make_each(below.as_ref(), &mut Dir::sync)
    }

    /// As [`Dir::make`], but a power cut can remove the new directory. For a directory in an inbox: on btrfs a sync of
    /// the inbox alone would leave a just delivered file under two names.
    pub fn make_loose(&self, below: impl AsRef<Path>) -> Result<Dir> {
        self.make_each(below.as_ref(), &mut |_| Ok(()))
    }

    pub(super) fn make_each(
        &self,
        below: &Path,
        made_in: &mut dyn FnMut(&Dir) -> Result<()>,
    ) -> Result<Dir> {
        if let Ok(dir) = self.sub(below) {
            return Ok(dir);
        }
        // In one step: a sandbox may let a directory on the way be passed, and not be opened.
        let (mut at, there) = below
            .ancestors()
            .skip(1)
            .find_map(|above| Some((self.sub(above).ok()?, above)))
            .unwrap_or_else(|| (self.clone(), Path::new("")));
        for part in below.strip_prefix(there).unwrap_or(below).components() {
            let is_new =
                match rustix::fs::mkdirat(&*at.fd, part.as_os_str(), self.access.directory()) {
                    Ok(()) => true,
                    Err(Errno::EXIST) => false,
                    Err(e) => return Err(e).doing("create the directory", at.path.join(part)),
                };
            let inner = at.sub(part)?;
            if is_new {
                made_in(&at)?;
            }
            at = inner;
        }
        Ok(at)
    }

    /// The path that this directory was opened by.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path of a file in this directory, for messages.
    pub fn at(&self, name: impl AsRef<Path>) -> PathBuf {
        self.path.join(name)
    }

    /// The metadata of a file below this directory. `None` if the file does not exist.
    pub fn stat(&self, name: impl AsRef<Path>) -> Result<Option<Meta>> {
        match rustix::fs::statat(&*self.fd, name.as_ref(), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(Meta::new(&stat))),
            Err(Errno::NOENT) => Ok(None),
            Err(e) => Err(e).doing_in("look at", self.path(), name),
        }
    }

    /// The metadata of this directory.
    pub fn meta(&self) -> Result<Meta> {
        Ok(Meta::new(
            &rustix::fs::fstat(&*self.fd).doing("look at", &self.path)?,
        ))
    }

    /// The names in this directory, in the file system's order, without `.` and `..`. The listing is read in parts, so
    /// a directory with a million files needs little memory.
    pub fn list(&self) -> Result<DirectoryListing> {
        charge_read(OPEN).doing("list", &self.path)?;
        let entries = rustix::fs::Dir::read_from(&*self.fd).doing("list", &self.path)?;
        Ok(DirectoryListing {
            entries,
            path: self.path.clone(),
        })
    }

    /// The names in this directory that are UTF-8, in the file system's order.
    pub fn names(&self) -> Result<Vec<String>> {
        let names = self.list()?.map(|entry| Ok(entry?.name.into_string().ok()));
        names.filter_map(Result::transpose).collect()
    }

    /// Opens or creates a file that is rewritten in place.
    pub(super) fn open_to_rewrite(&self, name: impl AsRef<Path>) -> Result<File> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(&*self.fd, name.as_ref(), flags, self.access.file());
        Ok(File::from(fd.doing_in("open", self.path(), &name)?))
    }

    /// Opens a file in this directory for reading. Never blocks and never follows a link.
    pub fn look(&self, name: impl AsRef<Path>) -> Result<File> {
        charge_read(OPEN).doing_in("open", self.path(), &name)?;
        let fd = rustix::fs::openat(&*self.fd, name.as_ref(), LOOK, Mode::empty()).doing_in(
            "open",
            self.path(),
            name,
        )?;
        Ok(fd.into())
    }

    /// As [`Dir::sub`]. `None` if the directory does not exist.
    pub fn sub_if_exists(&self, below: impl AsRef<Path>) -> Result<Option<Dir>> {
        none_if_missing(self.sub(below))
    }

    /// As [`Dir::look`]. `None` if the file does not exist.
    pub fn look_if_exists(&self, name: impl AsRef<Path>) -> Result<Option<File>> {
        none_if_missing(self.look(name))
    }

    /// The whole content of a regular file of at most `most` bytes. `None` if the file does not exist.
    pub fn read(&self, name: impl AsRef<Path>, most: u64) -> Result<Option<Vec<u8>>> {
        let name = name.as_ref();
        let Some(file) = self.look_if_exists(name)? else {
            return Ok(None);
        };
        let meta = file_meta(&file).doing_in("look at", self.path(), name)?;
        if meta.kind != FileType::RegularFile || meta.size > most {
            let what = if meta.kind == FileType::RegularFile {
                "is too large"
            } else {
                "is not a regular file"
            };
            return Err(Error::state(
                self.at(name),
                what,
                "move it to another place",
            ));
        }
        charge_read(meta.size).doing_in("read", self.path(), name)?;
        let mut bytes = Vec::with_capacity(meta.size as usize + 1);
        file.take(most)
            .read_to_end(&mut bytes)
            .doing_in("read", self.path(), name)?;
        Ok(Some(bytes))
    }

    /// Creates a file with this content, never over another file. A kill can leave a partial file, which the caller
    /// recognizes by its name and its records. A failure leaves no file. A power cut preserves the file only after a
    /// sync.
    pub fn create(&self, name: impl AsRef<Path>, bytes: &[u8]) -> Result<File> {
        let name = name.as_ref();
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(&*self.fd, name, flags, self.access.file()).doing_in(
            "make",
            self.path(),
            name,
        )?;
        let mut file = File::from(fd);
        if let Err(e) = file.write_all(bytes) {
            let _ = self.remove(name);
            return Err(e).doing_in("write", self.path(), name);
        }
        Ok(file)
    }

    /// Replaces the content of a file in one step: readers see the old content or the new content. Survives a kill, and
    /// after it returns, a power cut.
    pub fn replace(&self, name: impl AsRef<Path>, bytes: &[u8]) -> Result<()> {
        let name = name.as_ref();
        let mut temporary = OsString::from(".");
        temporary.push(name.file_name().unwrap_or_default());
        temporary.push(format!(".{}.tmp", std::process::id()));
        self.replace_by(name, &name.with_file_name(temporary), bytes)
    }

    /// As [`Dir::replace`], with a given name for the temporary file in the same directory. A kill can leave a part of
    /// the temporary file.
    pub fn replace_by(&self, name: &Path, temporary: &Path, bytes: &[u8]) -> Result<()> {
        self.remove(temporary)?;
        let file = self.create(temporary, bytes)?;
        super::system::sync_file(file.as_fd()).map_err(|source| Error::Sync {
            path: self.at(temporary),
            source,
        })?;
        rustix::fs::renameat(&*self.fd, temporary, &*self.fd, name).doing_in(
            "replace",
            self.path(),
            name,
        )?;
        match name.parent().filter(|p| !p.as_os_str().is_empty()) {
            Some(parent) => self.sub(parent)?.sync(),
            None => self.sync(),
        }
    }

    /// As [`Dir::replace`], with a temporary file of this name in another directory of the same file system.
    pub fn replace_from(
        &self,
        drafts: &Dir,
        draft: &str,
        name: impl AsRef<Path>,
        bytes: &[u8],
    ) -> Result<()> {
        let name = name.as_ref();
        drafts.remove(draft)?;
        let file = drafts.create(draft, bytes)?;
        super::system::sync_file(file.as_fd()).map_err(|source| Error::Sync {
            path: drafts.at(draft),
            source,
        })?;
        rustix::fs::renameat(&*drafts.fd, draft, &*self.fd, name).doing_in(
            "replace",
            self.path(),
            name,
        )?;
        self.sync()
    }

    /// As [`Dir::replace`], for content that can be generated again. Nothing is synced, so a power cut can leave any
    /// part of it. Only one process at a time may call it.
    pub fn show(&self, name: impl AsRef<OsStr>, bytes: &[u8]) -> Result<()> {
        let name = name.as_ref();
        let temporary = [OsStr::new("."), name, OsStr::new(".tmp")]
            .into_iter()
            .collect::<OsString>();
        let file = match self.create(&temporary, bytes) {
            // A kill has left it.
            Err(e) if e.errno() == Some(libc::EEXIST) => {
                self.remove(&temporary)?;
                self.create(&temporary, bytes)?
            }
            file => file?,
        };
        // The file is closed before it gets its name, so a reader never finds it open for writing.
        drop(file);
        rustix::fs::renameat(&*self.fd, &temporary, &*self.fd, name).doing_in(
            "replace",
            self.path(),
            name,
        )
    }

    /// Creates a symbolic link in one step, and replaces an existing file unless it is the same link. As with
    /// [`Dir::show`], nothing is synced, and only one process at a time may call it.
    pub fn link(&self, name: &str, target: &str) -> Result<()> {
        if rustix::fs::readlinkat(&*self.fd, name, Vec::new())
            .is_ok_and(|there| there.as_bytes() == target.as_bytes())
        {
            return Ok(());
        }
        let temporary = format!(".{name}.tmp");
        self.remove(&temporary)?;
        rustix::fs::symlinkat(target, &*self.fd, &temporary).doing_in(
            "create a link",
            self.path(),
            &temporary,
        )?;
        rustix::fs::renameat(&*self.fd, &temporary, &*self.fd, name).doing_in(
            "replace",
            self.path(),
            name,
        )
    }

    /// Moves a file, never over another file. After a kill, the file is complete under one of the two names. It
    /// survives a power cut once both directories are synced, the source first: if only the target is synced, btrfs can
    /// keep both names. If the file already has both names, the old name is removed.
    pub fn rename(
        &self,
        name: impl AsRef<Path>,
        to: &Dir,
        new: impl AsRef<Path>,
        verb: &'static str,
    ) -> Result<()> {
        let (name, new) = (name.as_ref(), new.as_ref());
        let done = if failpoint::on(Failpoint::NoReplace) {
            super::system::rename_no_replace(self.fd.as_fd(), name, to.fd.as_fd(), new)
        } else {
            rustix::fs::renameat(&*self.fd, name, &*to.fd, new)
        };
        if done == Err(Errno::EXIST)
            && failpoint::on(Failpoint::SecondName)
            && self.is_second_name(name, to, new)?
        {
            return self.remove(name);
        }
        done.doing_in(verb, to.path(), new)
    }

    /// Renames a directory in this one. The new name must be unused or an empty directory. Survives a power cut.
    pub fn rename_directory(&self, name: &OsStr, new: &OsStr) -> Result<()> {
        rustix::fs::renameat(&*self.fd, name, &*self.fd, new).doing_in(
            "rename",
            self.path(),
            name,
        )?;
        self.sync()
    }

    /// Returns true if both are names of the same file.
    fn is_second_name(&self, name: &Path, to: &Dir, new: &Path) -> Result<bool> {
        let (Some(one), Some(other)) = (self.stat(name)?, to.stat(new)?) else {
            return Ok(false);
        };
        let is_same_name = name == new && self.meta()?.is_same_file(&to.meta()?);
        Ok(one.is_same_file(&other) && one.links > 1 && !is_same_name)
    }

    /// Removes a file. A missing file is not an error.
    pub fn remove(&self, name: impl AsRef<Path>) -> Result<()> {
        match rustix::fs::unlinkat(&*self.fd, name.as_ref(), AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(e) => Err(e).doing_in("remove", self.path(), name),
        }
    }

    /// Removes a file if its metadata is still the same. Returns `false` and removes nothing if the file has changed. A
    /// missing file is not an error. A write between the check and the removal is lost.
    pub fn remove_if_same(&self, name: impl AsRef<Path>, then: &Meta) -> Result<bool> {
        match self.stat(&name)? {
            Some(now) if now != *then => Ok(false),
            Some(_) => self.remove(&name).map(|()| true),
            None => Ok(true),
        }
    }

    /// Removes an empty directory. A missing or non-empty directory is not an error.
    pub fn remove_empty(&self, name: impl AsRef<Path>) -> Result<()> {
        match rustix::fs::unlinkat(&*self.fd, name.as_ref(), AtFlags::REMOVEDIR) {
            Ok(()) | Err(Errno::NOENT | Errno::NOTEMPTY | Errno::EXIST) => Ok(()),
            Err(e) => Err(e).doing_in("remove", self.path(), name),
        }
    }

    /// Returns true if this process may create and remove names in this directory.
    pub fn is_writable(&self) -> bool {
        let access = rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK;
        rustix::fs::accessat(&*self.fd, ".", access, AtFlags::EACCESS).is_ok()
    }

    /// Makes the names in this directory durable.
    pub fn sync(&self) -> Result<()> {
        super::system::sync_file(self.fd.as_fd()).map_err(|source| Error::Sync {
            path: self.path.to_path_buf(),
            source,
        })
    }
}

impl AsFd for Dir {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

fn none_if_missing<T>(opened: Result<T>) -> Result<Option<T>> {
    match opened {
        Err(e) if e.is_missing() => Ok(None),
        opened => opened.map(Some),
    }
}

/// Returns true if file events report all changes in a directory. They do not on file systems that other machines can
/// write to.
pub fn events_work(dir: &Dir) -> bool {
    test_variable("MAILBAG_TEST_SILENT").is_none() && super::system::events_work(dir.as_fd())
}

/// Returns true if a file in this directory keeps its inode number. Some file systems in user space change it at any
/// time.
pub fn has_stable_inodes(dir: &Dir) -> bool {
    test_variable("MAILBAG_TEST_INODES").is_none() && super::system::has_stable_inodes(dir.as_fd())
}

/// The metadata of an open file.
pub fn file_meta(file: &File) -> std::io::Result<Meta> {
    Ok(Meta::new(&rustix::fs::fstat(file)?))
}

/// Asks for a read lease to find out whether another process has this file open for writing. The lease is released
/// immediately.
pub fn lease(file: &File) -> ReadLeaseResult {
    super::system::lease(file)
}

impl Meta {
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

    // The types of the fields differ between systems.
    #[allow(clippy::unnecessary_cast, clippy::useless_conversion)]
    pub(super) fn new(stat: &Stat) -> Meta {
        Meta {
            kind: FileType::from_raw_mode(stat.st_mode as _),
            size: stat.st_size as u64,
            inode: stat.st_ino as u64,
            device: stat.st_dev as u64,
            links: stat.st_nlink as u64,
            mode: stat.st_mode as u32 & 0o7777,
            uid: stat.st_uid,
            gid: stat.st_gid,
            modified: i128::from(stat.st_mtime) * 1_000_000_000 + stat.st_mtime_nsec as i128,
            changed: i128::from(stat.st_ctime) * 1_000_000_000 + stat.st_ctime_nsec as i128,
        }
    }
}
