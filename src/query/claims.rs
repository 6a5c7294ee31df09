//! Who owns which work, exactly: as of the last committed record.

use crate::base::error::Result;
use crate::log;
use crate::log::state::Claims;
use crate::room::Room;

/// The claims of a room.
pub fn owners(room: &Room) -> Result<Claims> {
    log::owners::owners(&room.dir)
}
