//! The router: it moves a message from outbox to inbox in ten steps. Each step takes what the step before returns, so that
//! an order that loses mail does not compile.
//!
//! In: files in outboxes. Out: records in the log, copies in inboxes, and projections. [`watcher`] says when to look,
//! [`steps`] route a batch, [`projections`] show it, `upkeep` does the work beside the mail, [`recover`] enters the steps
//! in the middle after a crash, and [`daemon`] runs the router. `parts` are what a [`Router`] consists of.
//!
//! A step that fails for a temporary reason leaves the message where it is, as a file in its outbox or as a claim, and
//! continues with the others. A permanent failure ends the router, and recovery starts from what is on disk.
//!
//! What does not belong here: the form of the room's files (`room`, `log`), and anything that a caller is shown.

pub mod daemon;
mod parts;
pub mod projections;
pub mod recover;
pub mod steps;
mod upkeep;
pub mod watcher;

pub use parts::Tally;
pub use steps::ack::{Claimed as AckClaims, SUPERSEDED_BY, failed_wakes, judge as judge_ack};

use crate::base::clock::Stamp;
use crate::base::error::{Class, Error, Result};
use crate::disk::layout;
use crate::log::Log;
use crate::log::state::State;
use crate::room::outbox::Patience;
use crate::room::spool::Spool;
use crate::room::{Lock, Room, Turn};
use parts::{
    Config, Gates, Intake, Journal, Leases, Links, Notice, Notices, Pending, Progress, Receipts,
    Renames, Storage, Wakes,
};
use projections::{Cause, Projections, View};
use std::ffi::OsStr;
use std::time::{Duration, Instant};
use steps::commit::{Commit, Committed};
use steps::pickup::Pickup;
use steps::stage::Stage;
use steps::{check, deliver, effects, read, resolve, retire};
use upkeep::deadlines::{Deadlines, Keep};
use upkeep::{loops, receipts, reload, stale, strays};

/// The router of one room. Only the holder of the room's lock can have one.
pub struct Router {
    /// The room, its registry and its settings.
    config: Config,
    /// What is to be picked up.
    intake: Intake,
    /// The spool, and the barrier.
    storage: Storage,
    /// The log, and the state that it amounts to.
    journal: Journal,
    /// How far committed records are.
    progress: Progress,
    /// What was observed of copies that left inboxes.
    receipts: Receipts,
    /// Steps of wakes that are not in the log yet.
    wakes: Wakes,
    /// What other rooms have told of themselves.
    links: Links,
    projections: Projections,
    /// What the router itself has to tell.
    notices: Notices,
    /// What failed for a temporary reason.
    pending: Pending,
    deadlines: Deadlines,
    leases: Leases,
    gates: Gates,
    renames: Renames,
    /// Shared with a backup, which makes the router pause.
    turn: Turn,
}

impl Router {
    fn new(
        room: Room,
        (lock, turn): (Lock, Turn),
        log: Log,
        spool: Spool,
        state: State,
        patience: Patience,
    ) -> Result<Router> {
        let config = Config::new(room, patience.now())?;
        Ok(Router {
            intake: Intake::new(patience, state.claim),
            storage: Storage::new(config.dir(), spool, config.settings().durability),
            journal: Journal::new(lock, log, state),
            progress: Progress::default(),
            receipts: Receipts::default(),
            wakes: Wakes::default(),
            links: Links::default(),
            projections: Projections::new(config.dir()),
            notices: Notices::default(),
            pending: Pending::default(),
            deadlines: Deadlines::default(),
            leases: Leases::default(),
            gates: Gates::default(),
            renames: Renames::default(),
            turn,
            config,
        })
    }

    /// Routes one batch of what is there. `false` when there was nothing to do.
    fn route(&mut self) -> Result<bool> {
        let begun = Instant::now();
        // Step 1, notice, is the watcher's: it has filled the intake.
        // All mail is judged after the renamings.
        if self.is_held() {
            return self.record_renames();
        }
        let Router {
            config,
            intake,
            storage,
            journal,
            progress,
            receipts,
            wakes,
            ..
        } = self;
        let Router {
            links,
            notices,
            pending,
            leases,
            gates,
            ..
        } = self;
        let state = journal.state();
        let picked_up = Pickup {
            config,
            intake,
            storage,
            state,
            links,
            notices,
            pending,
        }
        .run();
        let letters = read::read(intake, storage, picked_up);
        let checked = check::check(config, letters);
        let addressed = resolve::resolve(
            config,
            intake,
            state,
            notices,
            pending,
            (leases, gates),
            checked,
        )?;
        let mut staged = Stage {
            config,
            storage,
            state,
            progress,
            pending,
        }
        .run(addressed);
        intake.leave(staged.take_late(), config.settings(), state);
        let committed = Commit {
            config,
            storage,
            journal,
            progress,
            receipts,
            wakes,
            links,
            notices,
            pending,
        }
        .run(staged)?;
        intake.committed(committed.seqs(), journal.state(), config.dir(), pending);
        let routed = self.complete(committed)?;
        self.intake.batch_took(begun.elapsed());
        Ok(routed)
    }

