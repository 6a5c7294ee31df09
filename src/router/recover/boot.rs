//! The note of a clean end: `spool/boot` names the boot of the machine if the last router ended without a failure since then.

use crate::base::error::{Error, Result};
use crate::disk::{Dir, NoteFile, layout, machine};
use crate::router::Router;

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

impl Router {
    /// Notes the clean end of this router, which still has the room's lock. Without it, the next recovery distrusts the
    /// system's cache.
    pub(in crate::router) fn note_clean_end(&self) {
        let room = self.config.dir();
        if let Some(boot) = machine::boot()
            && let Err(e) = NoteFile::open(room, layout::BOOT).and_then(|note| note.write(&boot))
        {
            tracing::debug!("{e}; the next start copies the newest segment");
        }
    }
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
