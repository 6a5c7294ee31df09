//! Files in or beside outboxes that the router never picks up.

use super::blocked::BlockedPath;
use crate::disk::layout;
use crate::room::Room;
use crate::room::outbox::{stray, strays_in};

/// All such files in these outboxes that have not changed for a moment.
pub(crate) fn strays(room: &Room, outboxes: &[String]) -> Vec<BlockedPath> {
    let mut all = Vec::new();
    for agent in outboxes {
        let names = strays_in(&room.dir, &layout::outbox(agent));
        let found = names
            .iter()
            .filter_map(|name| stray(&room.dir, agent, name, crate::base::limits::UNCHANGED_FOR));
        all.extend(found.map(|stray| BlockedPath {
            path: stray.place,
            reason: stray.reason.into(),
            since: stray.since.to_string(),
            fix: stray.fix,
        }));
    }
    all
}
