//! The router: it moves messages from outboxes to inboxes in ten steps. Each step takes the result of the step
//! before, so an order that loses mail does not compile.
//!
//! [`watcher`] reports that there may be work, [`steps`] route a batch, [`projections`] show it, `upkeep` does the
//! other work, [`recover`] enters the steps in the middle after a crash, and [`daemon`] runs the
//! router. A [`Router`] consists of `parts`.
//!
//! The form of the room's files does not belong here (`room`, `log`), nor does the output of commands.
//!
//! If a batch fails before it is committed, the router recovers the room as after a kill and tries the files again, one
//! batch for each. Later, a step that fails for a temporary reason continues with the others. Any other failure ends the
//! router.

pub mod daemon;
mod parts;
pub mod projections;
pub mod recover;
pub(crate) mod seam;
pub mod steps;
pub(crate) mod upkeep;
pub mod watcher;

pub use parts::RouterTotals;
pub(crate) use parts::{LaneWatch, NoticeQueue, PendingWork};
pub use steps::ack::{AckRoom, SUPERSEDED_BY, judge as judge_ack};

use crate::base::clock::Stamp;
use crate::base::error::{Error, ErrorClass, Result};
use crate::disk::layout;
use crate::log::Log;
use crate::log::state::RoomState;
use crate::room::outbox::UnreadyFiles;
use crate::room::spool::Spool;
use crate::room::{Room, RoomTurn, RouterLock, is_edited};
use parts::{
    DeliveryProgress, DueDeadlines, Journal, LinkAcknowledgements, MailIntake, NoticeText,
    ObservedReceipts, RenameRetry, RoomConfig, RouterStorage, claim_item,
};
use projections::{ProjectionView, Projections, ReconcileCause};
use recover::SystemCache;
use std::time::Duration;
use steps::commit::{CommitStep, CommittedBatch};
use steps::judge::JudgeStep;
use steps::pickup::PickupStep;
use steps::stage::{BatchStage, StagedBatch};
use steps::{check, deliver, effects, read, retire};

/// The router of one room. Only the holder of the room's lock can have one.
pub struct Router {
    /// The room, its registry and its settings.
    config: RoomConfig,
    /// Files and claims waiting for their turn.
    intake: MailIntake,
    /// The spool, and the barrier.
    storage: RouterStorage,
    /// The log, and the in-memory state built from it.
    journal: Journal,
    /// The delivery progress of committed records.
    progress: DeliveryProgress,
    /// Observations of copies that left inboxes.
    receipts: ObservedReceipts,
    /// Acknowledgements from linked rooms.
    links: LinkAcknowledgements,
    projections: Projections,
    /// Messages of the router's own.
    notices: NoticeQueue,
    /// Work that failed for a temporary reason.
    pending: PendingWork,
    deadlines: DueDeadlines,
    renames: RenameRetry,
    /// Shared with a backup, which makes the router pause.
    turn: RoomTurn,
}

impl Router {
    fn new(
        room: Room,
        lock: RouterLock,
        turn: RoomTurn,
        patience: UnreadyFiles,
        found: RecoveredRoom,
    ) -> Result<Router> {
        let config = RoomConfig::new(room, patience.now().is_none())?;
        let RecoveredRoom {
            log,
            spool,
            state,
            unsaved,
        } = found;
        Ok(Router {
            intake: MailIntake::new(patience, state.claim),
            storage: RouterStorage::new(config.dir(), spool),
            journal: Journal::new(lock, log, state, unsaved),
            progress: DeliveryProgress::default(),
            receipts: ObservedReceipts::default(),
            links: LinkAcknowledgements::default(),
            projections: Projections::new(config.dir()),
            notices: NoticeQueue::default(),
            pending: PendingWork::default(),
            deadlines: DueDeadlines::default(),
            renames: RenameRetry::default(),
            turn,
            config,
        })
    }

