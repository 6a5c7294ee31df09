//! The files of the system, and the only raw file calls of this program: the best calls on Linux, and portable variants
//! with the same guarantees elsewhere.
//!
//! `MAILBAG_TEST_PORTABLE=1` makes a test build on Linux use the portable variants.

use super::fs::{
    DirectoryEntry, Existing, Fs, Listing, Lock, Meta, Open, ReadLeaseResult, Sync, Volume,
};
use crate::base::test_variable;
use rustix::fs::{
    Access, AtFlags, FileType, FlockOperation, Mode, OFlags, Stat, Timespec, Timestamps,
};
use rustix::io::Errno;
use std::any::Any;
use std::ffi::OsStr;
use std::io::Result;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

/// An open file or directory of the system, or the working directory. Absolute paths are opened from the latter as well.
#[derive(Debug)]
enum Real {
    WorkingDirectory,
    Opened {
        fd: OwnedFd,
        appends: bool,
        /// Whether the descriptor's offset in its directory has been used.
        is_read: AtomicBool,
    },
}

/// A FIFO or a leased file does not block the caller, and no terminal becomes the controlling terminal.
const FILE: OFlags = OFlags::NOFOLLOW
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);
const DIRECTORY: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::CLOEXEC);

/// The most names in a small directory.
#[cfg(target_os = "linux")]
const SMALL: usize = 64;
/// The size in bytes of the buffer for a small directory.
#[cfg(target_os = "linux")]
const SMALL_BYTES: usize = 4 << 10;

/// The working directory.
pub(super) fn root() -> Arc<dyn Fs> {
    Arc::new(Real::WorkingDirectory)
}

/// A file that this process got from another one, such as a pipe.
pub(super) fn given(fd: OwnedFd) -> Arc<dyn Fs> {
    Arc::new(Real::opened(fd, false))
}

/// Returns true if this program uses the special calls of Linux.
pub fn linux_calls() -> bool {
    static PORTABLE: LazyLock<bool> =
        LazyLock::new(|| test_variable("MAILBAG_TEST_PORTABLE").is_some());
    cfg!(target_os = "linux") && !*PORTABLE
}

/// Returns true if the system has a call that makes a whole file system durable.
pub fn can_sync_all() -> bool {
    linux_calls()
}

impl Real {
    fn opened(fd: OwnedFd, appends: bool) -> Real {
        Real::Opened {
            fd,
            appends,
            is_read: AtomicBool::new(false),
        }
    }

    /// The names in a small directory, read by its own descriptor once. Most outboxes are empty, and another descriptor
    /// would double the cost of a look at a thousand of them.
    #[cfg(target_os = "linux")]
    fn small_listing(&self) -> Result<Option<Vec<DirectoryEntry>>> {
        let Real::Opened { fd, is_read, .. } = self else {
            return Ok(None);
        };
        if !linux_calls() || is_read.swap(true, Ordering::Relaxed) {
            return Ok(None);
        }
        let mut buffer = [const { std::mem::MaybeUninit::uninit() }; SMALL_BYTES];
        let mut raw = rustix::fs::RawDir::new(fd, &mut buffer);
        let mut entries = Vec::new();
        while let Some(entry) = raw.next() {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if entries.len() == SMALL {
                return Ok(None);
            }
            if name != "." && name != ".." {
                entries.push(DirectoryEntry {
                    name: name.to_owned(),
                    kind: entry.file_type(),
                    inode: entry.ino(),
                });
            }
        }
        Ok(Some(entries))
    }

    fn fd(&self) -> BorrowedFd<'_> {
        match self {
            Real::WorkingDirectory => rustix::fs::CWD,
            Real::Opened { fd, .. } => fd.as_fd(),
        }
    }
}

impl Fs for Real {
    fn open(&self, below: &Path, how: Open) -> Result<Arc<dyn Fs>> {
        let file = |flags: OFlags, mode: u32| {
            rustix::fs::openat(
                self.fd(),
                below,
                flags | FILE,
                Mode::from_raw_mode(mode as _),
            )
        };
        let new = OFlags::CREATE;
        let appends = matches!(how, Open::Append | Open::AppendOrMake(_));
        let fd = match how {
            Open::Directory => open_beneath(self.fd(), below, DIRECTORY),
            Open::Outside => rustix::fs::openat(self.fd(), below, DIRECTORY, Mode::empty()),
            Open::Look => file(OFlags::RDONLY, 0),
            Open::Change => file(OFlags::RDWR, 0),
            Open::ChangeOrMake(mode) => file(OFlags::RDWR | new, mode),
            Open::Append => file(OFlags::WRONLY | OFlags::APPEND, 0),
            Open::AppendOrMake(mode) => file(OFlags::RDWR | OFlags::APPEND | new, mode),
            Open::Make(mode) => file(OFlags::WRONLY | new | OFlags::EXCL, mode),
        };
        Ok(Arc::new(Real::opened(fd?, appends)))
    }

