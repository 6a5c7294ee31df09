//! Links: mail to other rooms, in both directions.

mod files;

use super::Feature;
use crate::disk::Dir;
use crate::router::projections::Projection;

pub(super) const FEATURE: LinksFeature = LinksFeature;

pub(super) struct LinksFeature;

/// The state is still in `log/state/links.rs`.
pub(super) type State = ();

impl Feature for LinksFeature {
    fn derived(&self, _: &Dir) -> Option<Box<dyn Projection>> {
        Some(Box::new(files::LinkFiles::default()))
    }
}
