//! Creates a room.

use crate::base::error::Result;
use crate::disk::Readers;
use crate::room::{self, Made, Room};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// The created or existing room.
#[derive(Debug, Serialize)]
pub struct Init {
    /// Its directory.
    pub room: PathBuf,
    /// Whether this call created it.
    pub made: bool,
}

/// Creates a room that `take_back` may remove again, at the given directory, or at the top of the project.
pub fn begin(place: &Path) -> Result<Init> {
    let (room, made) = Room::begin(place)?;
    Ok(Init {
        room: room.dir.path().to_path_buf(),
        made: made == Made::New,
    })
}

/// Creates a room at the given directory, or at the default place. An existing room stays unchanged.
pub fn init(asked: Option<&Path>, from: &Path, readers: Readers) -> Result<(Room, Init)> {
    let place = match asked {
        Some(path) => from.join(path),
        None => room::check_not_a_link(room::default_place(from))?,
    };
    let (room, made) = Room::init_for(&place, readers)?;
    Ok((
        room,
        Init {
            room: place,
            made: made == Made::New,
        },
    ))
}
