//! Creating a room's directory, and changing who may use its files.

use super::Dir;
use super::access::{NewFileAccess, RoomReaders, give};
use crate::base::error::{ErrorContext, Result};
use rustix::fs::{FileType, Mode, fchmod, fstat};
use rustix::io::Errno;
use std::fs::File;
use std::path::Path;

impl Dir {
    /// Opens a room's directory by its path, and follows symbolic links. New files below it are accessible to the owner
    /// only (0700 and 0600). If the directory has the set-group-ID bit, its group may read them.
    pub fn open_room(path: &Path) -> Result<Dir> {
        Dir::open(path)?.as_root()
    }

    /// This directory, with its own set-group-ID bit as the rule for files below it.
    pub fn as_root(self) -> Result<Dir> {
        let stat = fstat(&*self.fd).doing("look at", &self.path)?;
        Ok(Dir {
            access: NewFileAccess::below(&stat),
            ..self
        })
    }

    /// Creates a room's directory and missing parents. An existing directory is not an error. Only its readers may
    /// enter it.
    pub fn make_room(path: &Path, readers: RoomReaders) -> Result<Dir> {
        match path.parent() {
            Some(above) if !above.as_os_str().is_empty() => {
                super::access::make_outside(above).doing("create the directory", above)?;
            }
            _ => {}
        }
        let is_new = match rustix::fs::mkdir(path, Mode::RWXU) {
            Ok(()) => true,
            Err(Errno::EXIST) => false,
            Err(e) => return Err(e).doing("create the directory", path),
        };
        let dir = Dir::open(path)?;
        if is_new {
            // A new directory may have lost bits to the umask, and may have the set-group-ID bit of its parent.
            dir.close_to_others(readers)
        } else {
            dir.as_root()
        }
    }

    /// Removes the permissions of all users but the owner and `readers`.
    pub fn close_to_others(self, readers: RoomReaders) -> Result<Dir> {
        let mode = match readers {
            RoomReaders::Owner => Mode::RWXU,
            RoomReaders::Group => Mode::from_raw_mode(0o2750),
        };
        fchmod(&*self.fd, mode).doing("set the permissions of", &self.path)?;
        self.as_root()
    }

    /// Gives this directory to `uid`, if this process is allowed to. Its files do not change owner. Survives a power
    /// cut after a sync.
    pub fn give(&self, uid: u32) -> Result<()> {
        give(self, uid, None).doing("give to another user", &self.path)
    }

    /// Adds permissions for other users: 0o011 to enter, 0o044 to list.
    pub fn let_others(&self, permissions: u32) -> Result<()> {
        let mode = self.meta()?.mode;
        if mode & permissions == permissions {
            return Ok(());
        }
        fchmod(&*self.fd, Mode::from_raw_mode((mode | permissions) as _))
            .doing("set the permissions of", &self.path)
    }

    /// Lets every user read a file in this directory. A missing file is not an error.
    pub fn let_others_read(&self, name: &str) -> Result<()> {
        match self
            .stat(name)?
            .filter(|there| there.kind == FileType::RegularFile && there.mode & 0o044 != 0o044)
        {
            None => Ok(()),
            Some(there) => {
                let file = self.look(name)?;
                let mode = Mode::from_raw_mode(((there.mode | 0o044) & 0o777) as _);
                fchmod(file, mode).doing_in("set the permissions of", self.path(), name)
            }
        }
    }

    /// Gives the next version of a file the permissions of the existing one.
    pub(super) fn keep_permissions(&self, name: &Path, file: &File) -> Result<()> {
        let Some(there) = self
            .stat(name)?
            .filter(|there| there.kind == FileType::RegularFile)
        else {
            return Ok(());
        };
        fchmod(file, Mode::from_raw_mode((there.mode & 0o777) as _)).doing_in(
            "set the permissions of",
            self.path(),
            name,
        )
    }
}
