//! Files in or beside outboxes that the router never picks up.

use super::{Blocked, directories};
use crate::base::error::Result;
use crate::disk::layout;
use crate::room::Room;
use crate::room::outbox::{cure_beside, stray, strays_in};
use crate::room::registry::Registry;
use rustix::fs::FileType;
use std::path::Path;

/// All such files in outboxes that have not changed for a moment.
pub(crate) fn strays(room: &Room) -> Result<Vec<Blocked>> {
    let mut all = Vec::new();
    for agent in directories(room, layout::OUTBOXES)? {
        let names = strays_in(&room.dir, &layout::outbox(&agent));
        let found = names.iter().filter_map(|name| stray(&room.dir, &agent, name, crate::base::limits::UNCHANGED_FOR));
        all.extend(found.map(|stray| Blocked {
            what: stray.place,
            reason: stray.why.into(),
            since: stray.since.to_string(),
            cure: stray.cure,
        }));
    }
    Ok(all)
}

/// The command that fixes a blocked file: a file in the wrong place has its own, for all others it is `again`, which
/// makes another pass.
pub(crate) fn cure(room: &Room, registry: Option<&Registry>, what: &str, again: &str) -> String {
    let below = Path::new(what).strip_prefix(layout::OUTBOXES).ok().filter(|below| below.components().count() == 1);
    let meta = below.and_then(|_| room.dir.stat(what).ok().flatten());
    match meta.filter(|meta| meta.kind == FileType::RegularFile) {
        Some(_) => cure_beside(&room.dir, what, |name| registry.is_some_and(|known| known.agent(name).is_some())),
        None => again.to_owned(),
    }
}
