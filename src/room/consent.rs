//! The rooms that this user created, and the user's consent to what leads out of a room.
//!
//! One file outside all rooms records both, so that a room cannot grant itself anything. A room from a repository, or a
//! copied room, is not in it, although its files belong to the user.

use crate::base::clock::Stamp;
use crate::base::error::{Error, Result};
use crate::base::limits;
use crate::disk::{Dir, Meta, UserDirectory, layout};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The most rooms in the record.
const ROOMS: usize = 1000;

/// The identity of a room. Another room at the same path has another identity.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoomIdentity {
    /// The path without links.
    pub path: String,
    /// The room's id, if it can be read.
    pub room: Option<String>,
}

/// A room in the record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KnownRoom {
    /// The room.
    #[serde(flatten)]
    pub identity: RoomIdentity,
    /// The inode of the room's directory, if this user created the room. Another directory at its path has another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inode: Option<u64>,
    /// The time of the entry, or of the last consent.
    pub since: String,
    /// The hash of all that leads out of the room, if the user agreed to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agreed: Option<String>,
}

/// The record of this user.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct KnownRooms {
    /// The rooms, the last changed one last.
    pub rooms: Vec<KnownRoom>,
}

impl KnownRooms {
    /// Reads the record. Without a file it is empty.
    pub fn read() -> Result<KnownRooms> {
        match UserDirectory::open(&directory()?)? {
            Some(own) => read(&own),
            None => Ok(KnownRooms::default()),
        }
    }

    /// The entry of a room.
    pub fn of(&self, identity: &RoomIdentity) -> Option<&KnownRoom> {
        self.rooms.iter().find(|room| room.identity == *identity)
    }

    /// The entry of a room, which becomes the last one. An entry of an earlier room at the same path is removed.
    fn entry(&mut self, identity: &RoomIdentity) -> &mut KnownRoom {
        let known = self.of(identity).cloned();
        self.rooms
            .retain(|room| room.identity.path != identity.path);
        self.rooms.push(KnownRoom {
            since: Stamp::now().to_string(),
            ..known.unwrap_or_else(|| KnownRoom {
                identity: identity.clone(),
                inode: None,
                since: String::new(),
                agreed: None,
            })
        });
        self.rooms.last_mut().expect("it was added")
    }

    /// Of too many rooms, the removed ones are dropped first, and then the oldest.
    fn limit(&mut self) {
        if self.rooms.len() > ROOMS {
            self.rooms
                .retain(|room| Dir::open(Path::new(&room.identity.path)).is_ok());
        }
        let first = self.rooms.len().saturating_sub(ROOMS);
        self.rooms.drain(..first);
    }
}

/// Records that this user created a room. Durable after it returns.
pub(super) fn note_created(identity: &RoomIdentity, inode: u64) -> Result<()> {
    change(|known| known.entry(identity).inode = Some(inode))
}

/// Records consent to all that leads out of a room, by its hash. Durable after it returns.
pub fn agree(identity: &RoomIdentity, outward: &str) -> Result<()> {
    change(|known| known.entry(identity).agreed = Some(outward.to_owned()))
}

/// Revokes all consent for the rooms at these paths, and returns it.
pub fn revoke(paths: &[String]) -> Result<Vec<KnownRoom>> {
    let mut revoked = Vec::new();
    change(|known| {
        for room in &mut known.rooms {
            if paths.contains(&room.identity.path) && room.agreed.is_some() {
                revoked.push(room.clone());
                room.agreed = None;
            }
        }
    })?;
    Ok(revoked)
}

/// The version of the record: a change of it can change the settings of a room.
pub fn version() -> Option<Meta> {
    Dir::open(&directory().ok()?)
        .ok()?
        .stat(layout::KNOWN_ROOMS)
        .ok()?
}

/// The path of the record.
pub fn file() -> Result<PathBuf> {
    Ok(layout::below(&directory()?, layout::KNOWN_ROOMS.as_ref()))
}

fn directory() -> Result<PathBuf> {
    layout::trust_directory().ok_or_else(|| {
        Error::usage(
            "no directory for recorded consent is known",
            format!(
                "set HOME, or {} to an absolute path",
                layout::TRUST_DIRECTORY
            ),
        )
    })
}

fn change(edit: impl FnOnce(&mut KnownRooms)) -> Result<()> {
    let own = UserDirectory::make(&directory()?)?;
    let _held = own.hold(layout::TRUST_LOCK)?;
    let mut known = read(&own)?;
    edit(&mut known);
    known.limit();
    let text = serde_json::to_string_pretty(&known).expect("plain data") + "\n";
    own.replace(layout::KNOWN_ROOMS, text.as_bytes())
}

fn read(own: &UserDirectory) -> Result<KnownRooms> {
    let Some(bytes) = own.read(layout::KNOWN_ROOMS, limits::REGISTRY_BYTES)? else {
        return Ok(KnownRooms::default());
    };
    serde_json::from_slice(&bytes).map_err(|e| {
        Error::state(
            file().unwrap_or_default(),
            format!("cannot be read: {e}"),
            "move it to another place; mailbag then asks for consent again",
        )
    })
}

/// The recorded form of a path. A path that is not UTF-8 is an error, because it could be confused with another.
pub fn path_text(path: &Path) -> Result<String> {
    path.to_str().map(str::to_owned).ok_or_else(|| {
        Error::usage(
            format!(
                "the path {} is not UTF-8, so no room can be there",
                path.display()
            ),
            "rename the directory, or name another place with --room DIR",
        )
    })
}
