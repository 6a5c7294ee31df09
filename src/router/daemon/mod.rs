//! Runs a router: lock, recovery, loop and signals. And the single pass of a command when no router runs.

mod alongside;
mod known;
mod onlooker;
mod pass;
mod requests;
mod signals;

pub use self::alongside::{Alongside, alongside};
use self::known::Known;
pub use self::onlooker::Onlooker;
pub use self::pass::{Passed, pass, pass_by};
use self::requests::Requests;
use crate::base::error::{Error, Result};
use crate::base::limits;
use crate::disk::layout;
use crate::room::outbox::Patience;
use crate::room::{Lock, Locking, Mode, Room};
use crate::router::Router;
pub use crate::router::Tally;
use crate::router::projections::Cause;
use crate::router::recover::{file_system_time, note_failed_sync, recover};
use crate::router::temporary;
use crate::router::watcher::{Caller, Hint, Notice, Wake};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Options {
    /// Route what is there, then end.
    pub once: bool,
    /// Use no file events: look at the directories every two seconds.
    pub poll: bool,
}

/// What a router reports when it has begun to watch.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Ready {
    /// The directory of the room.
    pub room: PathBuf,
    /// The number of registered agents.
    pub agents: usize,
    /// The number of watched outboxes.
    pub outboxes: usize,
    /// Are file events used?
    pub events: bool,
}

/// Routes until a signal ends the router, or once. If another router runs, one pass is left to it.
pub fn run(room: &Room, options: &Options, onlooker: &mut dyn Onlooker) -> Result<Passed> {
    let lock = match if options.once {
        room.lock(Mode::Pass, limits::LOCK_WAIT)
    } else {
        room.lock_to_run()
    }? {
        Locking::Ours(lock) => lock,
        Locking::Closed(e) => return Err(e),
        Locking::Theirs(holder) if options.once => return Ok(Passed::RouterRuns(holder)),
        Locking::Theirs(holder) => {
            room.check_progress()?;
            let what = format!(
                "a router runs in {} already, as process {}",
                room.dir.path().display(),
                holder.pid
            );
            return Err(Error::Busy {
                what,
                cure: "one is enough; it does the work".into(),
            });
        }
    };
    note_failed_sync(&room.dir, run_with(room, lock, options, onlooker)).map(Passed::Routed)
}

fn run_with(
    room: &Room,
    lock: Lock,
    options: &Options,
    onlooker: &mut dyn Onlooker,
) -> Result<Tally> {
    let now = if options.once {
        Some(file_system_time(room)?)
    } else {
        None
    };
    let router = recover(room.clone(), lock, Patience::new(now))?;
    let notice = watch(room, options);
    if !options.once {
        signals::listen(notice.caller())?;
    }
    let mut life = Life::new(router, notice);
    let tally = life.live(options, onlooker)?;
    drop(life);
    if !options.once {
        // A command that saw this router a moment ago left its mail to it.
        pass(room)?;
    }
    Ok(tally)
}

/// What the router waits for, with file events where they work and are wanted.
fn watch(room: &Room, options: &Options) -> Notice {
    let events = !options.poll && !options.once && crate::disk::events_work(&room.dir);
    let watched = if events {
        Notice::watch(&room.dir)
    } else {
        Ok(Notice::silent())
    };
    watched.unwrap_or_else(|e| {
        let e = if matches!(e, Error::Busy { .. }) {
            e
        } else {
            crate::router::watcher::too_many(&e)
        };
        tracing::warn!("{e}");
        Notice::silent()
    })
}

struct Life {
    router: Router,
    notice: Notice,
    known: Known,
    requests: Requests,
    /// An outbox may have appeared or disappeared.
    stale: bool,
    /// The registry or the settings may have changed.
    edited: bool,
    next_sweep: Instant,
    next_reload: Instant,
    /// Since when something is not settled, or not written for `status`.
    busy: Option<Instant>,
}

impl Life {
    fn new(router: Router, notice: Notice) -> Life {
        Life {
            router,
            notice,
            known: Known::default(),
            requests: Requests::default(),
            stale: false,
            edited: false,
            next_sweep: Instant::now(),
            next_reload: Instant::now(),
            busy: None,
        }
    }