    /// Routes one batch. Returns false if there was nothing to do.
    fn route(&mut self) -> Result<bool> {
        // Step 1, notice, belongs to the watcher: it has filled the intake. Mail is judged after the renamings are
        // recorded.
        if self.is_held() {
            return self.record_renames();
        }
        self.apply_deadlines();
        let picked_up = PickupStep {
            config: &self.config,
            intake: &mut self.intake,
            storage: &mut self.storage,
            state: self.journal.state(),
            links: &mut self.links,
            notices: &mut self.notices,
            pending: &mut self.pending,
        }
        .run();
        let letters = read::read(&mut self.intake, &self.storage, picked_up);
        let checked = check::check(&self.config, letters);
        let Some(committed) = self.commit(|judge| judge.run(checked))? else {
            return Ok(false);
        };
        self.intake
            .remember_hops(committed.seqs(), self.journal.state());
        self.complete(committed)
    }

    /// Steps 5 to 7: judges and stages a batch, and commits it. If anything fails, nothing of the batch stays in memory:
    /// the room is recovered, and the files of the batch are tried again. Returns `None` then.
    fn commit(
        &mut self,
        judge: impl FnOnce(JudgeStep<'_>) -> Result<StagedBatch, FailedBatch>,
    ) -> Result<Option<CommittedBatch>> {
        let registry = self.config.registry().clone();
        let has_receipts = !self.receipts.is_empty();
        let step = JudgeStep {
            stage: BatchStage {
                config: &mut self.config,
                storage: &mut self.storage,
                journal: &mut self.journal,
                progress: &self.progress,
                receipts: &self.receipts,
                links: &self.links,
                batch: Default::default(),
            },
            intake: &mut self.intake,
            notices: &mut self.notices,
            pending: &mut self.pending,
            deadlines: &mut self.deadlines,
        };
        let (failed, staged) = match judge(step) {
            Ok(staged) => match self.commit_step().run(&staged) {
                Ok(()) => {
                    // The expiry of urgent mail is passed on immediately.
                    if has_receipts && self.receipts.is_empty() {
                        self.deadlines.ask_again();
                    }
                    return Ok(Some(CommittedBatch::of(staged)));
                }
                Err(e) => (FailedBatch::from(e), Some(staged)),
            },
            Err(failed) => (failed, None),
        };
        self.config.restore_registry(registry);
        self.start_again(failed, staged)?;
        Ok(None)
    }

    fn commit_step(&mut self) -> CommitStep<'_> {
        CommitStep {
            config: &self.config,
            intake: &mut self.intake,
            storage: &mut self.storage,
            journal: &mut self.journal,
            progress: &mut self.progress,
            receipts: &mut self.receipts,
            links: &mut self.links,
            notices: &mut self.notices,
            pending: &mut self.pending,
        }
    }

    /// Recovers the room after a batch failed. The log can have the batch: then it is committed. Otherwise the part that
    /// failed is delayed, and the rest is tried again.
    fn start_again(&mut self, failed: FailedBatch, staged: Option<StagedBatch>) -> Result<()> {
        if !can_recover(&failed.error) {
            return Err(failed.error);
        }
        let cache = match failed.error {
            Error::Sync { .. } => SystemCache::Distrusted,
            _ => SystemCache::Trusted,
        };
        tracing::warn!("{}; the room is recovered", failed.error);
        let is_in_log = self.restore_here(cache)?;
        match staged {
            Some(staged) if is_in_log => {
                self.commit_step().recovered(&staged);
                self.deadlines.ask_again();
            }
            _ => self.delay(failed),
        }
        self.resume(cache)
    }

    /// Delays the part of a batch that failed, and queues the rest again.
    fn delay(&mut self, failed: FailedBatch) {
        let reason = failed.error.to_string();
        let (mut claim, mut notice) = (None, None);
        match failed.part {
            Some(FailedPart::Claim(name)) => claim = Some(name),
            Some(FailedPart::Notice(about)) => notice = Some(about),
            None => {}
        }
        let is_known = claim.is_some() || notice.is_some();
        for claim in self.intake.batch_failed(claim, is_known) {
            self.pending.failed(&claim_item(&claim), reason.clone());
        }
        let is_failing = !is_known && self.intake.is_failing();
        let mut waiting = self.notices.give_back(notice.as_deref(), is_failing);
        // A notice that follows from the state is not in the queue.
        waiting.extend(notice.filter(|about| !self.notices.has_failed(about)));
        for about in waiting {
            self.pending
                .failed(&NoticeText::item(&about), reason.clone());
        }
        self.deadlines.ask_again();
        self.deadlines.delay_all();
        self.receipts.delay();
        self.links.delay();
    }

