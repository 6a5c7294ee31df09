//! `claims.json`: written behind the mail when the ownership of work has changed, and when the log has grown so far that
//! readers would have to read much of it.

use crate::base::error::Result;
use crate::base::limits;
use crate::disk::{Meta, layout};
use crate::log::owners::{self, Upto};
use crate::router::projections::{Accepted, Cause, Projection, Report, View};
use std::time::Instant;

/// The file as it was written.
#[derive(Default)]
pub(in crate::router) struct Written {
    /// The last record in it. `None` if the file is not known to be true.
    upto: Option<Upto>,
    /// Was the file of an earlier router looked at?
    known: bool,
    /// The file as it was left.
    left: Option<Meta>,
    /// When a change has to be written.
    due: Option<Instant>,
    written: Option<Instant>,
}

impl Projection for Written {
    fn apply(&mut self, _: &[Accepted], view: &View<'_>, report: &mut Report<'_>) {
        if self.is_current(view) {
            return;
        }
        // Of many changes in a row, the last one is written.
        let now = Instant::now();
        let next = self.written.map_or(now, |written| written + limits::CLAIMS);
        if next > now {
            self.due = Some(next);
            return;
        }
        self.show(view, report);
    }

    fn reconcile(&mut self, cause: Cause, view: &View<'_>, report: &mut Report<'_>) -> Result<()> {
        match cause {
            Cause::Recovery => return Ok(()),
            Cause::FailedSync => self.upto = None,
            Cause::Sweep => {
                let now = view.config.dir().stat(layout::CLAIMS).ok().flatten();
                if self.upto.is_some() && self.left.is_some() && now != self.left {
                    self.upto = None;
                }
            }
            Cause::End => {}
        }
        if !self.is_current(view) {
            self.show(view, report);
        }
        Ok(())
    }

    fn next_due(&self) -> Option<Instant> {
        self.due
    }
}

impl Written {
    fn is_current(&mut self, view: &View<'_>) -> bool {
        let state = view.state;
        if state.claims.changed_at() == 0 {
            return true;
        }
        if !std::mem::replace(&mut self.known, true) {
            self.upto = owners::written(view.config.dir()).unwrap_or_default();
        }
        self.upto.as_ref().is_some_and(|upto| {
            let grown =
                if upto.end.segment == state.end.segment { state.end.offset - upto.end.offset } else { u64::MAX };
            state.claims.changed_at() <= upto.seq && grown < limits::CLAIMS_BEHIND
        })
    }

    fn show(&mut self, view: &View<'_>, report: &mut Report<'_>) {
        let room = view.config.dir();
        (self.due, self.written) = (None, Some(Instant::now()));
        match room.show(layout::CLAIMS, &owners::text(view.state)) {
            Ok(()) => {
                report.written(layout::CLAIMS);
                self.upto = Some(Upto::of(view.state));
                self.left = room.stat(layout::CLAIMS).ok().flatten();
            }
            Err(e) => report.failed(layout::CLAIMS.to_owned(), &e),
        }
    }
}