    fn make_directory(&self, name: &Path, mode: u32) -> Result<()> {
        Ok(rustix::fs::mkdirat(
            self.fd(),
            name,
            Mode::from_raw_mode(mode as _),
        )?)
    }

    fn make_link(&self, name: &Path, target: &Path) -> Result<()> {
        Ok(rustix::fs::symlinkat(target, self.fd(), name)?)
    }

    fn read_link(&self, name: &Path) -> Result<PathBuf> {
        let target = rustix::fs::readlinkat(self.fd(), name, Vec::new())?;
        Ok(OsStr::from_bytes(target.as_bytes()).into())
    }

    fn rename(&self, name: &Path, to: &dyn Fs, new: &Path, existing: Existing) -> Result<()> {
        let to = to.as_any().downcast_ref::<Real>().ok_or(Errno::XDEV)?.fd();
        Ok(match existing {
            Existing::Replace => rustix::fs::renameat(self.fd(), name, to, new),
            Existing::Keep => rename_no_replace(self.fd(), name, to, new),
        }?)
    }

    fn remove(&self, name: &Path) -> Result<()> {
        Ok(rustix::fs::unlinkat(self.fd(), name, AtFlags::empty())?)
    }

    fn remove_directory(&self, name: &Path) -> Result<()> {
        Ok(rustix::fs::unlinkat(self.fd(), name, AtFlags::REMOVEDIR)?)
    }

    fn stat(&self, name: &Path) -> Result<Meta> {
        Ok(meta(&rustix::fs::statat(
            self.fd(),
            name,
            AtFlags::SYMLINK_NOFOLLOW,
        )?))
    }

    fn list(&self) -> Result<Listing> {
        #[cfg(target_os = "linux")]
        if let Some(entries) = self.small_listing()? {
            return Ok(Box::new(entries.into_iter().map(Ok)));
        }
        let entries = rustix::fs::Dir::read_from(self.fd())?;
        Ok(Box::new(entries.filter_map(|entry| {
            let entry = match entry {
                Ok(entry) => entry,
                Err(e) => return Some(Err(e.into())),
            };
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            (name != "." && name != "..").then(|| {
                Ok(DirectoryEntry {
                    name: name.to_owned(),
                    kind: entry.file_type(),
                    inode: entry.ino(),
                })
            })
        })))
    }

    fn may_write(&self) -> bool {
        let access = Access::WRITE_OK | Access::EXEC_OK;
        rustix::fs::accessat(self.fd(), ".", access, AtFlags::EACCESS).is_ok()
    }

    fn canonical(&self, path: &Path) -> Result<PathBuf> {
        path.canonicalize()
    }

    fn meta(&self) -> Result<Meta> {
        Ok(meta(&rustix::fs::fstat(self.fd())?))
    }

    fn read_at(&self, bytes: &mut [u8], at: u64) -> Result<usize> {
        Ok(rustix::io::pread(self.fd(), bytes, at)?)
    }

    fn write_at(&self, bytes: &[u8], at: u64) -> Result<usize> {
        Ok(match self {
            Real::Opened { appends: true, .. } => rustix::io::write(self.fd(), bytes),
            _ => rustix::io::pwrite(self.fd(), bytes, at),
        }?)
    }

    fn set_len(&self, length: u64) -> Result<()> {
        Ok(rustix::fs::ftruncate(self.fd(), length)?)
    }

    fn set_modified(&self, time: Option<i128>) -> Result<()> {
        let time = match time {
            Some(nanos) => Timespec {
                tv_sec: nanos.div_euclid(1_000_000_000) as _,
                tv_nsec: nanos.rem_euclid(1_000_000_000) as _,
            },
            None => Timespec {
                tv_sec: 0,
                tv_nsec: rustix::fs::UTIME_NOW,
            },
        };
        let times = Timestamps {
            last_access: time,
            last_modification: time,
        };
        Ok(rustix::fs::futimens(self.fd(), &times)?)
    }

