//! Holes in conversations: written data that is not on the disk, because the machine stopped or a sync failed.

use super::files::ChannelFiles;
use super::paths;
use crate::base::error::{Error, Result};
use crate::disk;
use crate::log;
use rustix::fs::FileType;

impl ChannelFiles {
    /// Makes the next check find holes on the disk, if the whole log is there to fill them. The disk may lack data,
    /// and the system's cache may hide that.
    pub(super) fn suspect(&mut self) -> Result<()> {
        self.suspect = log::segments(&self.room)?.first() == Some(&log::START.segment);
        for channel in self.existing() {
            let dir = self.room.sub(paths::channel(&channel))?;
            if !dir
                .stat(paths::CONVERSATION)?
                .is_some_and(|meta| meta.kind == FileType::RegularFile)
            {
                continue;
            }
            match disk::forget(&dir, paths::CONVERSATION) {
                Err(e @ Error::Sync { .. }) => return Err(e),
                // The next check reports it; mail continues.
                Err(e) => tracing::debug!("{e}"),
                Ok(()) => {}
            }
        }
        Ok(())
    }
}
