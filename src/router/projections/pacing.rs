//! The times of the writes of files that follow the log with a delay.

use super::ProjectionView;
use crate::base::limits;
use crate::room::registry::Registry;
use std::sync::Arc;
use std::time::Instant;

/// The last write of a file, and the time of the next one.
#[derive(Default)]
pub(crate) struct WritePacing {
    /// The time when a change must be written.
    pub(crate) due: Option<Instant>,
    /// The earliest time of the next write.
    pub(crate) next: Option<Instant>,
    /// The last record and the registry of the last write.
    made_from: Option<(u64, Arc<Registry>)>,
}

impl WritePacing {
    /// Returns true if a change can be written now. Otherwise the change becomes due later.
    pub(crate) fn can_write(&mut self) -> bool {
        self.due = self.next.filter(|next| *next > Instant::now());
        self.due.is_none()
    }

    /// Returns true if a write is due, or if the log or the registry changed since the last write.
    pub(crate) fn is_outdated(&self, view: &ProjectionView<'_>) -> bool {
        self.due.is_some_and(|due| due <= Instant::now())
            || self.made_from.as_ref().is_none_or(|(seq, registry)| {
                *seq != view.state.seq || !Arc::ptr_eq(registry, view.config.registry())
            })
    }

    /// Notes the inputs of a write that begins now.
    pub(crate) fn begin(&mut self, view: &ProjectionView<'_>) {
        self.due = None;
        self.made_from = Some((view.state.seq, view.config.registry().clone()));
    }

    /// Sets the pause after a write, which grows with the duration of the write.
    pub(crate) fn end(&mut self, begun: Instant) {
        let pause = begun.elapsed() * limits::WORKLOG_PAUSE;
        self.next = Some(Instant::now() + limits::WORKLOG.max(pause));
    }

    /// Schedules another write.
    pub(crate) fn retry(&mut self) {
        self.due = Some(Instant::now() + limits::WORKLOG);
    }
}
