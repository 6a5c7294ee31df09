//! Links: mail to other rooms, in both directions.

mod border;
mod change;
mod check;
mod files;
pub mod item;
mod pending;

use super::Feature;
use crate::base::clock::Stamp;
use crate::base::error::{Problem, Result};
use crate::disk::Dir;
use crate::log::state::RoomState;
use crate::message::LINK;
use crate::message::schema::CheckedFields;
use crate::room::registry::OtherRooms;
use crate::room::settings::Settings;
use crate::router::projections::Projection;
use crate::router::projections::pending::AddressedItem;
use crate::router::seam::{Cx, Draft};
use std::sync::Arc;

pub(super) const FEATURE: LinksFeature = LinksFeature;

pub(super) struct LinksFeature;

/// The state is still in `log/state/links.rs`.
pub(super) type State = ();

impl Feature for LinksFeature {
    fn check(&self, fields: &CheckedFields, kind: &str, _: Stamp, problems: &mut Vec<Problem>) {
        problems.extend(check::check(fields, kind));
    }

    fn rooms(&self, settings: &Settings) -> OtherRooms {
        let links = settings.links.iter();
        links
            .map(|(tag, link)| (tag.clone(), link.accept.clone()))
            .collect()
    }

    fn derived(&self, _: &Dir) -> Option<Box<dyn Projection>> {
        Some(Box::new(files::LinkFiles::default()))
    }

    fn judge(
        &self,
        cx: Cx<'_>,
        draft: &mut Draft,
    ) -> Result<std::result::Result<(), Vec<Problem>>> {
        let problems = border::check(draft);
        if !problems.is_empty() {
            return Ok(Err(problems));
        }
        if draft.message.kind() != LINK {
            return Ok(Ok(()));
        }
        let change = change::judge(cx, draft)?;
        Ok(change.map(|change| draft.facts.links = Some(change)))
    }

    fn pending<'s>(&self, state: &'s RoomState) -> Vec<AddressedItem<'s>> {
        pending::pending(state)
    }

    // A room with links always has a file of items, because a link can become late without a record.
    fn pending_changed_at(&self, state: &RoomState) -> u64 {
        u64::from(!state.links.is_empty())
    }

    fn pending_by_time(&self, state: &RoomState) -> Vec<Arc<str>> {
        pending::late_tags(state)
    }
}
