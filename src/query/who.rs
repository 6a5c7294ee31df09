//! Lists agents with their activity, from the log and the sessions.

use crate::base::clock::Stamp;
use crate::base::error::Result;
use crate::log::state;
use crate::room::Room;
use crate::room::sessions::Calls;
use crate::router::projections::roster;
pub use crate::router::projections::roster::{Doing, Present, Roster};

/// The current roster, computed as the router does for `roster.json`.
pub fn who(room: &Room) -> Result<Roster> {
    let (registry, settings) = (room.registry()?, room.settings()?);
    let signs = (&state::committed(&room.dir)?, &Calls::of(&room.dir));
    Ok(roster::roster(&registry, signs, settings.stale_after, Stamp::now()).0)
}
