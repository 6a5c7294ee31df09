//! The rooms that this user created on this machine, recorded outside all rooms. A room from a repository, or a copied
//! room, is not recorded, although its files belong to the user.

use super::consent::{self, RoomIdentity};
use crate::base::error::Result;
use crate::base::limits;
use crate::disk::{Dir, UserDirectory, git, layout};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The most rooms of a user in the record of rooms.
const CREATED_ROOMS: usize = 1000;

/// A created room. Another directory at its path has another inode.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CreatedRoom {
    #[serde(flatten)]
    identity: RoomIdentity,
    inode: u64,
}

/// All created rooms.
#[derive(Debug, Default, Serialize, Deserialize)]
struct CreatedRooms {
    rooms: Vec<CreatedRoom>,
}

impl CreatedRoom {
    /// The room with this identity and this inode of its directory.
    pub(super) fn new(identity: RoomIdentity, inode: u64) -> CreatedRoom {
        CreatedRoom { identity, inode }
    }

    /// Records that this user created the room.
    pub(super) fn note(self) -> Result<()> {
        let own = UserDirectory::make(&consent::directory()?)?;
        let _held = own.hold(layout::TRUST_LOCK)?;
        let mut all = read(&own)?;
        all.rooms
            .retain(|room| room.identity.path != self.identity.path);
        all.rooms.push(self);
        write(&own, all)
    }

    /// Returns true if this user created the room. Without a readable record it is false.
    pub(super) fn is_noted(&self) -> bool {
        let own = consent::directory().and_then(|directory| UserDirectory::open(&directory));
        let Ok(Some(own)) = own.inspect_err(|e| tracing::debug!("{e}")) else {
            return false;
        };
        read(&own).is_ok_and(|all| all.rooms.contains(self))
    }
}

fn read(own: &UserDirectory) -> Result<CreatedRooms> {
    let bytes = own.read(layout::CREATED_ROOMS, limits::REGISTRY_BYTES)?;
    // A damaged record holds no rooms: their settings ask for consent.
    Ok(bytes
        .and_then(|bytes| serde_json::from_slice(&bytes).ok())
        .unwrap_or_default())
}

/// Of too many rooms, the removed ones are dropped first, and then the oldest.
fn write(own: &UserDirectory, mut all: CreatedRooms) -> Result<()> {
    if all.rooms.len() > CREATED_ROOMS {
        all.rooms
            .retain(|room| Dir::open(Path::new(&room.identity.path)).is_ok());
    }
    let first = all.rooms.len().saturating_sub(CREATED_ROOMS);
    all.rooms.drain(..first);
    let text = serde_json::to_string_pretty(&all).expect("plain data") + "\n";
    own.replace(layout::CREATED_ROOMS, text.as_bytes())
}

/// The first of these places where this user created a room. The caller has checked that no room is there.
pub(super) fn find_gone(mut places: impl Iterator<Item = PathBuf>) -> Option<PathBuf> {
    let own = UserDirectory::open(&consent::directory().ok()?)
        .ok()
        .flatten()?;
    let all = read(&own).ok().filter(|all| !all.rooms.is_empty())?;
    places.find(|place| {
        all.rooms
            .iter()
            .any(|room| Path::new(&room.identity.path) == resolved(place))
    })
}

/// Forgets that this user created a room here.
pub fn forget_room(place: &Path) -> Result<()> {
    let Some(own) = UserDirectory::open(&consent::directory()?)? else {
        return Ok(());
    };
    let _held = own.hold(layout::TRUST_LOCK)?;
    let mut all = read(&own)?;
    all.rooms
        .retain(|room| Path::new(&room.identity.path) != resolved(place));
    write(&own, all)
}

/// The path with links resolved. The room's own directory need not exist.
fn resolved(place: &Path) -> PathBuf {
    match (place.parent(), place.file_name()) {
        (Some(above), Some(name)) => layout::below(&git::resolved(above), name),
        _ => place.to_path_buf(),
    }
}
