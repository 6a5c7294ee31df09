//! Links: mail to other rooms, in both directions.

mod check;
mod files;
pub mod item;

use super::Feature;
use crate::base::clock::Stamp;
use crate::base::error::{Problem, Result};
use crate::disk::Dir;
use crate::message::schema::CheckedFields;
use crate::router::projections::Projection;
use crate::router::seam::{Cx, Draft};
use crate::router::steps::link_changes;

pub(super) const FEATURE: LinksFeature = LinksFeature;

pub(super) struct LinksFeature;

/// The state is still in `log/state/links.rs`.
pub(super) type State = ();

impl Feature for LinksFeature {
    fn check(&self, fields: &CheckedFields, kind: &str, _: Stamp, problems: &mut Vec<Problem>) {
        problems.extend(check::check(fields, kind));
    }

    fn derived(&self, _: &Dir) -> Option<Box<dyn Projection>> {
        Some(Box::new(files::LinkFiles::default()))
    }

    fn judge(
        &self,
        cx: Cx<'_>,
        draft: &mut Draft,
    ) -> Result<std::result::Result<(), Vec<Problem>>> {
        link_changes::judge(cx, draft)
    }
}