    fn live(&mut self, options: &Options, onlooker: &mut dyn Onlooker) -> Result<Tally> {
        self.router.note_clock()?;
        self.look_around()?;
        if !options.once {
            let ready = Ready {
                room: self.router.config.dir().path().to_path_buf(),
                agents: self.router.config.registry().agents().len(),
                outboxes: self.known.outboxes.len(),
                events: self.notice.has_events(),
            };
            onlooker.ready(&ready, self.notice.caller());
            // Mail may have come while no router ran.
            let agents = self
                .router
                .config
                .registry()
                .agents()
                .iter()
                .filter(|agent| agent.is_woken_by_a_program());
            agents.for_each(|agent| self.router.progress.wake(&agent.id));
        }
        loop {
            while !self.router.is_idle() {
                self.router.journal.note_step();
                self.router.note_clock()?;
                if self.router.route()? {
                    self.busy = Some(Instant::now());
                }
                self.keep_company(onlooker);
                // After the last batch, the wait below listens.
                if !self.router.is_idle() && self.listen(Duration::ZERO)? {
                    return self.end();
                }
                // Also while mail keeps coming: pending items are tried again, and files that events missed are found.
                if !options.once {
                    self.tend()?;
                }
            }
            if options.once {
                // Mail that has just arrived can have expired.
                self.router.keep_new_deadlines();
                if !self.router.is_idle() {
                    continue;
                }
                self.router.tell_of_strays();
                look_for_stale(&mut self.router)?;
                self.requests.answer(&mut self.router)?;
                return self.end();
            }
            self.keep_company(onlooker);
            self.requests.answer(&mut self.router)?;
            let patience = self.patience();
            if self.listen(patience)? {
                self.keep_company(onlooker);
                return self.end();
            }
            // Mail goes first.
            if self.router.is_idle() {
                self.tend()?;
            }
        }
    }

    /// Tells who has mail and whose wake is in the log, and takes what is to be recorded.
    fn keep_company(&mut self, onlooker: &mut dyn Onlooker) {
        let Router {
            config,
            journal,
            wakes,
            progress,
            ..
        } = &mut self.router;
        for agent in wakes.take_again() {
            if config
                .registry()
                .agent(&agent)
                .is_some_and(|agent| agent.is_woken_by_a_program())
            {
                progress.wake(&agent);
            }
        }
        onlooker
            .take_wakes()
            .into_iter()
            .for_each(|waking| wakes.note(journal.state(), waking));
        let answers = wakes.take_answers();
        if !answers.is_empty() {
            onlooker.answered(answers);
        }
        let agents = self.router.progress.take_to_wake();
        if !agents.is_empty() {
            onlooker.delivered(agents);
        }
    }

    /// Waits for a wake and handles all that are there; `true` if one of them ends the router.
    fn listen(&mut self, patience: Duration) -> Result<bool> {
        let mut end = false;
        self.router.journal.note_step();
        self.router.turn.give()?;
        let mut woken = self.notice.wait(patience);
        loop {
            for wake in woken {
                end |= self.wake(wake);
            }
            // A signal ends the router also while a backup makes it pause.
            if self.router.turn.take(limits::PAUSE_WAIT)? || end {
                break;
            }
            woken = self.notice.wait(limits::LOCK_LOOK);
        }
        if end {
            return Ok(true);
        }
        if std::mem::take(&mut self.edited) {
            let reloaded = self.reload();
            self.bear(reloaded)?;
        }
        if std::mem::take(&mut self.stale) {
            let looked = self.known.look(&mut self.router, &mut self.notice);
            self.bear(looked)?;
        }
        Ok(false)
    }

    fn wake(&mut self, wake: Wake) -> bool {
        match wake {
            Wake::Hint(Hint::File(agent, name)) => {
                self.router.intake.outboxes().hint(&agent.into(), name)
            }
            Wake::Hint(Hint::Request(agent, name)) => self.requests.note(agent.into(), name),
            Wake::Hint(Hint::Outbox(_) | Hint::Outboxes | Hint::Inboxes) => self.stale = true,
            Wake::Hint(Hint::OutboxGone(agent)) => {
                self.stale |= self.known.outboxes.remove(&*agent).is_some()
            }
            Wake::Hint(Hint::OutboxesGone) => (self.stale, self.known) = (true, Known::gone()),
            Wake::Hint(Hint::Registry) | Wake::Reload => self.edited = true,
            Wake::Hint(Hint::Left(agent, name)) => self.router.left(&agent, &name),
            Wake::Hint(Hint::Everything) => self.next_sweep = Instant::now(),
            Wake::Called => {}
            Wake::End => return true,
        }
        false
    }

    // How long until something is due without a wake.
    fn patience(&self) -> Duration {
        let settle = self.busy.map(|since| since + limits::IDLE);
        let receipts = self.router.receipts.due();
        let wakes = self.router.wakes.due();
        let links = self.router.links.due();
        let deadline = self
            .router
            .until_deadline()
            .map(|wait| Instant::now() + wait.min(limits::SWEEP_TRUSTED));
        let projections = self.router.projections.next_due();
        let pending = self.router.pending.next_due();
        let requests = (!self.notice.has_events()).then(|| Instant::now() + limits::LOCK_LOOK);
        let next = [
            requests,
            Some(self.next_sweep),
            Some(self.next_reload),
            pending,
            settle,
            receipts,
            wakes,
            links,
            deadline,
            projections,
        ]
        .into_iter()
        .flatten()
        .min();
        next.map_or(limits::SWEEP_TRUSTED, |next| {
            next.saturating_duration_since(Instant::now())
        })
    }