    fn set_mode(&self, mode: u32) -> Result<()> {
        Ok(rustix::fs::fchmod(
            self.fd(),
            Mode::from_raw_mode(mode as _),
        )?)
    }

    fn lock(&self, lock: Lock) -> Result<bool> {
        let operation = match lock {
            Lock::Exclusive => FlockOperation::NonBlockingLockExclusive,
            Lock::Shared => FlockOperation::NonBlockingLockShared,
            Lock::Free => FlockOperation::Unlock,
        };
        match rustix::fs::flock(self.fd(), operation) {
            Ok(()) => Ok(true),
            Err(Errno::WOULDBLOCK) => Ok(false),
            Err(e) => Err(e.into()),
        }
    }

    fn lease(&self) -> ReadLeaseResult {
        lease(self.fd())
    }

    fn sync(&self, what: Sync) -> Result<()> {
        match what {
            #[cfg(target_vendor = "apple")]
            Sync::Full | Sync::Data => Ok(rustix::fs::fcntl_fullfsync(self.fd())?),
            #[cfg(not(target_vendor = "apple"))]
            Sync::Full => Ok(rustix::fs::fsync(self.fd())?),
            #[cfg(not(target_vendor = "apple"))]
            Sync::Data => Ok(rustix::fs::fdatasync(self.fd())?),
            #[cfg(target_os = "linux")]
            Sync::All => Ok(rustix::fs::syncfs(self.fd())?),
            #[cfg(not(target_os = "linux"))]
            Sync::All => Err(std::io::ErrorKind::Unsupported.into()),
        }
    }

    fn forget(&self) -> Result<()> {
        // Only Linux needs it, and only Linux has the call.
        #[cfg(target_os = "linux")]
        rustix::fs::fadvise(self.fd(), 0, None, rustix::fs::Advice::DontNeed)?;
        Ok(())
    }

