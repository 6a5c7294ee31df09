//! Creates a room.

use crate::base::error::Result;
use crate::base::written_path::write_path;
use crate::room::{self, Room, RoomCreation, competing_room};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// The created or existing room.
#[derive(Debug, Serialize)]
pub struct InitReport {
    /// Its directory.
    #[serde(serialize_with = "write_path")]
    pub room: PathBuf,
    /// Whether this call created it.
    pub created: bool,
    /// Why it is at this place.
    pub reason: String,
    /// A room that commands in this directory used before, or still use.
    #[serde(serialize_with = "write_path")]
    pub other: Option<PathBuf>,
    /// A warning about the other room.
    #[serde(skip)]
    pub warning: Option<String>,
}

impl InitReport {
    /// Describes a room for a caller in a directory.
    pub fn describe(room: PathBuf, creation: RoomCreation, from: &Path) -> InitReport {
        let created = creation == RoomCreation::New;
        let other = if created { competing_room(&room) } else { None };
        let (other, warning) = other.unzip();
        InitReport {
            created,
            reason: room::reason(&room, from),
            warning,
            other,
            room,
        }
    }
}

/// Creates a room at the given directory, or at the default place. An existing room stays unchanged.
pub fn init(asked: Option<&Path>, from: &Path) -> Result<(Room, InitReport)> {
    let place = match asked {
        Some(path) => {
            room::check_expanded(path)?;
            from.join(path)
        }
        None => room::check_not_a_link(room::default_place(from))?,
    };
    let (room, creation) = Room::init(&place)?;
    Ok((room, InitReport::describe(place, creation, from)))
}