    /// Records that agents have other names now, in a batch of its own. If that fails, it is tried again after a moment.
    fn record_renames(&mut self) -> Result<bool> {
        let Router {
            config,
            storage,
            journal,
            progress,
            receipts,
            wakes,
            links,
            notices,
            pending,
            renames,
            ..
        } = self;
        let state = journal.state();
        let renames = renames.take(state, config.registry());
        if renames.is_empty() {
            return Ok(false);
        }
        // The record must not outlive the change of the registry.
        storage.sync(config.dir());
        let addressed = resolve::rename(config, state, &renames)?;
        let staged = Stage {
            config,
            storage,
            state,
            progress,
            pending,
        }
        .run(addressed);
        let committed = Commit {
            config,
            storage,
            journal,
            progress,
            receipts,
            wakes,
            links,
            notices,
            pending,
        }
        .run(staged)?;
        let routed = self.complete(committed)?;
        // What is stuck may go elsewhere now.
        self.try_stuck_again()?;
        Ok(routed)
    }

    /// Does the router wait until the log has a change of the registry? Meanwhile it does nothing that depends on the
    /// registry.
    fn is_held(&self) -> bool {
        self.renames
            .are_open(self.journal.state(), self.config.registry())
    }

    /// Steps 8 to 10: what follows from records that are committed.
    fn complete(&mut self, committed: Committed) -> Result<bool> {
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
        let delivered = deliver::deliver(config, storage, state, progress, pending, committed)?;
        let view = View {
            config,
            state,
            is_idle: false,
        };
        projections.apply(delivered.accepted(), &view, (pending, notices));
        loops::report(state, notices);
        let effected = effects::effects(
            config, storage, state, progress, receipts, pending, delivered,
        );
        Ok(retire::retire(storage, state, progress, pending, effected))
    }

    /// Is there nothing left to do right now?
    fn is_idle(&self) -> bool {
        let state = self.journal.state();
        if self.is_held() {
            return !self.renames.is_due(state, self.config.registry());
        }
        let is_due = self.leases.is_due(state) || self.gates.is_due(state, &self.config);
        self.intake.is_idle() && self.notices.is_empty() && !is_due
    }

    /// Makes durable what was delivered, and records what left inboxes and what changed the registry. For when nothing has
    /// happened for a while. The next message's record says which other records are settled.
    fn settle(&mut self) -> Result<()> {
        if self.receipts.is_empty()
            && self.wakes.is_empty()
            && self.links.is_empty()
            && !self.progress.has_open_changes()
        {
            return self.storage.barrier();
        }
        // A message that expired, and the notice of it, are in one batch.
        if !self.notices.is_empty() && !self.is_held() {
            return self.route().map(drop);
        }
        self.record_changes()
    }

    /// Commits a batch without messages.
    fn record_changes(&mut self) -> Result<()> {
        let Router {
            config,
            storage,
            journal,
            progress,
            receipts,
            wakes,
            links,
            notices,
            pending,
            ..
        } = self;
        let staged = Stage {
            config,
            storage,
            state: journal.state(),
            progress,
            pending,
        }
        .settle();
        let commit = Commit {
            config,
            storage,
            journal,
            progress,
            receipts,
            wakes,
            links,
            notices,
            pending,
        };
        let committed = commit.run(staged)?;
        self.complete(committed).map(drop)
    }

    /// Records that the machine's clock was changed, before anything is judged by its time.
    fn note_clock(&mut self) -> Result<()> {
        if self.journal.state().needs_clock(Stamp::now()) {
            return self.record_changes();
        }
        Ok(())
    }

    /// Is everything durable that was delivered so far, and every change of the registry settled?
    fn is_settled(&self) -> bool {
        self.storage.is_durable() && !self.progress.has_open_changes()
    }

