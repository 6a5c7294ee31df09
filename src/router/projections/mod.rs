//! Projections: files that show the content of the log. Each can be deleted at any time, and the router makes it
//! again.
//!
//! Each implements the trait `Projection`. A feature has its own in `Feature::derived`.

mod projected_file;
pub(crate) mod foreign;
pub(crate) mod pacing;
pub mod pending;

pub(crate) use projected_file::{ProjectedFile, ProjectionContent};

use crate::base::error::{Error, Result};
use crate::disk::Dir;
use crate::features;
use crate::log::state::RoomState;
use crate::message::Message;
use crate::room::registry::Registry;
use crate::room::settings::Settings;
pub(crate) use crate::router::parts::NoticeText;
use crate::router::parts::{Journal, NoticeQueue, PendingWork, RoomConfig};
use std::collections::BTreeSet;
use std::fmt::Display;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

/// A file, or a set of files, that follows from the log. A failure delays no mail: the projection reports it, and is
/// reconciled when the router tries again.
pub(crate) trait Projection {
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
pub(crate) struct ProjectedMessage {
    pub(crate) seq: u64,
    /// Its accept time.
    pub(crate) at: String,
    pub(crate) message: Box<Message>,
}

/// The reason why files may differ from the log.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReconcileCause {
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
pub(crate) struct ProjectionView<'a> {
    pub(in crate::router) config: &'a RoomConfig,
    pub(crate) state: &'a RoomState,
    /// Whether the router has no other work.
    pub(crate) is_idle: bool,
}

/// The failures and the notices of a projection.
pub(crate) struct ProjectionReport<'a> {
    pending: &'a mut PendingWork,
    pub(crate) notices: &'a mut NoticeQueue,
    seen: &'a mut ProjectionObservations,
}

/// All projections of a room.
pub(crate) struct Projections {
    all: Vec<Box<dyn Projection>>,
    seen: ProjectionObservations,
}

/// The observations of projections.
#[derive(Default)]
struct ProjectionObservations {
    /// The places with a reported failure.
    places: BTreeSet<String>,
    /// Whether a feature may have work.
    has_work: bool,
    /// Rooms that received items.
    brought: BTreeSet<PathBuf>,
}

impl<'a> ProjectionView<'a> {
    /// The view of a router that may have other work.
    pub(crate) fn of(config: &'a RoomConfig, journal: &'a Journal) -> ProjectionView<'a> {
        ProjectionView {
            config,
            state: journal.state(),
            is_idle: false,
        }
    }

    /// The room's directory.
    pub(crate) fn room(&self) -> &'a Dir {
        self.config.dir()
    }

    pub(crate) fn registry(&self) -> &'a Arc<Registry> {
        self.config.registry()
    }

    pub(crate) fn settings(&self) -> &'a Settings {
        self.config.settings()
    }
}

impl Projections {
    pub(crate) fn new(room: &Dir) -> Projections {
        let mut all: Vec<Box<dyn Projection>> =
            vec![Box::new(pending::PendingProjection::default())];
        all.extend(
            features::ALL
                .iter()
                .filter_map(|feature| feature.derived(room)),
        );
        Projections {
            all,
            seen: ProjectionObservations::default(),
        }
    }

    /// Shows a committed batch; an empty batch only triggers work that is due.
    pub(crate) fn apply(
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
    pub(crate) fn reconcile(
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
    pub(crate) fn collect(
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
    pub(crate) fn next_due(&self) -> Option<Instant> {
        self.all
            .iter()
            .filter_map(|projection| projection.next_due())
            .min()
    }

    /// Returns true if a feature may have work since the last call.
    pub(crate) fn take_work(&mut self) -> bool {
        std::mem::take(&mut self.seen.has_work)
    }

    /// The rooms that received items since the last call.
    pub(crate) fn take_brought(&mut self) -> BTreeSet<PathBuf> {
        std::mem::take(&mut self.seen.brought)
    }

    /// Returns true if a projection has reported this pending place.
    pub(crate) fn is_own(&self, place: &str) -> bool {
        self.seen.places.contains(place)
    }
}

impl ProjectionReport<'_> {
    /// Reports that a file cannot be written. The projection is reconciled later.
    pub(crate) fn failed(&mut self, place: String, e: &Error) {
        self.pending.failed(&place, e.to_string());
        self.seen.places.insert(place);
    }

    /// Notes that items were brought to this room.
    pub(crate) fn brought(&mut self, room: PathBuf) {
        self.seen.brought.insert(room);
    }

    /// Notes that the feature of a projection may have work.
    pub(crate) fn may_have_work(&mut self) {
        self.seen.has_work = true;
    }

    /// Clears the failure of a written file.
    pub(crate) fn written(&mut self, place: impl Display) {
        let places = &mut self.seen.places;
        if !places.is_empty() && places.remove(&place.to_string()) {
            self.pending.clear(place);
        }
    }
}
