//! Holes in conversations: written data that never reached the disk, because the machine stopped or a sync failed.

use super::Channels;
use crate::base::error::{Error, Result};
use crate::disk;
use crate::disk::layout;
use crate::log;
use rustix::fs::FileType;

impl Channels {
    /// The disk may lack data, and the system's cache may hide that. The next look finds the holes on disk, if the whole
    /// log is there to fill them.
    pub(super) fn suspect(&mut self) -> Result<()> {
        self.suspect = log::segments(&self.room)?.first() == Some(&log::START.segment);
        for channel in self.there() {
            let dir = self.room.sub(layout::channel(&channel))?;
            if !dir
                .stat(layout::CONVERSATION)?
                .is_some_and(|meta| meta.kind == FileType::RegularFile)
            {
                continue;
            }
            match disk::forget(&dir, layout::CONVERSATION) {
                Err(e @ Error::Sync { .. }) => return Err(e),
                // The next look reports it; mail continues.
                Err(e) => tracing::debug!("{e}"),
                Ok(()) => {}
            }
        }
        Ok(())
    }
}
