//! Projections: files that show the content of the log. Each can be deleted at any time, and the router makes it
//! again.
//!
//! A projection is one file here that implements `Projection`, and one line in `Projections::new`.

mod projected_file;
pub mod channels;
mod claims;
mod foreign;
mod links;
pub mod mailbox;
mod pacing;
pub mod pending;
pub mod roster;
mod worklog;

use crate::base::error::{Error, Result};
use crate::disk::Dir;
use crate::log::state::RoomState;
use crate::message::Message;
use crate::router::parts::{Journal, NoticeQueue, PendingWork, RoomConfig};
use std::collections::BTreeSet;
use std::fmt::Display;
use std::path::PathBuf;
use std::time::Instant;

/// A file, or a set of files, that follows from the log. A failure delays no mail: the projection reports it, and is
/// reconciled when the router tries again.
pub(super) trait Projection {
    /// Takes in a committed batch. An empty batch only triggers work that is due.
    fn apply(
        &mut self,
        batch: &[ProjectedMessage],
        view: &ProjectionView<'_>,
        report: &mut ProjectionReport<'_>,
    );

    /// Makes the files equal to the log, where they may differ. An error ends the router.
    fn reconcile(
        &mut self,
        cause: ReconcileCause,
        view: &ProjectionView<'_>,
        report: &mut ProjectionReport<'_>,
    ) -> Result<()>;

    /// The time of the next necessary call of [`Projection::apply`] without a batch.
    fn next_due(&self) -> Option<Instant> {
        None
    }

    /// Takes messages that agents wrote into the files, before the router looks at outboxes.
    fn collect(&mut self, _: &ProjectionView<'_>, _: &mut ProjectionReport<'_>) {}
}

/// A message that a batch accepted, as the check parsed it.
pub(super) struct ProjectedMessage {
    pub(super) seq: u64,
    /// Its accept time.
    pub(super) at: String,
    pub(super) message: Box<Message>,
}

/// The reason why files may differ from the log.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ReconcileCause {
    /// The router has just recovered.
    Recovery,
    /// As above, and the machine has started since, or a sync has failed: written data may not be on the disk.
    Holes,
    /// Another program may have changed a file, or the cause of an earlier failure may be gone.
    Sweep,
    /// The router ends: later work is due now.
    End,
}

/// The inputs of a projection.
pub(super) struct ProjectionView<'a> {
    pub(super) config: &'a RoomConfig,
    pub(super) state: &'a RoomState,
    /// Whether the router has no other work.
    pub(super) is_idle: bool,
}

/// The failures and the notices of a projection.
pub(super) struct ProjectionReport<'a> {
    pending: &'a mut PendingWork,
    pub(super) notices: &'a mut NoticeQueue,
    seen: &'a mut ProjectionObservations,
}

/// All projections of a room.
pub(super) struct Projections {
    all: Vec<Box<dyn Projection>>,
    seen: ProjectionObservations,
}

/// The observations of projections.
#[derive(Default)]
struct ProjectionObservations {
    /// The places with a reported failure.
    places: BTreeSet<String>,
    /// Whether an agent may be stale.
    is_stale: bool,
    /// Rooms that received items.
    brought: BTreeSet<PathBuf>,
}

impl ProjectionView<'_> {
    /// The view of a router that may have other work.
    pub(super) fn of<'a>(config: &'a RoomConfig, journal: &'a Journal) -> ProjectionView<'a> {
        ProjectionView {
            config,
            state: journal.state(),
            is_idle: false,
        }
    }
}

impl Projections {
    pub(super) fn new(room: &Dir) -> Projections {
        let all: Vec<Box<dyn Projection>> = vec![
            Box::new(channels::ChannelFiles::new(room.clone())),
            Box::new(claims::ClaimsProjection::default()),
            Box::new(links::LinkFiles::default()),
            Box::new(pending::PendingProjection::default()),
            Box::new(roster::RosterProjection::default()),
            Box::new(worklog::Worklog::default()),
            Box::new(mailbox::MailFiles::default()),
        ];
        Projections {
            all,
            seen: ProjectionObservations::default(),
        }
    }

    /// Shows a committed batch; an empty batch only triggers work that is due.
    pub(super) fn apply(
        &mut self,
        batch: &[ProjectedMessage],
        view: &ProjectionView<'_>,
        pending: &mut PendingWork,
        notices: &mut NoticeQueue,
    ) {
        let mut report = ProjectionReport {
            pending,
            notices,
            seen: &mut self.seen,
        };
        for projection in &mut self.all {
            projection.apply(batch, view, &mut report);
        }
    }

    /// Makes all files equal to the log.
    pub(super) fn reconcile(
        &mut self,
        cause: ReconcileCause,
        view: &ProjectionView<'_>,
        pending: &mut PendingWork,
        notices: &mut NoticeQueue,
    ) -> Result<()> {
        let mut report = ProjectionReport {
            pending,
            notices,
            seen: &mut self.seen,
        };
        for projection in &mut self.all {
            projection.reconcile(cause, view, &mut report)?;
        }
        Ok(())
    }

    /// Takes messages that agents wrote into files of projections.
    pub(super) fn collect(
        &mut self,
        view: &ProjectionView<'_>,
        pending: &mut PendingWork,
        notices: &mut NoticeQueue,
    ) {
        let mut report = ProjectionReport {
            pending,
            notices,
            seen: &mut self.seen,
        };
        for projection in &mut self.all {
            projection.collect(view, &mut report);
        }
    }

    /// The time when [`Projections::apply`] must be called again.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.all
            .iter()
            .filter_map(|projection| projection.next_due())
            .min()
    }

    /// Returns true if a projection has seen since the last call that an agent may be stale.
    pub(super) fn take_stale(&mut self) -> bool {
        std::mem::take(&mut self.seen.is_stale)
    }

    /// The rooms that received items since the last call.
    pub(super) fn take_brought(&mut self) -> BTreeSet<PathBuf> {
        std::mem::take(&mut self.seen.brought)
    }

    /// Returns true if a projection has reported this pending place.
    pub(super) fn is_own(&self, place: &str) -> bool {
        self.seen.places.contains(place)
    }
}

impl ProjectionReport<'_> {
    /// Reports that a file cannot be written. The projection is reconciled later.
    pub(super) fn failed(&mut self, place: String, e: &Error) {
        self.pending.failed(&place, e.to_string());
        self.seen.places.insert(place);
    }

    /// Notes that items were brought to this room.
    pub(super) fn brought(&mut self, room: PathBuf) {
        self.seen.brought.insert(room);
    }

    /// Notes that an agent may be stale.
    pub(super) fn may_be_stale(&mut self) {
        self.seen.is_stale = true;
    }

    /// Clears the failure of a written file.
    pub(super) fn written(&mut self, place: impl Display) {
        let places = &mut self.seen.places;
        if !places.is_empty() && places.remove(&place.to_string()) {
            self.pending.clear(place);
        }
    }
}
