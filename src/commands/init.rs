//! Making a room.

use crate::base::error::Result;
use crate::disk::Readers;
use crate::room::{self, Made, Room};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// The room that was made, or was there.
#[derive(Debug, Serialize)]
pub struct Init {
    /// Its directory.
    pub room: PathBuf,
    /// Was it made just now?
    pub made: bool,
}

/// Makes a room at the directory that was asked for, or at the default place; one that is there already stays as it is.
pub fn init(asked: Option<&Path>, from: &Path, readers: Readers) -> Result<(Room, Init)> {
    let place = match asked {
        Some(path) => from.join(path),
        None => room::default_place(from),
    };
    let (room, made) = Room::init_for(&place, readers)?;
    Ok((room, Init { room: place, made: made == Made::New }))
}
