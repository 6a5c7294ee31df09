//! Claims: who owns which files, tasks and lanes.

pub mod change;
mod check;

use super::Feature;
use crate::base::clock::Stamp;
use crate::base::error::Problem;
use crate::message::schema::CheckedFields;

pub(super) const FEATURE: ClaimsFeature = ClaimsFeature;

pub(super) struct ClaimsFeature;

/// The state is still in `log/state/claims`.
pub(super) type State = ();

impl Feature for ClaimsFeature {
    fn check(&self, fields: &CheckedFields, kind: &str, _: Stamp, problems: &mut Vec<Problem>) {
        check::check(fields, kind, problems);
    }
}
