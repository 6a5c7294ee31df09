//! Temporary files of replacements that a kill has left. Those in outboxes may belong to commands that still run, so only
//! `mailbag doctor` removes them.

use crate::base::clock::Stamp;
use crate::base::error::Result;
use crate::base::limits;
use crate::disk::{Dir, layout};
use crate::room::Room;

/// Removes them. A failure to list a directory does not stop the router.
pub(super) fn remove_leftovers(room: &Room) -> Result<()> {
    let spool = room.dir.sub(layout::SPOOL)?;
    for name in names(&spool, layout::is_spool_draft) {
        spool.remove(name)?;
    }
    for name in names(&room.dir, layout::is_projection_draft) {
        room.dir.remove(name)?;
    }
    if let Ok(queues) = room.dir.sub(layout::QUEUES) {
        for name in names(&queues, layout::is_projection_draft) {
            queues.remove(name)?;
        }
    }
    let of_registry = names(&room.dir, layout::is_registry_draft);
    if !of_registry.is_empty()
        && let Ok(_lock) = room.try_lock_registry()
    {
        for name in of_registry {
            room.dir.remove(name)?;
        }
    }
    // Nothing shows whether their writers still run.
    for name in names(&room.dir, layout::is_command_draft) {
        if is_old(&room.dir, &name)? {
            room.dir.remove(name)?;
        }
    }
    Ok(())
}

fn names(dir: &Dir, is_draft: fn(&str) -> bool) -> Vec<String> {
    let Ok(listing) = dir.list() else {
        return Vec::new();
    };
    let names = listing
        .flatten()
        .filter_map(|entry| entry.name.into_string().ok());
    names.filter(|name| is_draft(name)).collect()
}

fn is_old(dir: &Dir, name: &str) -> Result<bool> {
    let age = dir.stat(name)?.map_or(0, |meta| {
        Stamp::now().micros() as i128 * 1000 - meta.modified
    });
    Ok(age > limits::DRAFT_AGE.as_nanos() as i128)
}