    /// Records that agents have other names now, in a batch of its own. A failed batch is tried again after a moment.
    fn record_renames(&mut self) -> Result<bool> {
        let state = self.journal.state();
        let renames = self.renames.take(state, self.config.registry());
        if renames.is_empty() {
            return Ok(false);
        }
        // The record must not outlive the change of the registry.
        self.storage.sync(self.config.dir());
        let Some(committed) = self.commit(|judge| judge.rename(&renames))? else {
            return Ok(false);
        };
        let routed = self.complete(committed)?;
        // Stuck copies may have another destination now.
        self.try_stuck_again()?;
        Ok(routed)
    }

    /// Returns true if the log lacks a change of the registry. Until the change is recorded, all work that depends on
    /// the registry waits.
    fn is_held(&self) -> bool {
        self.renames
            .are_open(self.journal.state(), self.config.registry())
    }

    /// Steps 8 to 10: the effects of committed records.
    fn complete(&mut self, committed: CommittedBatch) -> Result<bool> {
        let Router {
            config,
            storage,
            journal,
            progress,
            receipts,
            projections,
            notices,
            pending,
            ..
        } = self;
        let state = journal.state();
        let delivered = deliver::deliver(storage, state, progress, pending, committed)?;
        let view = ProjectionView::of(config, journal);
        projections.apply(delivered.accepted(), &view, pending, notices);
        let effected = effects::effects(
            config, storage, state, progress, receipts, pending, delivered,
        );
        Ok(retire::retire(storage, state, progress, pending, effected))
    }

    /// Returns true if the router has no work now.
    fn is_idle(&self) -> bool {
        let state = self.journal.state();
        if self.is_held() {
            return !self.renames.is_due(state, self.config.registry());
        }
        self.intake.is_idle() && self.notices.is_empty() && !self.deadlines.is_due(state)
    }

    /// Makes delivered copies durable, and records receipts and changes of the registry. Called after a quiet time,
    /// because the next message's record also says which records are settled.
    fn settle(&mut self) -> Result<()> {
        if self.receipts.is_empty() && self.links.is_empty() && !self.progress.has_open_changes() {
            return self.storage.barrier();
        }
        // The expiry of a message and its notice are in one batch.
        if !self.notices.is_empty() && !self.is_held() {
            self.route()?;
            return Ok(());
        }
        self.record_changes()
    }

    /// Commits a batch without messages.
    fn record_changes(&mut self) -> Result<()> {
        if let Some(committed) = self.commit(|judge| Ok(judge.stage.settle()?))? {
            self.complete(committed)?;
        }
        Ok(())
    }

    /// Records that the machine's clock was set back, so that leases and deadlines also end in a room without mail.
    fn note_clock(&mut self) -> Result<()> {
        if self.journal.state().is_ahead_of(Stamp::now()) {
            return self.record_changes();
        }
        Ok(())
    }

    /// Returns true if everything delivered is durable, and every change of the registry is settled.
    fn is_settled(&self) -> bool {
        self.storage.is_durable() && !self.progress.has_open_changes()
    }

    /// Tries due pending items again. Returns true if the registry or the settings must be read again.
    fn retry(&mut self) -> Result<bool> {
        let (mut copies, mut reload, mut projections) = (false, false, false);
        for what in &self.pending.take_due() {
            if let Some(about) = NoticeText::about_of(what) {
                // Notices of features follow from the state.
                if !self.notices.has_failed(about) {
                    self.pending.clear(what);
                }
                self.deadlines.ask_again();
                continue;
            }
            let outboxes = self.intake.outboxes();
            match what.split_once('/') {
                _ if self.projections.is_own(what) => projections = true,
                Some((layout::OUTBOXES, file)) => match file.split_once('/') {
                    // The pending list replaces bytes that are not text; the directory has the exact name.
                    Some((agent, name))
                        if name.is_empty() || name.contains(char::REPLACEMENT_CHARACTER) =>
                    {
                        outboxes.scan(&agent.into());
                    }
                    Some((agent, name)) => outboxes.hint(&agent.into(), name.into()),
                    None => outboxes.scan(&file.into()),
                },
                Some((layout::SPOOL, claim)) => {
                    self.intake
                        .queue_claims(claim.strip_prefix("claim/").map(str::to_owned));
                }
                _ if is_edited(what) => {
                    reload = true;
                    copies |= what == layout::REGISTRY || what == layout::SETTINGS;
                }
                _ => copies = true,
            }
        }
        if copies {
            self.try_stuck_again()?;
        }
        if projections {
            self.reconcile(ReconcileCause::Sweep)?;
        }
        self.notices.retry();
        Ok(reload)
    }

