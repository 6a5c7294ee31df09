//! What a copy of a room needs: how the router is held still, where the room stands, and what is not copied.

use super::{CHECKPOINT_DRAFT, INBOXES, LOCK, REGISTRY_LOCK, ROOM_ID, ROUTING, TAKEN_LOCK, WAITING, WANTED};
use std::path::Path;

/// Held by a router as long as it works on a batch.
pub const TURN: &str = "spool/turn.lock";
/// Held by whoever wants the router to stand still.
pub const TURN_WANTED: &str = "spool/turn.wanted";
/// Where the room stands, so that a copy of it is noticed.
pub const PLACE: &str = "spool/place";

/// Does this path of a room say only what is so at the moment? A copy of the room has none of it.
pub fn is_of_the_moment(path: &Path) -> bool {
    [LOCK, ROUTING, WANTED, TURN, TURN_WANTED, REGISTRY_LOCK, WAITING, CHECKPOINT_DRAFT, ROOM_ID]
        .iter()
        .any(|one| path == Path::new(one))
        || (path.starts_with(INBOXES) && path.file_name().is_some_and(|name| name == TAKEN_LOCK))
}
