//! Making a room's directory, and changing who may use what stands in it.

use super::Dir;
use super::access::{Access, Readers, give};
use crate::base::error::{Doing, Result};
use rustix::fs::{FileType, Mode, fchmod, fstat};
use rustix::io::Errno;
use std::fs::File;
use std::path::Path;

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
