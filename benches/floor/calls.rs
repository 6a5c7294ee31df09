//! Every file call of the floor, one function each, so that a reader can check and count the calls
//! in one place.
//!
//! The floor is the minimum that a relay with the router's safety must ask of the kernel. Work
//! without file calls (validation, addresses, hashes) is left out; the rest is in the order of use
//! below. Directories are opened once per batch and directory, never followed through a symlink,
//! and names are relative to them.

use rustix::buffer::spare_capacity;
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::fs::{self, AtFlags, Mode, OFlags, RenameFlags, StatxFlags};
use rustix::io::Errno;
use std::io;

/// `openat`: a directory below `parent`, readable so that it can also be synced. Once per batch and directory.
pub(super) fn open_directory(parent: BorrowedFd<'_>, name: &str) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(fs::openat(parent, name, flags, Mode::empty())?)
}

/// A message that has been opened, and what `fstat` said of it.
pub(super) struct Opened {
    pub(super) fd: OwnedFd,
    pub(super) inode: u64,
    pub(super) size: usize,
}

/// `openat`, `fstat`: opens a dropped file without following a link or waiting for a FIFO; `None` if it is gone, or is
/// not a regular file. The size is needed for the read, the inode for [`claimed_is`].
pub(super) fn open_message(outbox: BorrowedFd<'_>, name: &str) -> io::Result<Option<Opened>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let fd = match fs::openat(outbox, name, flags, Mode::empty()) {
        Ok(fd) => fd,
        Err(Errno::NOENT | Errno::LOOP) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let stat = fs::fstat(&fd)?;
    if fs::FileType::from_raw_mode(stat.st_mode) != fs::FileType::RegularFile {
        return Ok(None);
    }
    Ok(Some(Opened {
        fd,
        inode: stat.st_ino,
        size: usize::try_from(stat.st_size).unwrap_or(usize::MAX),
    }))
}

/// `fcntl(F_SETLEASE, F_RDLCK)`, `fcntl(F_SETLEASE, F_UNLCK)`: true if no process holds the file
/// open for writing.
pub(super) fn is_finished(fd: &OwnedFd) -> io::Result<bool> {
    if set_lease(fd, libc::F_RDLCK) == -1 {
        let error = io::Error::last_os_error();
        return if error.raw_os_error() == Some(libc::EAGAIN) {
            Ok(false)
        } else {
            Err(error)
        };
    }
    if set_lease(fd, libc::F_UNLCK) == -1 {
        return Err(io::Error::last_os_error());
    }
    Ok(true)
}

#[allow(
    unsafe_code,
    reason = "rustix has no leases; fcntl with an integer argument touches no memory"
)]
fn set_lease(fd: &OwnedFd, kind: libc::c_int) -> libc::c_int {
    // SAFETY: the borrow keeps the descriptor open, and F_SETLEASE takes a plain integer.
    unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_SETLEASE, kind) }
}

/// `read`: the whole file in one call, since the buffer is one byte larger than the file.
pub(super) fn read_whole(message: &Opened, buffer: &mut Vec<u8>) -> io::Result<()> {
    buffer.clear();
    buffer.reserve(message.size + 1);
    rustix::io::read(&message.fd, spare_capacity(buffer))?;
    Ok(())
}

/// `renameat2(RENAME_NOREPLACE)`: the three moves of a message: outbox to claim, stage to inbox, claim to sent.
pub(super) fn rename(
    from: BorrowedFd<'_>,
    old: &str,
    to: BorrowedFd<'_>,
    new: &str,
) -> io::Result<()> {
    Ok(fs::renameat_with(
        from,
        old,
        to,
        new,
        RenameFlags::NOREPLACE,
    )?)
}

/// `statx`: that the file claimed is the file that was read, and not one put in its place since.
pub(super) fn claimed_is(claims: BorrowedFd<'_>, name: &str, inode: u64) -> io::Result<bool> {
    let stat = fs::statx(
        claims,
        name,
        AtFlags::SYMLINK_NOFOLLOW,
        StatxFlags::BASIC_STATS,
    )?;
    Ok(stat.stx_ino == inode)
}

/// `openat(O_CREAT | O_EXCL)`, `write`: one recipient's copy. `close` follows when the descriptor
/// is dropped: immediately, or after the sync if files are synced one by one.
pub(super) fn stage(stage: BorrowedFd<'_>, name: &str, copy: &[u8]) -> io::Result<OwnedFd> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let fd = fs::openat(stage, name, flags, Mode::from_raw_mode(0o644))?;
    write_once(fd.as_fd(), copy)?;
    Ok(fd)
}

/// `fsync`: barrier 1 for a few files: each staged file, and each directory that a name entered or left.
pub(super) fn sync_one(file: BorrowedFd<'_>) -> io::Result<()> {
    Ok(fs::fsync(file)?)
}

/// `syncfs`: barrier 1 for many files.
pub(super) fn sync_all(root: BorrowedFd<'_>) -> io::Result<()> {
    Ok(fs::syncfs(root)?)
}

/// `write`: the records of a whole batch in one append.
pub(super) fn append(log: BorrowedFd<'_>, records: &[u8]) -> io::Result<()> {
    write_once(log, records)
}

/// `fdatasync`: barrier 2.
pub(super) fn commit(log: BorrowedFd<'_>) -> io::Result<()> {
    Ok(fs::fdatasync(log)?)
}

/// One `write` of everything; a short one is an error, since a retry would be a second call that is not in the count.
fn write_once(fd: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<()> {
    let written = rustix::io::write(fd, bytes)?;
    if written == bytes.len() {
        Ok(())
    } else {
        Err(io::Error::from(io::ErrorKind::WriteZero))
    }
}