    fn try_stuck_again(&mut self) -> Result<()> {
        let stuck = CommittedBatch::again(self.journal.state(), self.progress.take_stuck());
        self.complete(stuck)?;
        Ok(())
    }

    /// The work of this router since it started.
    fn tally(&self) -> RouterTotals {
        RouterTotals {
            waiting: self.pending.len(),
            ..self.journal.tally()
        }
    }

    /// Makes the projections equal to the log.
    fn reconcile(&mut self, cause: ReconcileCause) -> Result<()> {
        let view = ProjectionView::of(&self.config, &self.journal);
        self.projections
            .reconcile(cause, &view, &mut self.pending, &mut self.notices)
    }

    /// Collects messages that agents wrote into files of projections.
    fn collect_from_projections(&mut self) {
        let view = ProjectionView::of(&self.config, &self.journal);
        self.projections
            .collect(&view, &mut self.pending, &mut self.notices);
    }

    /// Writes the projections that are due.
    fn write_projections(&mut self) {
        let view = ProjectionView {
            is_idle: self.is_idle(),
            ..ProjectionView::of(&self.config, &self.journal)
        };
        self.projections
            .apply(&[], &view, &mut self.pending, &mut self.notices);
        if self.projections.take_work() {
            self.keep_features_up();
        }
    }

    /// The time until the next deadline.
    fn until_deadline(&self) -> Option<Duration> {
        let state = self.journal.state();
        if self.is_held() {
            return self.renames.until_next(state, self.config.registry());
        }
        self.deadlines.until_next(state)
    }

    /// Writes the snapshot if the log has grown enough.
    fn save_snapshot(&mut self) -> Result<()> {
        self.journal.save_snapshot(self.config.dir())
    }

    /// Writes the list of pending items if it changed.
    fn write_pending(&mut self) {
        self.pending.write(self.config.dir());
    }
}

/// A batch that failed before its commit.
struct FailedBatch {
    error: Error,
    /// The part that failed, if it is known.
    part: Option<FailedPart>,
}

/// A part of a batch that failed.
enum FailedPart {
    /// A file in `spool/claim`.
    Claim(String),
    /// A notice, by its subject.
    Notice(String),
}

impl FailedBatch {
    fn of_claim(claim: Option<&str>, error: Error) -> FailedBatch {
        let part = claim.map(|claim| FailedPart::Claim(claim.to_owned()));
        FailedBatch { error, part }
    }

    fn of_notice(about: Option<&str>, error: Error) -> FailedBatch {
        let part = about.map(|about| FailedPart::Notice(about.to_owned()));
        FailedBatch { error, part }
    }
}

impl From<Error> for FailedBatch {
    fn from(error: Error) -> FailedBatch {
        FailedBatch { error, part: None }
    }
}

/// The log, the spool and the state that recovery found.
struct RecoveredRoom {
    log: Log,
    spool: Spool,
    state: RoomState,
    /// The number of bytes of the log after the snapshot.
    unsaved: u64,
}

/// Returns true if recovery in the running router can remove the cause of a failed batch: a call failed, and the room
/// was not replaced.
fn can_recover(e: &Error) -> bool {
    matches!(e, Error::Io { .. } | Error::Sync { .. }) || e.class() == ErrorClass::Temporary
}

/// Returns a temporary error, and fails with any other.
fn temporary(e: Error) -> Result<Error> {
    match e.class() {
        ErrorClass::Temporary => Ok(e),
        _ => Err(e),
    }
}
