//! Runs a router: lock, recovery, loop and signals. Also the single pass of a command when no router runs.

mod background_router;
mod watched_directories;
mod pass;
mod requests;
mod signals;

pub use self::background_router::{BackgroundRouter, alongside};
pub use self::pass::{PassResult, pass, pass_by};
use self::requests::PassRequests;
use self::watched_directories::WatchedDirectories;
use crate::base::clock::Stamp;
use crate::base::error::{Error, Result};
use crate::base::limits;
use crate::base::written_path::write_path;
use crate::disk::layout;
use crate::room::outbox::UnreadyFiles;
use crate::room::{LockAttempt, Room, RouterLock, RouterMode};
use crate::router::Router;
pub use crate::router::RouterTotals;
use crate::router::projections::ReconcileCause;
use crate::router::recover::{file_system_time, recover};
use crate::router::temporary;
use crate::router::upkeep::receipts::InboxSelection;
use crate::router::watcher::{FileHint, RouterEvent, RouterEvents};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// The interval of checks of the registry and the settings without file events. A valid change takes effect within 2 s.
const RELOAD: Duration = Duration::from_secs(1);

/// Options of a router.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RouterOptions {
    /// Route the waiting mail, then end.
    pub once: bool,
    /// Use no file events: scan the directories every two seconds.
    pub poll: bool,
}

/// The report of a router that has begun to watch.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct ReadyReport {
    /// The directory of the room.
    #[serde(serialize_with = "write_path")]
    pub room: PathBuf,
    /// The number of registered agents.
    pub agents: usize,
    /// The number of watched outboxes.
    pub outboxes: usize,
    /// Whether file events are used.
    pub events: bool,
}

/// Routes until a signal ends the router, or once. Calls `ready` when the router watches. If another router runs, one pass is left to it.
pub fn run(room: &Room, options: &RouterOptions, ready: fn(&ReadyReport)) -> Result<PassResult> {
    let lock = match if options.once {
        room.lock(RouterMode::Pass, limits::LOCK_WAIT)
    } else {
        room.lock_to_run()
    }? {
        LockAttempt::Ours(lock) => lock,
        LockAttempt::Theirs(holder) if options.once => return Ok(PassResult::RouterRuns(holder)),
        LockAttempt::Theirs(holder) => {
            room.check_progress()?;
            let what = format!(
                "a router runs in {} already, as process {}",
                room.dir.path().display(),
                holder.pid
            );
            return Err(Error::busy(what, "one is enough; it does the work"));
        }
    };
    run_with(room, lock, options, ready).map(PassResult::Routed)
}

fn run_with(
    room: &Room,
    lock: RouterLock,
    options: &RouterOptions,
    ready: fn(&ReadyReport),
) -> Result<RouterTotals> {
    let now = if options.once {
        Some(file_system_time(room)?)
    } else {
        None
    };
    let router = recover(room.clone(), lock, UnreadyFiles::new(now))?;
    let notice = watch(room, options);
    if !options.once {
        signals::listen(notice.caller())?;
    }
    let mut life = RunningRouter::new(router, notice);
    let tally = life.live(options, ready)?;
    drop(life);
    if !options.once {
        // A command that saw this router running has left its mail to it.
        pass(room)?;
    }
    Ok(tally)
}

/// Watches the room, with file events if they work and the options allow them.
fn watch(room: &Room, options: &RouterOptions) -> RouterEvents {
    let events = !options.poll && !options.once && crate::disk::events_work(&room.dir);
    let watched = if events {
        RouterEvents::watch(&room.dir)
    } else {
        Ok(RouterEvents::silent())
    };
    watched.unwrap_or_else(|e| {
        let e = if matches!(e, Error::Busy { .. }) {
            e
        } else {
            crate::router::watcher::too_many(&e)
        };
        tracing::warn!("{e}");
        RouterEvents::silent()
    })
}

struct RunningRouter {
    router: Router,
    notice: RouterEvents,
    known: WatchedDirectories,
    requests: PassRequests,
    /// Whether an outbox may have appeared or disappeared.
    stale: bool,
    /// Whether the registry or the settings may have changed.
    edited: bool,
    next_sweep: Instant,
    next_reload: Instant,
    /// The clock's time of the last record before the start.
    before: Stamp,
    /// The time since when a record is not settled, or the pending list is not written.
    busy: Option<Instant>,
}

