//! A note about the last write. With this note, a later router adds entries without a comparison of the whole file.

use crate::base::error::Result;
use crate::base::limits;
use crate::disk::{Dir, Meta, layout, machine};
use crate::log::LogTip;
use serde::{Deserialize, Serialize};

/// The record of the router's last write to the worklog. In [`layout::SPOOL`].
pub(super) const WORKLOG_NOTE: &str = "worklog.json";

/// A worklog as it was written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct WorklogNote {
    /// Its path in the settings.
    pub(super) path: String,
    /// The boot of the machine. A power cut can change the file after the note was written.
    boot: Option<String>,
    left: FileVersion,
    /// The position of the entries.
    pub(super) entries_at: u64,
    /// The hash of the text before them.
    pub(super) head: String,
    /// The coverage of the file.
    pub(super) upto: LogTip,
    /// The newest decisions, as lines of the index.
    pub(super) decisions: Vec<String>,
}

/// A file as it was left, as numbers that JSON has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct FileVersion {
    device: u64,
    inode: u64,
    size: u64,
    modified: i64,
    changed: i64,
}

impl FileVersion {
    fn of(meta: &Meta) -> FileVersion {
        let Meta {
            device,
            inode,
            size,
            modified,
            changed,
            ..
        } = *meta;
        FileVersion {
            device,
            inode,
            size,
            modified: modified as i64,
            changed: changed as i64,
        }
    }
}

impl WorklogNote {
    /// The note about the present file, without its content.
    pub(super) fn new(path: &str, meta: &Meta, upto: LogTip) -> WorklogNote {
        WorklogNote {
            path: path.to_owned(),
            boot: machine::boot(),
            left: FileVersion::of(meta),
            entries_at: 0,
            head: String::new(),
            upto,
            decisions: Vec::new(),
        }
    }

    /// The note of an earlier router, if it can be trusted.
    pub(super) fn read(room: &Dir, path: &str) -> Option<WorklogNote> {
        let bytes = room
            .sub(layout::SPOOL)
            .and_then(|spool| spool.read(WORKLOG_NOTE, limits::REGISTRY_BYTES));
        let note: WorklogNote = serde_json::from_slice(&bytes.ok()??).ok()?;
        let is_true = note.path == path && note.boot.is_some() && note.boot == machine::boot();
        (is_true && note.upto.is_in(room).unwrap_or_default()).then_some(note)
    }

    /// Saves the note for the next router, which compares the whole file if this fails.
    pub(super) fn save(&self, room: &Dir) -> Result<()> {
        let text = serde_json::to_vec(self).expect("a note has only text keys");
        room.sub(layout::SPOOL)?.show(WORKLOG_NOTE, &text)
    }

    /// Returns true if the file is unchanged.
    pub(super) fn is_as_left(&self, now: Option<&Meta>) -> bool {
        now.is_some_and(|now| FileVersion::of(now) == self.left)
    }

    /// Notes that the file was written.
    pub(super) fn set_left(&mut self, meta: &Meta) {
        self.left = FileVersion::of(meta);
    }

    /// The size of the file.
    pub(super) fn size(&self) -> u64 {
        self.left.size
    }
}
