//! What can be mended without losing anything.

use super::{Finding, Severity, drafts};
use crate::commands::send;
use crate::disk::layout;
use crate::room::Room;

/// Makes directories that are missing, removes what killed commands left in outboxes, then a pass; gives what went wrong.
pub(super) fn mend(room: &Room) -> Option<Finding> {
    let made = layout::DIRECTORIES.iter().try_for_each(|directory| room.dir.make(directory).map(drop));
    let tidied = made.and_then(|()| drafts::remove(room));
    let passed = tidied.and_then(|()| send::route(room).map(drop));
    passed.err().map(|e| Finding::new("not_mended", Severity::Problem, e.to_string(), "mailbag run --once -v"))
}
