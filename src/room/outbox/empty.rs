//! Outboxes without entries, remembered between passes, so that a pass lists only outboxes that changed.

use crate::base::error::Result;
use crate::disk::{Dir, Meta, SortedEntry, SortedFile, layout, machine};
use std::collections::HashMap;
use std::ffi::OsStr;
use std::time::Duration;

/// The number of outboxes that must be found empty before this is written down for later passes.
const EMPTY_OUTBOXES: usize = 256;
/// Two changes of a directory within this time can have the same time.
const COARSE_CLOCK: Duration = Duration::from_secs(1);

/// The outboxes that had no entry after their last change. They are identified by their inodes, and a change by its time,
/// which no program can set.
#[derive(Default)]
pub struct EmptyOutboxes {
    /// From an earlier pass.
    known: HashMap<u64, u64>,
    /// Found by this pass.
    found: Vec<SortedEntry>,
    /// Outboxes that changed later are not remembered: the clock of a file system is coarse, so a recent change may be
    /// followed by another with the same time.
    until: i128,
}

impl EmptyOutboxes {
    /// Reads the outboxes that an earlier pass has found. None after a boot, or if the file is missing or damaged.
    pub fn read(room: &Dir) -> EmptyOutboxes {
        let entries = SortedFile::open(room, layout::EMPTY)
            .ok()
            .filter(|file| machine::boot().is_some_and(|boot| boot.as_bytes() == file.label()))
            .and_then(|file| file.entries().ok());
        EmptyOutboxes {
            known: entries.into_iter().flatten().collect(),
            ..EmptyOutboxes::default()
        }
    }

    /// Remembers outboxes that are found empty. `now` is the time of the file system.
    pub fn remember(&mut self, now: i128) {
        self.until = now - COARSE_CLOCK.as_nanos() as i128;
    }

    /// Returns true if this outbox is known to be empty.
    pub fn has(&self, outboxes: &Dir, name: impl AsRef<OsStr>) -> bool {
        if self.known.is_empty() {
            return false;
        }
        let Ok(Some(meta)) = outboxes.stat(name.as_ref()) else {
            return false;
        };
        let (inode, changed) = entry(&meta);
        self.known.get(&inode) == Some(&changed)
    }

    /// Adds an outbox that was empty after it had this metadata.
    pub(super) fn add(&mut self, meta: &Meta) {
        if meta.changed < self.until {
            self.found.push(entry(meta));
        }
    }

    /// Writes the file if it saves later passes more than it costs.
    pub fn save(&mut self, room: &Dir) -> Result<()> {
        if self.found.len() < EMPTY_OUTBOXES {
            return Ok(());
        }
        self.known.extend(self.found.drain(..));
        let mut entries: Vec<SortedEntry> =
            self.known.iter().map(|(&key, &at)| (key, at)).collect();
        entries.sort_unstable();
        let boot = machine::boot().unwrap_or_default();
        SortedFile::write(room, layout::EMPTY, boot.as_bytes(), &entries)
    }
}

fn entry(meta: &Meta) -> SortedEntry {
    (meta.inode, meta.changed as u64)
}
