//! `claims.json`, written when the ownership of work has changed, and when readers would have to read too much of the
//! log.

use super::file::{self, ClaimsPosition};
use crate::base::limits;
use crate::disk::layout;
use crate::router::projections::ProjectionView;
use crate::router::projections::{ProjectedFile, ProjectionContent};
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
        super::of(view.state).changed_at()
    }

    fn written(view: &ProjectionView<'_>) -> Option<ClaimsPosition> {
        file::written(view.room()).unwrap_or_default()
    }

    fn upto(view: &ProjectionView<'_>) -> ClaimsPosition {
        ClaimsPosition::of(view.state)
    }

    fn is_current(upto: &ClaimsPosition, view: &ProjectionView<'_>) -> bool {
        let behind = view.state.seq - upto.seq;
        super::of(view.state).changed_at() <= upto.seq && behind < CLAIMS_BEHIND
    }

    fn text(view: &ProjectionView<'_>) -> Vec<u8> {
        file::text(view.state)
    }

    fn pause(_: Duration) -> Duration {
        limits::CLAIMS
    }
}
