//! The owner, the place and the identity of an opened room.

use super::Room;
use crate::base::error::{Error, ErrorContext, Result};
use crate::disk::paths::PathQuestions;
use crate::disk::{Dir, has_stable_inodes};
use crate::room::consent::{self, RoomIdentity};
use crate::room::owner::check_owner;

impl Room {
    /// The owner of the opened directory. The directory at its path may be another one by now.
    pub fn owner(&self) -> Result<u32> {
        Ok(self.dir.meta()?.uid)
    }

    /// Fails if the room was removed, moved, replaced, or covered by another file system since it was opened.
    pub fn check_place(&self) -> Result<()> {
        check_path_of(&self.dir)
    }

    /// Fails if the room was removed, or if another directory is at its path. A room that was only moved may come back.
    pub fn still_exists(&self) -> Result<()> {
        match self.check_place() {
            Err(Error::Moved { .. })
                if self.dir.meta()?.links > 0 && !self.dir.path().is_there() =>
            {
                Ok(())
            }
            checked => checked,
        }
    }

    /// The identity of the room, which another room at the same path does not have.
    pub fn identity(&self) -> Result<RoomIdentity> {
        let path = self.dir.path().real_path().doing("find", self.dir.path())?;
        self.check_place()?;
        Ok(RoomIdentity {
            path: consent::path_text(&path)?,
            room: self.id()?,
        })
    }

    /// Fails if the room belongs to another user: a room is private to its user.
    pub(super) fn check_own(&self) -> Result<()> {
        check_owner(self.dir.path(), self.owner()?)
    }
}

/// Fails if another directory, or none, is at the path of this opened room.
pub(super) fn check_path_of(room: &Dir) -> Result<()> {
    let path = room.path();
    let own = room.meta()?;
    let what = match Dir::open_room(path).and_then(|dir| dir.meta()) {
        Ok(there) if there.is_same_file(&own) || !has_stable_inodes(room) => return Ok(()),
        Ok(_) => "was replaced by another directory",
        Err(e) if e.is_missing() => "was removed or moved",
        Err(e) => return Err(e),
    };
    Err(Error::moved(
        format!("the room {} {what}", path.display()),
        "restore the room or make another one, then run the command again",
    ))
}