    #[allow(clippy::unnecessary_cast)] // The fields' types differ between systems.
    fn volume(&self) -> Option<Volume> {
        let stat = rustix::fs::fstatvfs(self.fd()).ok()?;
        #[cfg(target_os = "linux")]
        let magic = rustix::fs::fstatfs(self.fd()).ok()?.f_type as i64 & 0xffff_ffff;
        #[cfg(not(target_os = "linux"))]
        let magic = 0;
        Some(Volume {
            bytes: stat.f_bavail as u64 * stat.f_frsize as u64,
            files: (stat.f_files > 0).then_some(stat.f_favail as u64),
            is_read_only: stat.f_flag.contains(rustix::fs::StatVfsMountFlags::RDONLY),
            magic,
        })
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

// The types of the fields differ between systems.
#[allow(clippy::unnecessary_cast, clippy::useless_conversion)]
fn meta(stat: &Stat) -> Meta {
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

/// Opens a path below a directory. A symbolic link anywhere in the path is an error.
fn open_beneath(dir: BorrowedFd<'_>, below: &Path, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    #[cfg(target_os = "linux")]
    if linux_calls() {
        use rustix::fs::ResolveFlags;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        match rustix::fs::openat2(dir, below, flags, Mode::empty(), resolve) {
            // Old kernels and some sandboxes have no openat2.
            Err(Errno::NOSYS | Errno::PERM) => {}
            opened => return opened,
        }
    }
    open_step_by_step(dir, below, flags)
}

/// The portable variant of `openat2`: opens one directory after the other, without following links.
fn open_step_by_step(
    dir: BorrowedFd<'_>,
    below: &Path,
    flags: OFlags,
) -> rustix::io::Result<OwnedFd> {
    let mut at: Option<OwnedFd> = None;
    for part in below.components() {
        let Component::Normal(part) = part else {
            return Err(Errno::INVAL);
        };
        let from = at.as_ref().map_or(dir, |fd| fd.as_fd());
        at = Some(rustix::fs::openat(
            from,
            part,
            flags | OFlags::NOFOLLOW,
            Mode::empty(),
        )?);
    }
    at.ok_or(Errno::INVAL)
}

/// Renames a file, never over another file. On a file system without this guarantee it checks first. The rename is
/// still atomic, but a file that appears after the check is lost.
fn rename_no_replace(
    from: BorrowedFd<'_>,
    name: &Path,
    to: BorrowedFd<'_>,
    new: &Path,
) -> rustix::io::Result<()> {
    #[cfg(any(target_os = "linux", target_vendor = "apple"))]
    if cfg!(target_vendor = "apple") || linux_calls() {
        match rustix::fs::renameat_with(from, name, to, new, rustix::fs::RenameFlags::NOREPLACE) {
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {}
            done => return done,
        }
    }
    let no_follow = rustix::fs::AtFlags::SYMLINK_NOFOLLOW;
    match rustix::fs::statat(to, new, no_follow) {
        Err(Errno::NOENT) => rustix::fs::renameat(from, name, to, new),
        // As the system's own call does, report first that the source is missing.
        Ok(_) => rustix::fs::statat(from, name, no_follow).and(Err(Errno::EXIST)),
        Err(e) => Err(e),
    }
}

/// Asks for a read lease to find out whether a writer has the file open, and releases it immediately.
#[cfg(target_os = "linux")]
fn lease(file: BorrowedFd<'_>) -> ReadLeaseResult {
    if !linux_calls() {
        return ReadLeaseResult::Unknown;
    }
    catch_lease_breaks();
    if set_lease(file, libc::F_RDLCK) == 0 {
        set_lease(file, libc::F_UNLCK);
        return ReadLeaseResult::Free;
    }
    match std::io::Error::last_os_error().raw_os_error() {
        Some(libc::EAGAIN) => ReadLeaseResult::Writer,
        _ => ReadLeaseResult::Unknown,
    }
}

#[cfg(target_os = "linux")]
fn set_lease(file: BorrowedFd<'_>, kind: libc::c_int) -> libc::c_int {
    // SAFETY: fcntl with F_SETLEASE takes an open descriptor and an integer, and touches no memory of ours.
    #[allow(unsafe_code)]
    unsafe {
        libc::fcntl(file.as_raw_fd(), libc::F_SETLEASE, kind)
    }
}

#[cfg(not(target_os = "linux"))]
fn lease(file: BorrowedFd<'_>) -> ReadLeaseResult {
    let _ = file.as_raw_fd();
    ReadLeaseResult::Unknown
}

/// If a writer opens the file during the lease, the system sends SIGIO, which ends a process by default.
#[cfg(target_os = "linux")]
fn catch_lease_breaks() {
    use std::sync::atomic::AtomicBool;
    use std::sync::{Arc, Once};
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let _ = signal_hook::flag::register(libc::SIGIO, Arc::new(AtomicBool::new(false)));
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::Write;

    #[test]
    fn a_lease_shows_whether_a_writer_has_the_file_open() -> std::io::Result<()> {
        if !linux_calls() {
            return Ok(()); // Other systems cannot tell.
        }
        let dir = tempfile::tempdir()?;
        let path = dir.path().join("x");
        let mut writer = File::create(&path)?;
        writer.write_all(b"{}")?;
        let reader = File::open(&path)?;
        assert_ne!(lease(reader.as_fd()), ReadLeaseResult::Free);
        drop(writer);
        assert_ne!(lease(reader.as_fd()), ReadLeaseResult::Writer);
        Ok(())
    }

    #[test]
    fn both_ways_to_open_reject_a_link_in_the_path() -> std::io::Result<()> {
        let dir = tempfile::tempdir()?;
        std::fs::create_dir_all(dir.path().join("real/below"))?;
        std::os::unix::fs::symlink("real", dir.path().join("link"))?;
        let root = File::open(dir.path())?;
        for open in [open_beneath, open_step_by_step] {
            assert!(open(root.as_fd(), Path::new("real/below"), OFlags::RDONLY).is_ok());
            assert!(open(root.as_fd(), Path::new("link/below"), OFlags::RDONLY).is_err());
        }
        Ok(())
    }

    #[test]
    fn a_rename_never_replaces_another_file() -> std::io::Result<()> {
        // P30
        let dir = tempfile::tempdir()?;
        for name in ["a", "b"] {
            std::fs::write(dir.path().join(name), name)?;
        }
        let root = File::open(dir.path())?;
        let done = rename_no_replace(root.as_fd(), Path::new("a"), root.as_fd(), Path::new("b"));
        assert_eq!(done, Err(Errno::EXIST));
        assert_eq!(std::fs::read(dir.path().join("b"))?, b"b");
        let gone = rename_no_replace(
            root.as_fd(),
            Path::new("gone"),
            root.as_fd(),
            Path::new("b"),
        );
        assert_eq!(
            gone,
            Err(Errno::NOENT),
            "a missing source is not reported as an existing target"
        );
        Ok(())
    }
}