    fn tend(&mut self) -> Result<()> {
        self.router.note_clock()?;
        let now = Instant::now();
        if !self.notice.can_be_trusted() && self.requests.may_have_come(&self.router) {
            self.next_sweep = now;
        }
        if self.router.pending.next_due().is_some_and(|due| due <= now) {
            if self.router.retry()? {
                self.next_reload = now;
            }
            self.stale |= !self.known.unwatched.is_empty();
        }
        if now >= self.next_sweep {
            let looked = self.look_around();
            self.bear(looked)?;
        } else if now >= self.next_reload {
            let reloaded = self.reload();
            self.bear(reloaded)?;
        }
        self.router.keep_deadlines();
        let is_due = |due: Option<Instant>| due.is_some_and(|due| due <= Instant::now());
        let Router {
            receipts,
            wakes,
            links,
            ..
        } = &self.router;
        if is_due(receipts.due()) || is_due(wakes.due()) || is_due(links.due()) {
            self.router.settle()?;
        }
        if self.busy.is_none() && (self.router.pending.has_changed() || !self.router.is_settled()) {
            self.busy = Some(now);
        }
        if self.busy.is_some_and(|since| since + limits::IDLE <= now) && self.router.is_idle() {
            self.busy = None;
            self.router.settle()?;
            self.router.save_checkpoint()?;
            self.router.write_pending();
        }
        self.router.keep_projections();
        Ok(())
    }

    // A temporary failure of a look at the room is pending; a permanent failure ends the router.
    fn bear(&mut self, done: Result<()>) -> Result<()> {
        let Err(e) = done else {
            self.router.pending.clear(layout::OUTBOXES);
            return Ok(());
        };
        self.router
            .pending
            .failed(layout::OUTBOXES, temporary(e)?.to_string());
        self.stale = true;
        // Not earlier, whatever failed: a look that fails immediately must not be repeated immediately.
        self.next_sweep = Instant::now() + limits::RELOAD;
        Ok(())
    }

    // Events are only hints: this finds everything that they may have missed.
    fn look_around(&mut self) -> Result<()> {
        self.router.journal.beat()?;
        self.reload()?;
        self.router.collect_written();
        self.known.look(&mut self.router, &mut self.notice)?;
        sweep(&mut self.router, &self.known);
        self.router.keep_deadlines();
        self.router.tell_of_strays();
        self.router.look_for_receipts(true);
        self.router.intake.tidy();
        self.router.reconcile(Cause::Sweep)?;
        // Also while mail keeps coming, so that a start after a kill reads little of the log.
        self.router.save_checkpoint()?;
        self.router.write_pending();
        self.next_sweep = Instant::now()
            + if self.notice.can_be_trusted() {
                limits::SWEEP_TRUSTED
            } else {
                limits::SWEEP_UNTRUSTED
            };
        Ok(())
    }

    fn reload(&mut self) -> Result<()> {
        self.next_reload = Instant::now()
            + if self.notice.can_be_trusted() {
                limits::SWEEP_TRUSTED
            } else {
                limits::RELOAD
            };
        if self.router.reload() {
            self.router.keep_projections();
            self.known.look(&mut self.router, &mut self.notice)?;
            self.known
                .outboxes
                .keys()
                .for_each(|agent| self.router.intake.outboxes().scan(agent));
        }
        Ok(())
    }

    fn end(&mut self) -> Result<Tally> {
        if !self.router.turn.take(limits::PAUSE_WAIT)? {
            // The next start settles what is open; the backup must not contain a part of it.
            return Ok(self.router.tally());
        }
        self.router.settle()?;
        self.router.save_checkpoint()?;
        self.router.reconcile(Cause::End)?;
        self.router.write_pending();
        Ok(self.router.tally())
    }
}

/// Only after everything is routed: an agent that seems to be stale may have sent something just now.
fn look_for_stale(router: &mut Router) -> Result<()> {
    router.look_for_stale();
    while !router.is_idle() {
        router.route()?;
    }
    if router.wakes.is_empty() {
        Ok(())
    } else {
        router.settle()
    }
}

fn sweep(router: &mut Router, known: &Known) {
    for agent in known.outboxes.keys() {
        if let Err(e) = router.intake.outboxes().sweep(router.config.dir(), agent) {
            router
                .pending
                .failed(&layout::outbox(agent).display().to_string(), e.to_string());
        }
    }
}
