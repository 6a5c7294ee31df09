//! Whether an inbox is as it was when it had nothing to tell: looking through a very large one at each hook would take
//! longer than a hook may.

use crate::base::clock::Stamp;
use crate::base::error::Result;
use crate::base::limits;
use crate::disk::{Meta, layout};
use crate::room::Room;
use serde::{Deserialize, Serialize};

/// How the directories stood that say what there is to tell.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Look {
    inbox: (u64, u64, i128),
    announced: (u64, u64, i128),
}

impl Look {
    /// As they stand now; `None` where one is missing.
    pub(super) fn at(room: &Room, agent: &str) -> Result<Option<Look>> {
        let stand = |meta: Meta| (meta.device, meta.inode, meta.modified);
        let inbox = room.dir.stat(layout::inbox(agent))?.map(stand);
        let announced = room.dir.stat(layout::announced(agent))?.map(stand);
        Ok(inbox.zip(announced).map(|(inbox, announced)| Look { inbox, announced }))
    }

    /// Did they stand so when there was nothing to tell? What can't be read says no.
    pub(super) fn is_the_last(&self, room: &Room, agent: &str) -> bool {
        let kept = room.dir.sub(layout::SESSIONS).and_then(|dir| dir.read(layout::looked(agent), limits::LEASE_BYTES));
        let kept = kept.ok().flatten().and_then(|bytes| serde_json::from_slice::<Look>(&bytes).ok());
        kept.as_ref() == Some(self)
    }

    /// Keeps them for the next hook, unless they changed so lately that another change could have the same time. It
    /// only saves time, so that it can't be kept is no trouble.
    pub(super) fn keep(&self, room: &Room, agent: &str) {
        let now = i128::from(Stamp::now().micros()) * 1000;
        let settled = now - limits::CLOCKS_APART.as_nanos() as i128;
        if self.inbox.2.max(self.announced.2) < settled {
            let kept = serde_json::to_vec(self).unwrap_or_default();
            let _ = room.dir.sub(layout::SESSIONS).and_then(|dir| dir.show(layout::looked(agent), &kept));
        }
    }
}