    /// Tries again what is due; `true` if the registry or the settings are to be read again.
    fn retry(&mut self) -> Result<bool> {
        let (mut copies, mut reload, mut projections) = (false, false, false);
        for what in &self.pending.take_due() {
            if let Some(about) = Notice::about_of(what) {
                // Messages about claims follow from the state, and the next look at it finds them again.
                if !self.notices.is_held(about) {
                    self.pending.clear(what);
                }
                self.leases.reviewed(Some(Stamp::now()));
                continue;
            }
            let outboxes = self.intake.outboxes();
            match what.split_once('/') {
                _ if self.projections.is_own(what) => projections = true,
                Some((layout::OUTBOXES, file)) => match file.split_once('/') {
                    // The pending list shows a name that is no text only roughly; the directory has it as it is.
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
                _ if what == layout::CHARTER => reload = true,
                _ if what == layout::REGISTRY || what == layout::SETTINGS => {
                    (reload, copies) = (true, true)
                }
                _ => copies = true,
            }
        }
        if copies {
            self.try_stuck_again()?;
        }
        if projections {
            self.reconcile(Cause::Sweep)?;
        }
        self.notices.retry();
        Ok(reload)
    }

    fn try_stuck_again(&mut self) -> Result<()> {
        let committed = Committed::again(self.journal.state(), self.progress.take_stuck());
        self.complete(committed).map(drop)
    }

    /// What this router did.
    fn tally(&self) -> Tally {
        Tally {
            waiting: self.pending.len(),
            ..self.journal.tally()
        }
    }

    /// Looks at the charter, and queues a notice of its change.
    fn look_at_charter(&mut self) {
        let Router {
            config,
            journal,
            pending,
            notices,
            ..
        } = self;
        config.look_at_charter(journal.state(), pending, notices);
    }

    /// Reads the registry, the settings and the charter if they changed; `true` if a change took effect.
    fn reload(&mut self) -> bool {
        let Router {
            config,
            intake,
            storage,
            journal,
            pending,
            notices,
            ..
        } = self;
        reload::reload(config, intake, storage, journal.state(), pending, notices)
    }

    /// Makes the projections what the log says.
    fn reconcile(&mut self, cause: Cause) -> Result<()> {
        let Router {
            config,
            journal,
            projections,
            pending,
            notices,
            ..
        } = self;
        let view = View {
            config,
            state: journal.state(),
            is_idle: false,
        };
        projections.reconcile(cause, &view, (pending, notices))
    }

    /// Takes messages that agents wrote into files of projections.
    fn collect_written(&mut self) {
        let Router {
            config,
            journal,
            projections,
            pending,
            notices,
            ..
        } = self;
        projections.collect(
            &View {
                config,
                state: journal.state(),
                is_idle: false,
            },
            (pending, notices),
        );
    }

    /// Writes the projections that are due.
    fn keep_projections(&mut self) {
        let is_idle = self.is_idle();
        let Router {
            config,
            journal,
            projections,
            pending,
            notices,
            ..
        } = self;
        projections.apply(
            &[],
            &View {
                config,
                state: journal.state(),
                is_idle,
            },
            (pending, notices),
        );
        if self.projections.take_stale() {
            self.look_for_stale();
        }
    }

    /// Wakes agents that are stale once more, and tells the human of them.
    fn look_for_stale(&mut self) {
        if self.is_held() {
            return;
        }
        let Router {
            config,
            journal,
            receipts,
            wakes,
            notices,
            ..
        } = self;
        stale::Look {
            config,
            state: journal.state(),
            receipts,
            wakes,
            notices,
        }
        .run();
    }

    /// Tells agents of files that will never be picked up.
    fn tell_of_strays(&mut self) {
        if self.is_held() {
            return;
        }
        loops::report(self.journal.state(), &mut self.notices);
        strays::tell_of_strays(
            &self.config,
            &mut self.intake,
            self.journal.state(),
            &mut self.notices,
        );
    }

    /// How long until the next message's time comes.
    fn until_deadline(&self) -> Option<Duration> {
        let state = self.journal.state();
        if self.is_held() {
            return self.renames.until_next(state, self.config.registry());
        }
        let gates = self.gates.until_next(state, &self.config);
        [
            self.deadlines.until_next(state),
            self.leases.until_next(state),
            gates,
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// Does what is due by now.
    fn keep_deadlines(&mut self) {
        if self.is_held() {
            return;
        }
        self.gates
            .keep(self.journal.state(), &self.config, &mut self.intake);
        let Router {
            config,
            storage,
            journal,
            progress,
            receipts,
            notices,
            pending,
            ..
        } = self;
        self.deadlines.keep(Keep {
            config,
            storage,
            journal,
            progress,
            receipts,
            notices,
            pending,
        });
    }

    /// Does what became due by the mail of this pass. Mail that failed for a temporary reason is tried again first: it can
    /// be a decision that was made in time.
    fn keep_new_deadlines(&mut self) {
        if self.pending.is_empty() {
            self.keep_deadlines();
        }
    }

    /// A file left this agent's inbox, or its directory of leased copies.
    fn left(&mut self, agent: &str, name: &OsStr) {
        receipts::left(
            &self.config,
            self.journal.state(),
            &mut self.receipts,
            agent,
            name,
        );
    }

    /// Looks for copies that left an inbox: in all inboxes, or in those that changed since the log's last record.
    fn look_for_receipts(&mut self, all: bool) {
        let Router {
            config,
            storage,
            journal,
            progress,
            receipts,
            pending,
            ..
        } = self;
        receipts::Look {
            config,
            storage,
            state: journal.state(),
            progress,
            receipts,
            pending,
        }
        .run(all);
    }

    /// Writes the checkpoint if the log has grown enough.
    fn save_checkpoint(&mut self) -> Result<()> {
        self.journal.save_checkpoint(self.config.dir())
    }

    /// Writes the list of pending items, if it changed.
    fn write_pending(&mut self) {
        self.pending.write(self.config.dir());
    }
}

/// A failure ends the router unless it is temporary.
fn temporary(e: Error) -> Result<Error> {
    match e.class() {
        Class::Temporary => Ok(e),
        _ => Err(e),
    }
}
