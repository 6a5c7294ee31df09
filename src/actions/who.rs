//! Who is there, as the log and the sessions say.

use crate::clock::Stamp;
use crate::error::Result;
use crate::fold;
use crate::projections::roster::{self, Roster};
use crate::room::Room;
use crate::sessions::Calls;

/// Everybody, worked out as the router does for `roster.json`, at this instant.
pub fn who(room: &Room) -> Result<Roster> {
    let (registry, settings) = (room.registry()?, room.settings()?);
    let signs = (&fold::committed(&room.dir)?, &Calls::of(&room.dir));
    Ok(roster::roster(&registry, signs, settings.stale_after, Stamp::now()).0)
}
