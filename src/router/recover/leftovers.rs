//! Temporary files of replacements after a kill. In an outbox they can belong to a running command, so only `mailbag
//! doctor` removes them there.

use crate::base::clock::Stamp;
use crate::base::error::Result;
use crate::base::limits;
use crate::disk::{Dir, layout};
use crate::room::Room;

/// Removes temporary files. A failure to list a directory does not stop the router.
pub(super) fn remove_leftovers(room: &Room) -> Result<()> {
    let spool = room.dir.sub(layout::SPOOL)?;
    for name in names(&spool, layout::is_spool_draft) {
        spool.remove(name)?;
    }
    if let Ok(queues) = room.dir.sub(layout::QUEUES) {
        for name in names(&queues, layout::is_projection_draft) {
            queues.remove(name)?;
        }
    }
    for name in names(&room.dir, |name| name.starts_with('.')) {
        if layout::is_registry_draft(&name) {
            if let Ok(_lock) = room.try_lock_registry() {
                room.dir.remove(name)?;
            }
            continue;
        }
        // The age shows that the command has ended.
        let is_abandoned = layout::is_command_draft(&name) && is_old(&room.dir, &name)?;
        if is_abandoned || layout::is_projection_draft(&name) {
            room.dir.remove(name)?;
        }
    }
    Ok(())
}

fn names(dir: &Dir, is_draft: fn(&str) -> bool) -> Vec<String> {
    let mut names = dir.names().unwrap_or_default();
    names.retain(|name| is_draft(name));
    names
}

fn is_old(dir: &Dir, name: &str) -> Result<bool> {
    let age = dir.stat(name)?.map_or(0, |meta| {
        Stamp::now().micros() as i128 * 1000 - meta.modified
    });
    Ok(age > limits::DRAFT_AGE.as_nanos() as i128)
}
