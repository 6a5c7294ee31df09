//! Differences between operating systems: the best calls on Linux, and portable variants with the same guarantees
//! elsewhere. Test builds on Linux can use these variants.

use super::failpoint;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;

type Result<T> = rustix::io::Result<T>;

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

/// Opens a path below a directory. A symbolic link anywhere in the path is an error.
pub(super) fn open_beneath(dir: BorrowedFd<'_>, below: &Path, flags: OFlags) -> Result<OwnedFd> {
    #[cfg(target_os = "linux")]
    if failpoint::linux_calls() {
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
fn open_step_by_step(dir: BorrowedFd<'_>, below: &Path, flags: OFlags) -> Result<OwnedFd> {
    let mut at: Option<OwnedFd> = None;
    for part in below.components() {
        let std::path::Component::Normal(part) = part else {
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
pub(super) fn rename_no_replace(
    from: BorrowedFd<'_>,
    name: &Path,
    to: BorrowedFd<'_>,
    new: &Path,
) -> Result<()> {
    #[cfg(any(target_os = "linux", target_vendor = "apple"))]
    if cfg!(target_vendor = "apple") || failpoint::linux_calls() {
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

/// Makes a file's content, or a directory's names, durable, including the drive's cache.
pub(super) fn sync_file(fd: BorrowedFd<'_>) -> std::io::Result<()> {
    if !failpoint::syncs() {
        return Ok(());
    }
    #[cfg(target_vendor = "apple")]
    let done = rustix::fs::fcntl_fullfsync(fd);
    #[cfg(not(target_vendor = "apple"))]
    let done = rustix::fs::fsync(fd);
    Ok(done?)
}

/// Makes a file's content durable, with only the metadata needed to read it.
pub(super) fn sync_data(fd: BorrowedFd<'_>) -> std::io::Result<()> {
    if !failpoint::syncs() {
        return Ok(());
    }
    #[cfg(target_vendor = "apple")]
    let done = rustix::fs::fcntl_fullfsync(fd);
    #[cfg(not(target_vendor = "apple"))]
    let done = rustix::fs::fdatasync(fd);
    Ok(done?)
}

/// Drops a file's pages from the cache, except pages that are unwritten or in use. Only Linux has this call, and only
/// Linux needs it, so every Linux build uses it.
pub(super) fn forget(fd: BorrowedFd<'_>) -> Result<()> {
    #[cfg(target_os = "linux")]
    return rustix::fs::fadvise(fd, 0, None, rustix::fs::Advice::DontNeed);
    #[cfg(not(target_os = "linux"))]
    {
        let _ = fd;
        Ok(())
    }
}

/// Returns true if the system has a call that makes a whole file system durable.
pub fn can_sync_all() -> bool {
    failpoint::linux_calls()
}

/// Makes everything on the file system of `fd` durable. Only where [`can_sync_all`].
pub(super) fn sync_all(fd: BorrowedFd<'_>) -> std::io::Result<()> {
    if !failpoint::syncs() {
        return Ok(());
    }
    #[cfg(target_os = "linux")]
    return Ok(rustix::fs::syncfs(fd)?);
    #[cfg(not(target_os = "linux"))]
    {
        let _ = fd;
        Err(std::io::ErrorKind::Unsupported.into())
    }
}

/// Network, FUSE and shared-folder file systems can change without an event. The magic numbers are in statfs(2).
#[cfg(target_os = "linux")]
pub(super) fn events_work(fd: BorrowedFd<'_>) -> bool {
    const SILENT: [i64; 3] = [
        0x6969,      // NFS
        0x00c3_6400, // Ceph
        0x5346_414f, // AFS
    ];
    rustix::fs::fstatfs(fd)
        .is_ok_and(|stat| !SILENT.contains(&magic(&stat)) && !TRANSLATED.contains(&magic(&stat)))
}

/// Returns true if a file keeps its inode number while it exists.
#[cfg(target_os = "linux")]
pub(super) fn has_stable_inodes(fd: BorrowedFd<'_>) -> bool {
    rustix::fs::fstatfs(fd).is_ok_and(|stat| !TRANSLATED.contains(&magic(&stat)))
}

/// File systems that translate another file system. They may invent inode numbers.
#[cfg(target_os = "linux")]
const TRANSLATED: [i64; 6] = [
    0xff53_4d42, // CIFS
    0xfe53_4d42, // SMB2
    0x517b,      // SMB
    0x6573_5546, // FUSE
    0x0102_1997, // 9P, which WSL and some virtual machines use
    0x786f_4256, // VirtualBox shared folders
];

#[cfg(target_os = "linux")]
#[allow(clippy::unnecessary_cast)] // The field's type differs between processors.
pub(super) fn magic(stat: &rustix::fs::StatFs) -> i64 {
    stat.f_type as i64 & 0xffff_ffff
}

#[cfg(not(target_os = "linux"))]
pub(super) fn has_stable_inodes(_: BorrowedFd<'_>) -> bool {
    true
}

#[cfg(not(target_os = "linux"))]
pub(super) fn events_work(_: BorrowedFd<'_>) -> bool {
    true
}

/// Asks for a read lease to find out whether a writer has the file open, and releases it immediately.
#[cfg(target_os = "linux")]
pub(super) fn lease(file: &File) -> ReadLeaseResult {
    if !failpoint::linux_calls() {
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
fn set_lease(file: &File, kind: libc::c_int) -> libc::c_int {
    // SAFETY: fcntl with F_SETLEASE takes an open descriptor and an integer, and touches no memory of ours.
    #[allow(unsafe_code)]
    unsafe {
        libc::fcntl(file.as_raw_fd(), libc::F_SETLEASE, kind)
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) fn lease(file: &File) -> ReadLeaseResult {
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
    use std::io::Write;

    #[test]
    fn a_lease_shows_whether_a_writer_has_the_file_open() -> std::io::Result<()> {
        if !failpoint::linux_calls() {
            return Ok(()); // Other systems cannot tell.
        }
        let dir = tempfile::tempdir()?;
        let path = dir.path().join("x");
        let mut writer = File::create(&path)?;
        writer.write_all(b"{}")?;
        let reader = File::open(&path)?;
        assert_ne!(lease(&reader), ReadLeaseResult::Free);
        drop(writer);
        assert_ne!(lease(&reader), ReadLeaseResult::Writer);
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
