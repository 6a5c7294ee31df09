//! Who is there, as the log says.

use crate::clock::Stamp;
use crate::error::Result;
use crate::fold;
use crate::projections::roster::{self, Roster};
use crate::room::Room;

/// Everybody, worked out as the router does for `roster.json`, at this instant.
pub fn who(room: &Room) -> Result<Roster> {
    let (registry, settings) = (room.registry()?, room.settings()?);
    let replayed = fold::replay(&room.dir)?;
    Ok(roster::roster(&registry, &replayed.fold, settings.stale_after, Stamp::now()).0)
}
