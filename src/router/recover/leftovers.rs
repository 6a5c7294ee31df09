//! Temporary files of replacements after a kill. In an outbox they can belong to a running command, so only `mailbag
//! doctor` removes them there.

use crate::base::clock::Stamp;
use crate::base::error::Result;
use crate::base::limits;
use crate::disk::{Dir, layout};
use crate::features;
use crate::room::Room;

/// Removes temporary files. A failure to list a directory does not stop the router.
pub(super) fn remove_leftovers(room: &Room) -> Result<()> {
    let spool = room.dir.sub(layout::SPOOL)?;
    for name in names(&spool, layout::is_spool_draft) {
        spool.remove(name)?;
    }
    for name in derived_names() {
        if let Ok(directory) = room.dir.sub(name) {
            for draft in names(&directory, |name| derived_file(name).is_some()) {
                directory.remove(draft)?;
            }
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
        if is_abandoned || derived_file(&name).is_some_and(is_derived) {
            room.dir.remove(name)?;
        }
    }
    Ok(())
}

/// The file that a temporary file of the router replaces.
fn derived_file(draft: &str) -> Option<&str> {
    draft.strip_prefix('.')?.strip_suffix(".tmp")
}

/// Returns true if the router derives this file of the room's directory from the log.
fn is_derived(name: &str) -> bool {
    let of_core = [layout::CLAIMS, layout::PENDING];
    of_core
        .into_iter()
        .chain(derived_names())
        .any(|derived| derived == name)
}

fn derived_names() -> impl Iterator<Item = &'static str> {
    features::ALL
        .iter()
        .flat_map(|feature| feature.derived_names())
        .copied()
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
