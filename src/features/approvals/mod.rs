//! Approvals: questions that a person or an agent decides, and disagreements.

mod check;
pub mod decision;

pub use check::check_options;

use super::Feature;
use crate::base::clock::Stamp;
use crate::base::error::{Problem, Result};
use crate::message::schema::CheckedFields;
use crate::router::seam::{Cx, Draft, Due};
use crate::router::steps::decisions;

pub(super) const FEATURE: ApprovalsFeature = ApprovalsFeature;

pub(super) struct ApprovalsFeature;

/// The state is still in `log/state/approvals.rs` and `log/state/disputes.rs`.
pub(super) type State = ();

impl Feature for ApprovalsFeature {
    fn check(&self, fields: &CheckedFields, kind: &str, now: Stamp, problems: &mut Vec<Problem>) {
        check::check(fields, kind, now, problems);
    }

    fn judge(
        &self,
        cx: Cx<'_>,
        draft: &mut Draft,
    ) -> Result<std::result::Result<(), Vec<Problem>>> {
        decisions::judge(cx, draft)
    }

    fn due(&self, cx: Cx<'_>) -> Due {
        decisions::due(cx)
    }
}
