//! The carrier `dir`: brings the items in `out/` of this room into `in/` of another room on this machine or on a
//! mount.
//!
//! Nothing is synced: an item stays in this room until the other room has committed it, and is brought again if it is
//! lost.

use super::{LinkEnd, LinkItemBuilder};
use crate::base::error::{Error, Result};
use crate::base::limits;
use crate::disk::{Dir, Meta, layout};
use crate::room::Room;
use crate::room::links::{LinkEndState, items, open_other, tag_of_room};
use crate::room::settings::LinkSettings;
use crate::router::projections::ProjectionView;
use std::path::Path;

const _: () = assert!(limits::FLYING_ITEMS <= ITEMS_AHEAD);
/// The number of items that a carrier brings before the room has committed the previous ones.
const ITEMS_AHEAD: u64 = 10_000;

/// The items that were brought to the other room.
#[derive(Default)]
pub(super) struct DirectoryCarrier {
    /// The other room, and its settings when its link to this room was found.
    other: Option<(Room, Option<Meta>, Dir)>,
    /// The stream, and the number of the last brought item.
    put: Option<(String, u64)>,
    /// The state of this room in the other room.
    shown: Option<LinkEndState>,
}

impl DirectoryCarrier {
    /// Brings uncommitted items and the state of this room to the other room. A sweep also checks that brought items
    /// still exist. Returns true if an item was brought.
    pub(super) fn bring(
        &mut self,
        end: LinkEnd<'_>,
        now: LinkEndState,
        is_sweep: bool,
        view: &ProjectionView<'_>,
    ) -> Result<bool> {
        let LinkEnd { tag, settings } = end;
        self.find(tag, settings, view)?;
        let Some((_, _, there)) = &self.other else {
            return Ok(false);
        };
        let mut has_brought = false;
        let link = view.state.links.get(tag);
        if let (Some(link), Some(out)) = (link, link.and_then(|link| link.out.as_ref())) {
            let put = self
                .put
                .take()
                .filter(|(stream, _)| **stream == *out.stream)
                .map_or(0, |(_, n)| n);
            let upto = out.n.min(out.acked + ITEMS_AHEAD);
            let mut n = if is_sweep {
                first_missing(there, out.acked, upto)?
            } else {
                put.max(out.acked)
            };
            let mut items = LinkItemBuilder::of(view, tag);
            while n < upto {
                n += 1;
                if let Some(waiting) = link.waiting_at(n) {
                    there.show(layout::item(n), items.text(waiting)?.as_bytes())?;
                    has_brought = true;
                }
            }
            self.put = Some((out.stream.to_string(), n));
        }
        if self.shown.as_ref() != Some(&now)
            || is_sweep && LinkEndState::read(there)?.as_ref() != Some(&now)
        {
            there.show(layout::LINK_STATE, &now.text())?;
            self.shown = Some(now);
        }
        Ok(has_brought)
    }

    /// Opens the other room, and finds its link to this room.
    fn find(
        &mut self,
        tag: &str,
        settings: &LinkSettings,
        view: &ProjectionView<'_>,
    ) -> Result<()> {
        if !settings.is_withheld
            && let Some((room, version, there)) = &self.other
            && room.dir.stat(layout::SETTINGS)? == *version
            && there.stat(".")?.is_some()
            && Path::new(&settings.address) == room.dir.path()
        {
            return Ok(());
        }
        let room = open_other(tag, settings)?;
        let version = room.dir.stat(layout::SETTINGS)?;
        let far = room.settings()?;
        let own = view.room().meta()?;
        let Some(theirs) = tag_of_room(&far, &own, settings.known_as.as_deref()) else {
            let (place, here) = (room.dir.path().display(), view.room().path().display());
            return Err(Error::busy(
                format!("the room {tag} at {place} has no link to this room, so its mail waits"),
                format!("run there: mailbag link add TAG {here}"),
            ));
        };
        let there = room.dir.make_loose(layout::link_in(theirs))?;
        remove_drafts(&there)?;
        self.other = Some((room, version, there));
        Ok(())
    }
}

/// Removes the drafts that a power cut has left: the other room may have taken these items, and then none is brought again.
fn remove_drafts(there: &Dir) -> Result<()> {
    let mut names = there.names()?;
    names.retain(|name| name.starts_with('.') && name.ends_with(".json.tmp"));
    names.iter().try_for_each(|name| there.remove(name))
}

/// The number before the first missing item after `acked`.
fn first_missing(there: &Dir, acked: u64, upto: u64) -> Result<u64> {
    let mut n = acked;
    for (there, _) in items(there)?
        .into_iter()
        .skip_while(|(there, _)| *there <= acked)
    {
        if there != n + 1 || n == upto {
            break;
        }
        n = there;
    }
    Ok(n)
}
