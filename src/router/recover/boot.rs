//! The note of a clean end: `spool/boot` has the boot of the machine in which the last router ended without a failure.

use crate::base::error::{Error, Result};
use crate::disk::{Dir, NoteFile, layout, machine};

/// The content while a router runs.
const RUNNING: &str = "a router runs";

/// Returns true if the last router ended cleanly in this boot.
pub(super) fn has_ended_cleanly(room: &Dir) -> bool {
    let noted = NoteFile::read(room, layout::BOOT).ok().flatten();
    noted.is_some() && noted == machine::boot()
}

/// Notes that a router runs, so that only its clean end is one.
pub(super) fn note_start(room: &Dir) -> Result<()> {
    if has_ended_cleanly(room) {
        NoteFile::open(room, layout::BOOT)?.write(RUNNING)?;
    }
    Ok(())
}

/// Notes the end of a router. Without a clean end, the next recovery distrusts the system's cache.
pub fn note_end<T>(room: &Dir, done: Result<T>) -> Result<T> {
    if done.is_ok()
        && let Some(boot) = machine::boot()
        && let Err(e) = NoteFile::open(room, layout::BOOT).and_then(|note| note.write(&boot))
    {
        tracing::debug!("{e}; the next start copies the newest segment");
    }
    done
}

/// Makes the next recovery distrust the system's cache after a failed sync of a process that is not a router.
pub fn note_failed_sync<T>(room: &Dir, done: Result<T>) -> Result<T> {
    if matches!(done, Err(Error::Sync { .. }))
        && let Err(e) = room.remove(layout::BOOT)
    {
        tracing::debug!("{e}; the next recovery trusts the cache");
    }
    done
}
