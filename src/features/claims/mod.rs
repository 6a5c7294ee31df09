//! Claims: who owns which files, tasks and lanes.

pub mod change;
mod check;

use super::Feature;
use crate::base::clock::Stamp;
use crate::base::error::{Problem, Result};
use crate::message::schema::CheckedFields;
use crate::router::seam::{Cx, Draft, Due};
use crate::router::steps::owners;

pub(super) const FEATURE: ClaimsFeature = ClaimsFeature;

pub(super) struct ClaimsFeature;

/// The state is still in `log/state/claims`.
pub(super) type State = ();

impl Feature for ClaimsFeature {
    fn check(&self, fields: &CheckedFields, kind: &str, _: Stamp, problems: &mut Vec<Problem>) {
        check::check(fields, kind, problems);
    }

    fn judge(
        &self,
        cx: Cx<'_>,
        draft: &mut Draft,
    ) -> Result<std::result::Result<(), Vec<Problem>>> {
        Ok(owners::judge(cx, draft))
    }

    fn due(&self, cx: Cx<'_>) -> Due {
        owners::due(cx)
    }
}
