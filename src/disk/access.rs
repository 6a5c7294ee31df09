//! Permissions and owners of new files and directories.

use rustix::fs::{Gid, Mode, Stat, Uid, fchmod, fchown, fstat};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::DirBuilderExt;
use std::sync::LazyLock;

/// The permissions of new files and directories.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NewFileAccess {
    /// As the umask of the process says, but never writable for all users; outside rooms.
    Umask,
    /// 0700 and 0600.
    Owner,
    /// 02750 and 0640, whatever the umask.
    Group,
}

/// The users who may read a room. Its owner can also grant access by hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RoomReaders {
    /// Its owner only.
    Owner,
    /// Its owner, and the group of its directory.
    Group,
}

/// The user and the group of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileOwner {
    /// The user.
    pub uid: u32,
    /// The group.
    pub gid: u32,
}

/// Only root can give a file away.
static MAY_GIVE: LazyLock<bool> = LazyLock::new(|| rustix::process::geteuid().is_root());

/// The umask of the process. One that lets all users write counts as 022: files of clients name programs to run.
static UMASK: LazyLock<u32> = LazyLock::new(|| {
    // The umask can only be read by setting it. Until it is set back, other threads make files for their user only.
    let own = rustix::process::umask(Mode::RWXG | Mode::RWXO);
    rustix::process::umask(own);
    let own = bits(own);
    if own & 0o002 == 0 { own | 0o022 } else { own }
});

/// Creates a directory outside rooms, and missing parents.
pub(super) fn make_outside(path: &std::path::Path) -> std::io::Result<()> {
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(bits(NewFileAccess::Umask.directory()))
        .create(path)
}

/// The bits of a mode, which have different types on different systems.
#[allow(clippy::useless_conversion)]
fn bits(mode: Mode) -> u32 {
    mode.bits().into()
}

impl NewFileAccess {
    /// The access below a room's directory. If the directory has the set-group-ID bit, which on Unix means that its
    /// group shares it, the group also has read access.
    pub(super) fn below(room: &Stat) -> NewFileAccess {
        if Mode::from_raw_mode(room.st_mode).contains(Mode::SGID) {
            NewFileAccess::Group
        } else {
            NewFileAccess::Owner
        }
    }

    pub(super) fn directory(self) -> Mode {
        Mode::from_raw_mode(match self {
            NewFileAccess::Umask => 0o777 & !*UMASK,
            NewFileAccess::Owner => 0o700,
            NewFileAccess::Group => 0o750,
        })
    }

    pub(super) fn file(self) -> Mode {
        Mode::from_raw_mode(match self {
            NewFileAccess::Umask => 0o666 & !*UMASK,
            NewFileAccess::Owner => 0o600,
            NewFileAccess::Group => 0o640,
        })
    }

    /// Gives a new file or directory the owner of its parent directory, and restores permissions that the umask
    /// removed.
    pub(super) fn complete(
        self,
        made: BorrowedFd,
        mode: Mode,
        parent: BorrowedFd,
    ) -> rustix::io::Result<()> {
        self.hand_over(made, parent)?;
        self.restore(made, mode)
    }

    /// Restores the permissions of a new file or directory that the umask removed.
    pub(super) fn restore(self, made: BorrowedFd, mode: Mode) -> rustix::io::Result<()> {
        if self == NewFileAccess::Group {
            let shares = fstat(made)?.st_mode & Mode::SGID.bits();
            fchmod(made, mode | Mode::from_raw_mode(shares))?;
        }
        Ok(())
    }

    /// Gives a new file or directory the owner of its parent directory. A router that runs as root thus leaves no file
    /// that the agent cannot use.
    pub(super) fn hand_over(self, made: BorrowedFd, parent: BorrowedFd) -> rustix::io::Result<()> {
        if self == NewFileAccess::Umask || !*MAY_GIVE {
            return Ok(());
        }
        let owner = fstat(parent)?;
        give(made, owner.st_uid, Some(owner.st_gid))
    }
}

/// Changes the owner and, if given, the group of a file or directory, if this process is allowed to.
pub(super) fn give(made: impl AsFd, uid: u32, gid: Option<u32>) -> rustix::io::Result<()> {
    if !*MAY_GIVE {
        return Ok(());
    }
    let now = fstat(&made)?;
    if now.st_uid == uid && gid.is_none_or(|gid| now.st_gid == gid) {
        return Ok(());
    }
    fchown(made, Some(Uid::from_raw(uid)), gid.map(Gid::from_raw))
}

/// Returns true if this process can give files to other users.
pub fn may_give() -> bool {
    *MAY_GIVE
}
