//! A file of the room that follows the log with a delay. After many changes in a row, only the last state is written.

use super::foreign::{MadeFile, check_json, digest, is_checked_json};
use crate::base::error::Result;
use crate::base::limits;
use crate::disk::{Meta, SharedText};
use crate::router::projections::{Accepted, Cause, Projection, Report, View};
use rustix::fs::FileType;
use std::time::{Duration, Instant};

/// The content of a file.
pub(super) trait Content {
    /// Its name in the room.
    const NAME: &'static str;
    /// The advice to a person who writes to the file.
    const ADVICE: &'static str;
    /// The last record or position that a file covers.
    type Upto;

    /// The last record that changed the content, or 0 if no file is needed.
    fn changed_at(view: &View<'_>) -> u64;

    /// The coverage of the file of an earlier router, if known.
    fn written(view: &View<'_>) -> Option<Self::Upto>;

    /// The coverage of a file with the present state.
    fn upto(view: &View<'_>) -> Self::Upto;

    /// Returns true if a file with this coverage is recent enough.
    fn is_current(upto: &Self::Upto, view: &View<'_>) -> bool;

    /// The text for the present state.
    fn text(view: &View<'_>) -> Vec<u8>;

    /// The pause after a write that took this long.
    fn pause(took: Duration) -> Duration;
}

/// The file as it was written.
pub(super) struct Behind<C: Content> {
    /// The coverage of the file, if known.
    upto: Option<C::Upto>,
    /// Whether the file of an earlier router was read.
    known: bool,
    /// The file as it was left.
    left: Option<Meta>,
    /// The time when a change must be written.
    due: Option<Instant>,
    /// The earliest time of the next write.
    next: Option<Instant>,
}

impl<C: Content> Default for Behind<C> {
    fn default() -> Behind<C> {
        Behind {
            upto: None,
            known: false,
            left: None,
            due: None,
            next: None,
        }
    }
}

impl<C: Content> Projection for Behind<C> {
    fn apply(&mut self, _: &[Accepted], view: &View<'_>, report: &mut Report<'_>) {
        if self.is_current(view) {
            return;
        }
        match self.next.filter(|next| *next > Instant::now()) {
            Some(next) => self.due = Some(next),
            None => self.show(view, report),
        }
    }

    fn reconcile(&mut self, cause: Cause, view: &View<'_>, report: &mut Report<'_>) -> Result<()> {
        match cause {
            Cause::Recovery => return Ok(()),
            Cause::Holes => (self.upto, self.known) = (None, true),
            Cause::Sweep => {
                let now = view.config.dir().stat(C::NAME).ok().flatten();
                if self.left.is_some() && now != self.left {
                    (self.upto, self.known) = (None, true);
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

impl<C: Content> Behind<C> {
    fn is_current(&mut self, view: &View<'_>) -> bool {
        if C::changed_at(view) == 0 {
            return true;
        }
        if !std::mem::replace(&mut self.known, true) {
            self.upto = C::written(view);
        }
        self.upto
            .as_ref()
            .is_some_and(|upto| C::is_current(upto, view))
    }

    /// Keeps foreign text of the file elsewhere, so that the file can be overwritten. Returns false if the file must
    /// stay until the human is notified.
    fn release(
        &self,
        there: Option<Meta>,
        view: &View<'_>,
        report: &mut Report<'_>,
    ) -> Result<bool> {
        let room = view.config.dir();
        let is_regular = there.is_some_and(|there| there.kind == FileType::RegularFile);
        if !is_regular || self.left == there {
            return Ok(true);
        }
        let bytes = room
            .read(C::NAME, limits::CLAIMS_BYTES)?
            .unwrap_or_default();
        if is_checked_json(&bytes) {
            return Ok(true);
        }
        let made = MadeFile {
            dir: room,
            name: C::NAME.as_ref(),
            shown: C::NAME,
            advice: C::ADVICE,
        };
        made.keep_aside(&digest(&bytes), view.state, report)
    }

    fn show(&mut self, view: &View<'_>, report: &mut Report<'_>) {
        let (room, begun) = (view.config.dir(), Instant::now());
        let shown = room.stat(C::NAME).and_then(|there| {
            if !self.release(there, view, report)? {
                return Ok(None);
            }
            let text = SharedText {
                head: &check_json(C::text(view)),
                rest: None,
                is_durable: false,
            };
            room.put_shared(C::NAME.as_ref(), text, there.as_ref())
        });
        match shown {
            // The notice is recorded first. Its record is a change, so the file is written after it.
            Ok(None) => {
                self.due = Some(Instant::now() + limits::CLAIMS);
                return;
            }
            Ok(left) => {
                report.written(C::NAME);
                (self.upto, self.left) = (Some(C::upto(view)), left);
            }
            Err(e) => report.failed(C::NAME.to_owned(), &e),
        }
        (self.due, self.next) = (None, Some(Instant::now() + C::pause(begun.elapsed())));
    }
}
