//! `claims.json`, written when the ownership of work has changed, and when readers would have to read too much of the
//! log.

use super::projected_file::{ProjectedFile, ProjectionContent};
use crate::base::limits;
use crate::disk::layout;
use crate::log::state::claims::{self, ClaimsPosition};
use crate::router::projections::ProjectionView;
use std::time::Duration;

/// The most records that a reader must read after `claims.json` while a router runs.
const CLAIMS_BEHIND: u64 = 256;

/// The file of the owners.
pub(super) type ClaimsProjection = ProjectedFile<ClaimsContent>;

/// The claims as the content of the file.
pub(super) struct ClaimsContent;

impl ProjectionContent for ClaimsContent {
    const NAME: &'static str = layout::CLAIMS;
    const ADVICE: &'static str =
        "To change the owner of work, use `mailbag claim`, `mailbag release` or `mailbag handoff`.";
    type Coverage = ClaimsPosition;

    fn changed_at(view: &ProjectionView<'_>) -> u64 {
        view.state.claims.changed_at()
    }

    fn written(view: &ProjectionView<'_>) -> Option<ClaimsPosition> {
        claims::written(view.config.dir()).unwrap_or_default()
    }

    fn upto(view: &ProjectionView<'_>) -> ClaimsPosition {
        ClaimsPosition::of(view.state)
    }

    fn is_current(upto: &ClaimsPosition, view: &ProjectionView<'_>) -> bool {
        let behind = view.state.seq - upto.seq;
        view.state.claims.changed_at() <= upto.seq && behind < CLAIMS_BEHIND
    }

    fn text(view: &ProjectionView<'_>) -> Vec<u8> {
        claims::text(view.state)
    }

    fn pause(_: Duration) -> Duration {
        limits::CLAIMS
    }
}