impl RunningRouter {
    fn new(router: Router, notice: RouterEvents) -> RunningRouter {
        RunningRouter {
            before: router.journal.state().time,
            router,
            notice,
            known: WatchedDirectories::default(),
            requests: PassRequests::default(),
            stale: false,
            edited: false,
            next_sweep: Instant::now(),
            next_reload: Instant::now(),
            busy: None,
        }
    }

    fn live(&mut self, options: &RouterOptions, ready: fn(&ReadyReport)) -> Result<RouterTotals> {
        self.router.note_clock()?;
        self.sweep()?;
        if !options.once {
            ready(&ReadyReport {
                room: self.router.config.dir().path().to_path_buf(),
                agents: self.router.config.registry().agents().len(),
                outboxes: self.known.outboxes.len(),
                events: self.notice.has_events(),
            });
        }
        loop {
            while !self.router.is_idle() {
                self.router.journal.note_step()?;
                if self.router.route()? {
                    self.busy = Some(Instant::now());
                }
                // After the last batch, the wait below listens.
                if !self.router.is_idle() && self.listen(Duration::ZERO)? {
                    return self.end();
                }
                // Even while mail keeps coming, pending items are tried again, and files that events missed are
                // found.
                if !options.once {
                    self.tend()?;
                }
            }
            if options.once {
                self.answer_requests()?;
                // New mail can have expired.
                self.router.queue_deadlines();
                if !self.router.is_idle() {
                    continue;
                }
                self.router.report_strays();
                keep_features_up(&mut self.router)?;
                return self.end();
            }
            self.answer_requests()?;
            if !self.router.is_idle() {
                continue;
            }
            let patience = self.patience();
            if self.listen(patience)? {
                return self.end();
            }
            // Mail is routed first.
            if self.router.is_idle() {
                self.tend()?;
            }
        }
    }

    fn answer_requests(&mut self) -> Result<()> {
        self.requests
            .answer(&mut self.router, self.known.outboxes.keys())
    }

    /// Waits for a wake and handles all wakes that have arrived. Returns true if one of them ends the router.
    fn listen(&mut self, patience: Duration) -> Result<bool> {
        let mut end = false;
        self.known
            .watch_new_inboxes(&mut self.router, &mut self.notice);
        self.router.journal.note_step()?;
        self.router.turn.give()?;
        let mut woken = self.notice.wait(patience);
        loop {
            for wake in woken {
                end |= self.handle_wake(wake);
            }
            // A signal also ends a router that a backup makes pause.
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
            self.retry_if_failed(reloaded)?;
        }
        if std::mem::take(&mut self.stale) {
            let scanned = self.known.scan(&mut self.router, &mut self.notice);
            self.retry_if_failed(scanned)?;
        }
        Ok(false)
    }

    /// Returns true if the wake ends the router.
    fn handle_wake(&mut self, wake: RouterEvent) -> bool {
        match wake {
            RouterEvent::Hint(FileHint::File(agent, name)) => {
                self.router.intake.outboxes().hint(&agent.into(), name)
            }
            RouterEvent::Hint(FileHint::Request(agent, name)) => {
                self.requests.note(agent.into(), name)
            }
            RouterEvent::Hint(FileHint::Outbox(_) | FileHint::Outboxes | FileHint::Inboxes) => {
                self.stale = true
            }
            RouterEvent::Hint(FileHint::OutboxGone(agent)) => {
                self.stale |= self.known.outboxes.remove(&*agent).is_some()
            }
            RouterEvent::Hint(FileHint::OutboxesGone) => {
                (self.stale, self.known) = (true, WatchedDirectories::gone())
            }
            RouterEvent::Hint(FileHint::Registry) | RouterEvent::Reload => self.edited = true,
            RouterEvent::Hint(FileHint::Left(agent, name)) => self.router.note_left(&agent, &name),
            RouterEvent::Hint(FileHint::Appeared(agent, name)) => {
                self.router.note_appeared(&agent, &name)
            }
            RouterEvent::Hint(FileHint::Everything) => self.next_sweep = Instant::now(),
            RouterEvent::Called => {}
            RouterEvent::End => return true,
        }
        false
    }

