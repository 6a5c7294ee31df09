//! The recorded location of a room. It distinguishes a room from its copy, which has the same id and the same log.

use super::Room;
use super::consent::{self, KnownRooms, RoomIdentity, path_text};
use crate::base::error::Result;
use crate::base::test_variable;
use crate::base::text::shell_path;
use crate::disk::layout;
use crate::disk::paths::PathQuestions;
use crate::room::settings::Settings;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The largest size of the recorded location.
const BYTES: u64 = 64 << 10;

/// The last known location of a room.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct RecordedLocation {
    /// The inode of its directory. A move on the same file system keeps it, a copy has another one. The device number
    /// is not compared, because it can change at the next boot.
    inode: u64,
    path: String,
}

impl Room {
    /// Records that this user created the room that gets this id.
    pub(super) fn note_created(&self, id: &str) -> Result<()> {
        let identity = RoomIdentity {
            room: Some(id.to_owned()),
            ..self.identity()?
        };
        consent::note_created(&identity, self.dir.meta()?.inode)
    }

    /// Withholds what leads out of the room and has no consent. In a room that this user created here, only connections to
    /// other machines need it. In any other room, for example from a repository or a copy, all of it does.
    pub(super) fn withhold(&self, settings: &mut Settings) {
        settings.outward = settings.hash_outward();
        if settings.outward.is_none() {
            return;
        }
        // An unreadable record grants no consent.
        let known = KnownRooms::read()
            .and_then(|known| Ok(known.of(&self.identity()?).cloned()))
            .inspect_err(|e| tracing::debug!("{e}"));
        let known = known.ok().flatten();
        let inode = self.dir.meta().ok().map(|meta| meta.inode);
        // The tests of real file systems mount the disk of a room at other places.
        let is_created = test_variable("MAILBAG_TEST_CREATED").is_some()
            || known
                .as_ref()
                .is_some_and(|known| known.inode.is_some() && known.inode == inode);
        let agreed = known.and_then(|known| known.agreed);
        settings.is_agreed = agreed == settings.outward;
        if !settings.is_agreed && !is_created {
            settings.withhold();
        }
    }

    /// Says that this room is a copy, if it is one.
    pub fn copied(&self) -> Result<Option<String>> {
        let (Some(known), here) = (self.known_place()?, self.place()?) else {
            return Ok(None);
        };
        if known == here {
            return Ok(None);
        }
        let own = self.dir.meta()?;
        // A file system snapshot keeps inodes. It is a copy if the other location has a room with the same id.
        let other = Room::open(Path::new(&known.path)).ok().filter(|other| {
            let is_another = other
                .dir
                .meta()
                .is_ok_and(|there| !there.is_same_file(&own));
            is_another && other.id().ok() == self.id().ok()
        });
        let is_copy = known.inode != here.inode || (known.path != here.path && other.is_some());
        Ok(is_copy.then(|| {
            let mut what = format!("this room is a copy of {}", known.path);
            what += if other.is_some() {
                ", and both may deliver the same mail"
            } else {
                ", or was restored from a copy"
            };
            what
        }))
    }

    /// The warning of a process that may route in this room, if the room is a copy.
    pub fn copy_warning(&self) -> Result<Option<String>> {
        let place = shell_path(self.dir.path());
        Ok(self.copied()?.map(|what| {
            format!("{what}; to keep it as a room of its own: `mailbag init --adopt {place}`")
        }))
    }

    /// Records the location of the room, if it is not known or if the room was moved.
    pub fn note_place(&self) -> Result<()> {
        let (known, here) = (self.known_place()?, self.place()?);
        if known.as_ref() == Some(&here) || self.copied()?.is_some() {
            return Ok(());
        }
        self.write_place(&here)
    }

    /// Makes a copy a room of its own. Fails if the copy lacks a part of its room.
    pub fn adopt(&self) -> Result<()> {
        self.check_whole()?;
        self.dir.replace(
            layout::ADOPTED,
            format!("{}\n", uuid::Uuid::new_v4()).as_bytes(),
        )?;
        self.write_place(&self.place()?)
    }

    /// The last adoption of this room. `None` if it was never a copy.
    pub fn adoption(&self) -> Result<Option<String>> {
        let bytes = self.dir.read(layout::ADOPTED, BYTES)?;
        Ok(bytes.map(|bytes| String::from_utf8_lossy(bytes.trim_ascii()).into_owned()))
    }

    fn place(&self) -> Result<RecordedLocation> {
        let path = self.dir.path();
        let path = path
            .real_path()
            .unwrap_or_else(|_| Path::new(path).to_path_buf());
        Ok(RecordedLocation {
            inode: self.dir.meta()?.inode,
            path: path_text(&path)?,
        })
    }

    // An unreadable record counts as none.
    fn known_place(&self) -> Result<Option<RecordedLocation>> {
        Ok(self
            .dir
            .read(layout::PLACE, BYTES)?
            .and_then(|bytes| serde_json::from_slice(&bytes).ok()))
    }

    fn write_place(&self, place: &RecordedLocation) -> Result<()> {
        let text = serde_json::to_string(place).expect("a place is plain data") + "\n";
        self.dir.replace(layout::PLACE, text.as_bytes())
    }
}
