//! Fixes that cannot lose data.

use super::{Finding, drafts, trust};
use crate::base::error::Result;
use crate::base::limits;
use crate::commands::follow;
use crate::disk::layout;
use crate::room::Room;

/// Creates missing directories, makes the room private, removes drafts of killed commands, and makes a pass. Returns a failure as a finding.
pub(super) fn fix(room: &Room) -> Option<Finding> {
    let made = layout::DIRECTORIES
        .iter()
        .try_for_each(|directory| room.dir.make(directory).map(drop));
    let closed = made.and_then(|()| make_private(room));
    let tidied = closed.and_then(|()| drafts::remove(room));
    let passed = tidied.and_then(|()| follow::route(room, limits::WRITER_WAIT));
    passed
        .err()
        .map(|e| Finding::problem("not_mended", e.to_string(), "mailbag run --once -v"))
}

fn make_private(room: &Room) -> Result<()> {
    if trust::is_private(room)? {
        return Ok(());
    }
    room.dir.close_to_others()
}