    /// The time until the next work without a wake.
    fn patience(&self) -> Duration {
        let (router, now) = (&self.router, Instant::now());
        let deadline = router
            .until_deadline()
            .map(|wait| now + wait.min(limits::SWEEP_TRUSTED));
        let requests = (!self.notice.has_events()).then(|| now + limits::LOCK_LOOK);
        let next = self.next_sweep.min(self.next_reload);
        let next = [
            requests,
            router.pending.next_due(),
            self.busy.map(|since| since + limits::IDLE),
            router.receipts.due(),
            router.links.due(),
            deadline,
            router.projections.next_due(),
        ]
        .into_iter()
        .flatten()
        .fold(next, Instant::min);
        next.saturating_duration_since(Instant::now())
    }

    /// Does the work that is due.
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
            let swept = self.sweep();
            self.retry_if_failed(swept)?;
        } else if now >= self.next_reload {
            let reloaded = self.reload();
            self.retry_if_failed(reloaded)?;
        }
        self.router.queue_deadlines();
        let router = &self.router;
        let due = [router.receipts.due(), router.links.due()];
        if due.into_iter().flatten().any(|due| due <= Instant::now()) {
            self.router.settle()?;
        }
        if self.busy.is_none() && (self.router.pending.has_changed() || !self.router.is_settled()) {
            self.busy = Some(now);
        }
        if self.busy.is_some_and(|since| since + limits::IDLE <= now) && self.router.is_idle() {
            self.busy = None;
            self.router.settle()?;
            self.router.save_snapshot()?;
            self.router.write_pending();
        }
        self.router.write_projections();
        Ok(())
    }

    /// Lists a temporary failure of a scan as pending; a permanent failure ends the router.
    fn retry_if_failed(&mut self, done: Result<()>) -> Result<()> {
        let Err(e) = done else {
            self.router.pending.clear(layout::OUTBOXES);
            return Ok(());
        };
        self.router
            .pending
            .failed(layout::OUTBOXES, temporary(e)?.to_string());
        self.stale = true;
        // A scan that fails immediately must not be repeated immediately.
        self.next_sweep = Instant::now() + RELOAD;
        Ok(())
    }

    /// Finds everything that file events may have missed.
    fn sweep(&mut self) -> Result<()> {
        self.reload()?;
        self.router.collect_from_projections();
        self.known.scan(&mut self.router, &mut self.notice)?;
        sweep(&mut self.router, &self.known);
        self.router.queue_deadlines();
        self.router.report_strays();
        let others = Router::changed_inboxes(self.before);
        self.router.scan_inboxes(InboxSelection::All, others);
        self.router.intake.tidy();
        self.router.reconcile(ReconcileCause::Sweep)?;
        // Even while mail keeps coming, so that a start after a kill reads little of the log.
        self.router.save_snapshot()?;
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
                RELOAD
            };
        if self.router.reload() {
            self.router.write_projections();
            self.known.scan(&mut self.router, &mut self.notice)?;
            for agent in self.known.outboxes.keys() {
                self.router.intake.outboxes().scan(agent);
            }
        }
        Ok(())
    }

    fn end(&mut self) -> Result<RouterTotals> {
        if !self.router.turn.take(limits::PAUSE_WAIT)? {
            // The next start settles open records; the backup must not contain a part of them.
            self.router.note_clean_end();
            return Ok(self.router.tally());
        }
        self.router.settle()?;
        self.router.save_snapshot()?;
        self.router.reconcile(ReconcileCause::End)?;
        self.router.write_pending();
        self.router.note_clean_end();
        Ok(self.router.tally())
    }
}

/// Does the work of features. Called after all mail is routed, because an agent that seems stale may have just sent mail.
fn keep_features_up(router: &mut Router) -> Result<()> {
    router.keep_features_up();
    route_all(router)?;
    if router.receipts.is_empty() {
        Ok(())
    } else {
        router.settle()
    }
}

/// Routes until the router is idle.
fn route_all(router: &mut Router) -> Result<()> {
    while !router.is_idle() {
        router.route()?;
    }
    Ok(())
}

fn sweep(router: &mut Router, known: &WatchedDirectories) {
    for agent in known.outboxes.keys() {
        router.intake.outboxes().scan(agent);
    }
}
