//! Fixes that cannot lose data.

use super::{Finding, drafts};
use crate::base::limits;
use crate::commands::follow;
use crate::disk::layout;
use crate::room::Room;

/// Creates missing directories, removes drafts of killed commands, and makes a pass. Returns a failure as a finding.
pub(super) fn fix(room: &Room) -> Option<Finding> {
    let made = layout::DIRECTORIES
        .iter()
        .try_for_each(|directory| room.dir.make(directory).map(drop));
    let tidied = made.and_then(|()| drafts::remove(room));
    let passed = tidied.and_then(|()| follow::route(room, limits::WRITER_WAIT));
    passed
        .err()
        .map(|e| Finding::problem("not_mended", e.to_string(), "mailbag run --once -v"))
}
