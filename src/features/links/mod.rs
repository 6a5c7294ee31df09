//! Links: mail to other rooms, in both directions.

mod border;
mod change;
mod check;
mod files;
pub mod item;

use super::Feature;
use crate::base::clock::Stamp;
use crate::base::error::{Problem, Result};
use crate::disk::Dir;
use crate::message::LINK;
use crate::message::schema::CheckedFields;
use crate::room::registry::OtherRooms;
use crate::room::settings::Settings;
use crate::router::projections::Projection;
use crate::router::seam::{Cx, Draft};

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
}
