//! The rooms that this user created on this machine, recorded outside all rooms. A room that came with a repository, or that was
//! copied, is not among them, although its files belong to the user.

use super::Room;
use super::consent::{self, Identity};
use crate::base::error::Result;
use crate::base::limits;
use crate::disk::{Dir, UserDirectory, layout};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// A created room. Another directory at its path has another inode.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct CreatedRoom {
    #[serde(flatten)]
    identity: Identity,
    inode: u64,
}

/// All created rooms.
#[derive(Debug, Default, Serialize, Deserialize)]
struct CreatedRooms {
    rooms: Vec<CreatedRoom>,
}

impl Room {
    /// Records that this user created the room.
    pub(super) fn note_created(&self) -> Result<()> {
        let own = UserDirectory::make(&consent::directory()?)?;
        let _held = own.hold(layout::TRUST_LOCK)?;
        let created = self.as_created()?;
        let mut all = read(&own)?;
        // Removed rooms are dropped, so that the file does not grow.
        all.rooms.retain(|room| room.identity.path != created.identity.path && exists(&room.identity.path));
        all.rooms.push(created);
        let text = serde_json::to_string_pretty(&all).expect("plain data") + "\n";
        own.replace(layout::CREATED_ROOMS, text.as_bytes())
    }

    /// Returns true if this user created the room here. Without a readable record it is false.
    pub fn is_created_here(&self) -> bool {
        let own = consent::directory().and_then(|directory| UserDirectory::open(&directory));
        let Ok(Some(own)) = own.inspect_err(|e| tracing::debug!("{e}")) else { return false };
        let (all, created) = (read(&own), self.as_created());
        matches!((all, created), (Ok(all), Ok(created)) if all.rooms.contains(&created))
    }

    fn as_created(&self) -> Result<CreatedRoom> {
        Ok(CreatedRoom { identity: self.identity()?, inode: self.dir.meta()?.inode })
    }
}

fn read(own: &UserDirectory) -> Result<CreatedRooms> {
    let bytes = own.read(layout::CREATED_ROOMS, limits::REGISTRY_BYTES)?;
    // A damaged record holds no rooms: their settings ask for consent.
    Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default())
}

fn exists(path: &str) -> bool {
    Dir::open(Path::new(path)).is_ok()
}
