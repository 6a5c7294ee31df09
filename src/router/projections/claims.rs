//! `claims.json`, written when the ownership of work has changed, and when readers would have to read too much of the
//! log.

use super::projected_file::{ProjectedFile, ProjectionContent};
use crate::base::limits;
use crate::disk::layout;
use crate::log::{LogTip, owners};
use crate::router::projections::ProjectionView;
use std::time::Duration;

/// The largest number of log bytes that a reader must read after `claims.json` while a router runs.
const CLAIMS_BEHIND: u64 = 256 << 10;

/// The file of the owners.
pub(super) type ClaimsProjection = ProjectedFile<ClaimsContent>;

/// The claims as the content of the file.
pub(super) struct ClaimsContent;

impl ProjectionContent for ClaimsContent {
    const NAME: &'static str = layout::CLAIMS;
    const ADVICE: &'static str =
        "To change the owner of work, use `mailbag claim`, `mailbag release` or `mailbag handoff`.";
    type Coverage = LogTip;

    fn changed_at(view: &ProjectionView<'_>) -> u64 {
        view.state.claims.changed_at()
    }

    fn written(view: &ProjectionView<'_>) -> Option<LogTip> {
        owners::written(view.config.dir()).unwrap_or_default()
    }

    fn upto(view: &ProjectionView<'_>) -> LogTip {
        view.state.tip()
    }

    fn is_current(upto: &LogTip, view: &ProjectionView<'_>) -> bool {
        let end = view.state.end;
        let grown = if upto.end.segment == end.segment {
            end.offset - upto.end.offset
        } else {
            u64::MAX
        };
        view.state.claims.changed_at() <= upto.seq && grown < CLAIMS_BEHIND
    }

    fn text(view: &ProjectionView<'_>) -> Vec<u8> {
        owners::text(view.state)
    }

    fn pause(_: Duration) -> Duration {
        limits::CLAIMS
    }
}
