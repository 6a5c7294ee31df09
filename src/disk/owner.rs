//! The owner of a room, and its directory.

use super::Dir;
use super::access::NewFileAccess;
use crate::base::error::{ErrorContext, Result};
use rustix::fs::{Mode, fchmod};
use rustix::io::Errno;
use std::path::Path;

/// The user and the group of the directory at a path, which this user need not be able to open.
pub fn owner_of(path: &Path) -> Result<(u32, u32)> {
    let stat = rustix::fs::stat(path).doing("look at", path)?;
    Ok((stat.st_uid, stat.st_gid))
}

impl Dir {
    /// Opens a room's directory by its path, and follows symbolic links. New files below it are accessible to the owner
    /// only (0700 and 0600).
    pub fn open_room(path: &Path) -> Result<Dir> {
        Ok(Dir {
            access: NewFileAccess::Owner,
            ..Dir::open(path)?
        })
    }

    /// Creates a room's directory and missing parents. An existing directory is not an error. Only its owner may enter a
    /// new one.
    pub fn make_room(path: &Path) -> Result<Dir> {
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
        let dir = Dir::open_room(path)?;
        if is_new {
            // A new directory may have the set-group-ID bit of its parent.
            dir.close_to_others()?;
        }
        Ok(dir)
    }

    /// Removes the permissions of all users but the owner.
    pub fn close_to_others(&self) -> Result<()> {
        fchmod(&*self.fd, Mode::RWXU).doing("set the permissions of", &self.path)
    }
}
