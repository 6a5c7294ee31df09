//! Who may use what is made: the permissions and the owner of new files and directories.

use super::Dir;
use crate::error::{Doing, Result};
use rustix::fs::{FileType, Gid, Mode, Stat, Uid, fchmod, fchown, fstat};
use rustix::io::Errno;
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
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

impl Dir {
    /// Opens a room's directory by its path, following links on the way. What is made below it is for its owner alone
    /// (0700 and 0600), and readable for the group too where the directory has the set-group-ID bit.
    pub fn open_room(path: &Path) -> Result<Dir> {
        Dir::open(path)?.as_root()
    }

    /// This directory, with an answer of its own to the question whether its group may read what is made below it.
    pub fn as_root(self) -> Result<Dir> {
        let stat = fstat(&*self.fd).doing("look at", &self.path)?;
        Ok(Dir { access: Access::below(&stat), ..self })
    }

    /// Makes a room's directory, and what is missing above it, unless it is there. Only its readers may enter it.
    pub fn make_room(path: &Path, readers: Readers) -> Result<Dir> {
        match path.parent() {
            Some(above) if !above.as_os_str().is_empty() => {
                std::fs::create_dir_all(above).doing("make the directory", above)?;
            }
            _ => {}
        }
        let is_new = match rustix::fs::mkdir(path, Mode::RWXU) {
            Ok(()) => true,
            Err(Errno::EXIST) => false,
            Err(e) => return Err(e).doing("make the directory", path),
        };
        if is_new && readers == Readers::Group {
            // A call of its own: the umask and some systems take these bits from a new directory.
            rustix::fs::chmod(path, Mode::from_raw_mode(0o2750)).doing("set the permissions of", path)?;
        }
        Dir::open_room(path)
    }

    /// Takes from this directory what others may do with it; its group keeps the right to read where it `is_shared`.
    pub fn close_to_others(self, is_shared: bool) -> Result<Dir> {
        let mode = Mode::from_raw_mode(if is_shared { 0o2750 } else { 0o700 });
        fchmod(&*self.fd, mode).doing("set the permissions of", &self.path)?;
        self.as_root()
    }

    /// Gives this directory to `uid` where this process may. What is below it stays as it is. Survives a power cut
    /// once it was synced.
    pub fn give(&self, uid: u32) -> Result<()> {
        give(self, uid, None).doing("give to another user", &self.path)
    }

    /// Gives these permissions to others, beside those that they have: 0o011 to pass through it, 0o044 to list it.
    pub fn let_others(&self, permissions: u32) -> Result<()> {
        let mode = self.meta()?.mode;
        if mode & permissions == permissions {
            return Ok(());
        }
        fchmod(&*self.fd, Mode::from_raw_mode((mode | permissions) as _)).doing("set the permissions of", &self.path)
    }

    /// Lets every user read a file in this directory; that there is none is fine.
    pub fn let_others_read(&self, name: &str) -> Result<()> {
        match self.stat(name)?.filter(|there| there.kind == FileType::RegularFile && there.mode & 0o044 != 0o044) {
            None => Ok(()),
            Some(there) => {
                let file = self.look(name)?;
                let mode = Mode::from_raw_mode(((there.mode | 0o044) & 0o777) as _);
                fchmod(file, mode).doing("set the permissions of", self.at(name))
            }
        }
    }

    /// As [`Dir::create`], for a file that belongs to `uid` where this process may give it away.
    pub fn create_for(&self, name: &str, bytes: &[u8], uid: Option<u32>) -> Result<File> {
        let file = self.create(name, bytes)?;
        if let Some(uid) = uid {
            give(&file, uid, None).doing("give to another user", self.at(name))?;
        }
        Ok(file)
    }

    /// Whoever changed the permissions of a file meant it: its next version gets the same.
    pub(super) fn keep_permissions(&self, name: &Path, file: &File) -> Result<()> {
        let Some(there) = self.stat(name)?.filter(|there| there.kind == FileType::RegularFile) else { return Ok(()) };
        fchmod(file, Mode::from_raw_mode((there.mode & 0o777) as _)).doing("set the permissions of", self.at(name))
    }
}
