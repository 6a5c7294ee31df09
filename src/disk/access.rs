//! Who may use what is made: the permissions and the owner of new files and directories.

use rustix::fs::{Gid, Mode, Stat, Uid, fchmod, fchown, fstat};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::LazyLock;

/// The permissions that new files and directories get.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    /// As the process's umask leaves them: outside any room.
    Umask,
    /// 0700 and 0600.
    Owner,
    /// 02750 and 0640, whatever the umask.
    Group,
}

/// Who may read a room, beside those whom its owner lets in by hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readers {
    /// Its owner.
    Owner,
    /// Its owner, and the group of its directory.
    Group,
}

/// Only root can give a file away.
static MAY_GIVE: LazyLock<bool> = LazyLock::new(|| rustix::process::geteuid().is_root());

impl Access {
    /// The access below a room's directory: for the group too where its set-group-ID bit is set, which is how a
    /// directory says on Unix that its group shares it.
    pub(super) fn below(room: &Stat) -> Access {
        if Mode::from_raw_mode(room.st_mode).contains(Mode::SGID) { Access::Group } else { Access::Owner }
    }

    pub(super) fn directory(self) -> Mode {
        Mode::from_raw_mode(match self {
            Access::Umask => 0o777,
            Access::Owner => 0o700,
            Access::Group => 0o750,
        })
    }

    pub(super) fn file(self) -> Mode {
        Mode::from_raw_mode(match self {
            Access::Umask => 0o666,
            Access::Owner => 0o600,
            Access::Group => 0o640,
        })
    }

    /// Gives what was just made in a directory the directory's owner, and the permissions that the umask may have taken.
    pub(super) fn complete(self, made: BorrowedFd, mode: Mode, parent: BorrowedFd) -> rustix::io::Result<()> {
        self.hand_over(made, parent)?;
        if self == Access::Group {
            let shares = fstat(made)?.st_mode & Mode::SGID.bits();
            fchmod(made, mode | Mode::from_raw_mode(shares))?;
        }
        Ok(())
    }

    /// Gives what was just made in a directory to the directory's owner, so that a router that runs as root leaves
    /// nothing in an agent's directories that the agent can't use.
    pub(super) fn hand_over(self, made: BorrowedFd, parent: BorrowedFd) -> rustix::io::Result<()> {
        if self == Access::Umask || !*MAY_GIVE {
            return Ok(());
        }
        let owner = fstat(parent)?;
        give(made, owner.st_uid, Some(owner.st_gid))
    }
}

/// Gives a file or directory to this user, and to this group if one is named, where it isn't theirs and this process may.
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

/// May this process give files to other users?
pub fn may_give() -> bool {
    *MAY_GIVE
}
