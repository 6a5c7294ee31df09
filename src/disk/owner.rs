//! Creating a room's directory, and changing who may use its files.

use super::fs::make_new_directory;
use super::root::root;
use super::{Dir, paths};
use crate::base::error::{ErrorContext, Result};
use std::path::Path;

/// The user and the group of the directory at a path, which this user need not be able to open.
pub fn owner_of(path: &Path) -> Result<(u32, u32)> {
    let meta = paths::meta(path).doing("look at", path)?;
    Ok((meta.uid, meta.gid))
}

impl Dir {
    /// Opens a room's directory by its path, and follows symbolic links. New files below it are accessible to the owner
    /// only (0700 and 0600).
    pub fn open_room(path: &Path) -> Result<Dir> {
        Ok(Dir {
            is_private: true,
            ..Dir::open(path)?
        })
    }

    /// Creates a room's directory and missing parents. An existing directory is not an error. Only its owner may enter a
    /// new one.
    pub fn make_room(path: &Path) -> Result<Dir> {
        match path.parent() {
            Some(above) if !above.as_os_str().is_empty() => {
                paths::make_directory(above).doing("create the directory", above)?;
            }
            _ => {}
        }
        let made = make_new_directory(&*root(), path, 0o700);
        let is_new = made.doing("create the directory", path)?;
        let dir = Dir::open_room(path)?;
        if is_new {
            // A new directory may have the set-group-ID bit of its parent.
            dir.close_to_others()?;
        }
        Ok(dir)
    }

    /// Removes the permissions of all users but the owner.
    pub fn close_to_others(&self) -> Result<()> {
        self.fs
            .set_mode(0o700)
            .doing("set the permissions of", &self.path)
    }
}
