//! A file of the room that follows the log with a delay. After many changes in a row, only the last state is written.

use super::foreign::{GeneratedFile, check_json, digest, is_checked_json};
use crate::base::error::Result;
use crate::base::limits;
use crate::disk::{Meta, SharedFileContent};
use crate::router::projections::pacing::WritePacing;
use crate::router::projections::{
    ProjectedMessage, Projection, ProjectionReport, ProjectionView, ReconcileCause,
};
use rustix::fs::FileType;
use std::time::{Duration, Instant};

/// The content of a file.
pub(crate) trait ProjectionContent {
    /// Its name in the room.
    const NAME: &'static str;
    /// The advice to a person who writes to the file.
    const ADVICE: &'static str;
    /// The last record or position that a file covers.
    type Coverage;

    /// The last record that changed the content, or 0 if no file is needed.
    fn changed_at(view: &ProjectionView<'_>) -> u64;

    /// The coverage of the file of an earlier router, if known.
    fn written(view: &ProjectionView<'_>) -> Option<Self::Coverage>;

    /// The coverage of a file with the present state.
    fn upto(view: &ProjectionView<'_>) -> Self::Coverage;

    /// Returns true if a file with this coverage is recent enough.
    fn is_current(upto: &Self::Coverage, view: &ProjectionView<'_>) -> bool;

    /// The text for the present state.
    fn text(view: &ProjectionView<'_>) -> Vec<u8>;

    /// The pause after a write that took this long.
    fn pause(took: Duration) -> Duration;
}

/// The file as it was written.
pub(crate) struct ProjectedFile<C: ProjectionContent> {
    /// The coverage of the file, if known.
    upto: Option<C::Coverage>,
    /// Whether the file of an earlier router was read.
    known: bool,
    /// The file as it was left.
    left: Option<Meta>,
    pacing: WritePacing,
}

impl<C: ProjectionContent> Default for ProjectedFile<C> {
    fn default() -> ProjectedFile<C> {
        ProjectedFile {
            upto: None,
            known: false,
            left: None,
            pacing: WritePacing::default(),
        }
    }
}

impl<C: ProjectionContent> Projection for ProjectedFile<C> {
    fn apply(
        &mut self,
        _: &[ProjectedMessage],
        view: &ProjectionView<'_>,
        report: &mut ProjectionReport<'_>,
    ) {
        if !self.is_current(view) && self.pacing.can_write() {
            self.show(view, report);
        }
    }

    fn reconcile(
        &mut self,
        cause: ReconcileCause,
        view: &ProjectionView<'_>,
        report: &mut ProjectionReport<'_>,
    ) -> Result<()> {
        match cause {
            ReconcileCause::Recovery => return Ok(()),
            ReconcileCause::Holes => (self.upto, self.known) = (None, true),
            ReconcileCause::Sweep => {
                let now = view.config.dir().stat(C::NAME).ok().flatten();
                if self.left.is_some() && now != self.left {
                    (self.upto, self.known) = (None, true);
                }
            }
            ReconcileCause::End => {}
        }
        if !self.is_current(view) {
            self.show(view, report);
        }
        Ok(())
    }

    fn next_due(&self) -> Option<Instant> {
        self.pacing.due
    }
}

impl<C: ProjectionContent> ProjectedFile<C> {
    fn is_current(&mut self, view: &ProjectionView<'_>) -> bool {
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
        view: &ProjectionView<'_>,
        report: &mut ProjectionReport<'_>,
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
        let made = GeneratedFile {
            dir: room,
            name: C::NAME.as_ref(),
            shown: C::NAME,
            advice: C::ADVICE,
        };
        made.keep_aside(&digest(&bytes), view.state, report)
    }

    fn show(&mut self, view: &ProjectionView<'_>, report: &mut ProjectionReport<'_>) {
        let (room, begun) = (view.config.dir(), Instant::now());
        let shown = room.stat(C::NAME).and_then(|there| {
            if !self.release(there, view, report)? {
                return Ok(None);
            }
            let text = SharedFileContent {
                head: &check_json(C::text(view)),
                rest: None,
                is_durable: false,
            };
            room.put_shared(C::NAME.as_ref(), text, there.as_ref())
        });
        match shown {
            // The notice is recorded first. Its record is a change, so the file is written after it.
            Ok(None) => {
                self.pacing.due = Some(Instant::now() + limits::CLAIMS);
                return;
            }
            Ok(left) => {
                report.written(C::NAME);
                (self.upto, self.left) = (Some(C::upto(view)), left);
            }
            Err(e) => report.failed(C::NAME.to_owned(), &e),
        }
        self.pacing.due = None;
        self.pacing.next = Some(Instant::now() + C::pause(begun.elapsed()));
    }
}
