//! Paths for copying a room: the locks that pause the router, the recorded location of the room, and the paths that are
//! not copied.

use super::{ARCHIVED_SNAPSHOT_DRAFT, LOCK, REGISTRY_LOCK, WAITING, WANTED};
use std::path::Path;

/// The lock that a router holds while it works on a batch.
pub const TURN: &str = "spool/turn.lock";
/// The lock of a process that wants to pause the router.
pub const TURN_WANTED: &str = "spool/turn.wanted";
/// The recorded location of the room, to detect a copy of the room.
pub const PLACE: &str = "spool/place";
/// The last adoption of a copy. Signatures are bound to it.
pub const ADOPTED: &str = "spool/adopted";

/// Marks a copy of a room that is not complete: written before anything else, and removed when the copy is durable.
pub const INCOMPLETE: &str = "INCOMPLETE";

/// Returns true if this path describes only running processes. A copy of the room does not contain it.
pub fn is_of_the_moment(path: &Path) -> bool {
    [
        LOCK,
        WANTED,
        TURN,
        TURN_WANTED,
        REGISTRY_LOCK,
        WAITING,
        ARCHIVED_SNAPSHOT_DRAFT,
    ]
    .iter()
    .any(|one| path == Path::new(one))
}
