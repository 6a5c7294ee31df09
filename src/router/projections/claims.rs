//! `claims.json`, written when the ownership of work has changed, and when readers would have to read too much of the
//! log.

use super::behind::{Behind, Content};
use crate::base::limits;
use crate::disk::layout;
use crate::log::owners::{self, Upto};
use crate::router::projections::View;
use std::time::Duration;

/// The file of the owners.
pub(super) type Written = Behind<Owners>;

/// The claims as the content of the file.
pub(super) struct Owners;

impl Content for Owners {
    const NAME: &'static str = layout::CLAIMS;
    const ADVICE: &'static str =
        "To change the owner of work, use `mailbag claim`, `mailbag release` or `mailbag handoff`.";
    type Upto = Upto;

    fn changed_at(view: &View<'_>) -> u64 {
        view.state.claims.changed_at()
    }

    fn written(view: &View<'_>) -> Option<Upto> {
        owners::written(view.config.dir()).unwrap_or_default()
    }

    fn upto(view: &View<'_>) -> Upto {
        Upto::of(view.state)
    }

    fn is_current(upto: &Upto, view: &View<'_>) -> bool {
        let end = view.state.end;
        let grown = if upto.end.segment == end.segment {
            end.offset - upto.end.offset
        } else {
            u64::MAX
        };
        view.state.claims.changed_at() <= upto.seq && grown < limits::CLAIMS_BEHIND
    }

    fn text(view: &View<'_>) -> Vec<u8> {
        owners::text(view.state)
    }

    fn pause(_: Duration) -> Duration {
        limits::CLAIMS
    }
}
