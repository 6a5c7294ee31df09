//! Detects an inbox that has not changed since it had nothing to announce. Searching a very large inbox at every hook would
//! take too long.

use crate::base::clock::Stamp;
use crate::base::error::Result;
use crate::base::limits;
use crate::disk::{Meta, layout};
use crate::room::Room;
use serde::{Deserialize, Serialize};

/// The state of the inbox and of the announcement markers.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct InboxSnapshot {
    inbox: DirectoryState,
    announced: DirectoryState,
}

/// Identity and modification time of a directory.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct DirectoryState {
    device: u64,
    inode: u64,
    modified: i128,
}

impl DirectoryState {
    fn of(meta: Meta) -> DirectoryState {
        DirectoryState {
            device: meta.device,
            inode: meta.inode,
            modified: meta.modified,
        }
    }
}

impl InboxSnapshot {
    /// The current snapshot; `None` if a directory is missing.
    pub(super) fn at(room: &Room, agent: &str) -> Result<Option<InboxSnapshot>> {
        let inbox = room.dir.stat(layout::inbox(agent))?;
        let announced = room.dir.stat(layout::announced(agent))?;
        Ok(inbox
            .zip(announced)
            .map(|(inbox, announced)| InboxSnapshot {
                inbox: DirectoryState::of(inbox),
                announced: DirectoryState::of(announced),
            }))
    }

    /// Whether this equals the stored snapshot. An unreadable one counts as different.
    pub(super) fn is_unchanged(&self, room: &Room, agent: &str) -> bool {
        let kept = room
            .dir
            .sub(layout::SESSIONS)
            .and_then(|dir| dir.read(layout::looked(agent), limits::LEASE_BYTES));
        let kept = kept
            .ok()
            .flatten()
            .and_then(|bytes| serde_json::from_slice::<InboxSnapshot>(&bytes).ok());
        kept.as_ref() == Some(self)
    }

    /// Stores the snapshot for the next hook, unless a directory changed so recently that another change could have the same
    /// time. Failures are ignored, because the snapshot only saves time.
    pub(super) fn keep(&self, room: &Room, agent: &str) {
        let now = i128::from(Stamp::now().micros()) * 1000;
        let settled = now - limits::CLOCKS_APART.as_nanos() as i128;
        if self.inbox.modified.max(self.announced.modified) < settled {
            let kept = serde_json::to_vec(self).unwrap_or_default();
            let _ = room
                .dir
                .sub(layout::SESSIONS)
                .and_then(|dir| dir.show(layout::looked(agent), &kept));
        }
    }
}
