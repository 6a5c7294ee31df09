//! The owner of a room, and the consent to what leads out of it.

use super::Room;
use crate::base::error::{Error, ErrorContext, Result};
use crate::disk::Dir;
use crate::disk::paths::PathQuestions;
use crate::room::consent::{self, ConsentList, RoomIdentity};
use crate::room::owner::check_owner;
use crate::room::settings::Settings;

impl Room {
    /// The owner of the opened directory. The directory at its path may be another one by now.
    pub fn owner(&self) -> Result<u32> {
        Ok(self.dir.meta()?.uid)
    }

    /// Fails if the room was removed after it was opened, or if another room has its place. A room that was only moved still
    /// exists.
    pub fn still_exists(&self) -> Result<()> {
        let path = self.dir.path().display();
        let what = if self.dir.meta()?.links == 0 {
            format!("the room {path} was removed")
        } else if self.is_replaced() {
            format!("the room {path} was moved, and another room is in its place")
        } else {
            return Ok(());
        };
        Err(Error::moved(
            what,
            "restore the room or make another one, then run the command again",
        ))
    }

    /// Compares the ids: some file systems change inode numbers at any time.
    fn is_replaced(&self) -> bool {
        let there = Dir::open(self.dir.path()).and_then(|dir| Room::of(dir).id());
        matches!((there, self.id()), (Ok(Some(there)), Ok(Some(own))) if there != own)
    }

    /// Fails if the room was removed, moved away, or replaced by another directory.
    pub fn check_place(&self) -> Result<()> {
        self.still_exists()?;
        self.identity().map(drop)
    }

    /// The identity of the room, which another room at the same path does not have.
    pub fn identity(&self) -> Result<RoomIdentity> {
        let path = self.dir.path().real_path().doing("find", self.dir.path())?;
        let (there, own) = (Dir::open_room(&path)?.meta()?, self.dir.meta()?);
        if (there.device, there.inode) != (own.device, own.inode) {
            return Err(Error::moved(
                format!("{} was replaced by another directory", path.display()),
                "run the command again",
            ));
        }
        Ok(RoomIdentity {
            path: consent::path_text(&path)?,
            room: self.id().unwrap_or_default(),
        })
    }

    /// Withholds the settings that lead out of the room. In a room that the user created here, all take effect. In any
    /// other room, for example from a repository or a copy, each needs the person's consent.
    pub(super) fn withhold(&self, settings: &mut Settings) {
        if self.is_created_here() {
            return;
        }
        // An unreadable record grants no consent.
        let consents = ConsentList::read().ok().zip(self.identity().ok());
        settings.withhold(|setting| {
            consents
                .as_ref()
                .is_some_and(|(consents, identity)| consents.agrees_to_setting(identity, setting))
        });
    }

    /// Fails if the room belongs to another user: a room is private to its user.
    pub(super) fn check_own(&self) -> Result<()> {
        check_owner(self.dir.path(), self.owner()?)
    }
}
