//! The router's life: lock, recover, loop, signals. And the single pass of a command when no router runs.

mod alongside;
mod known;

pub use self::alongside::{Alongside, alongside};
use self::known::Known;
use crate::error::{Error, Result};
use crate::notice::{Hint, Watcher};
use crate::outbox::Patience;
use crate::recover::{file_system_time, recover};
use crate::room::{Holder, Locking, Mode, Room};
pub use crate::route::Tally;
use crate::route::{Router, temporary};
use crate::{layout, limits};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// How to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Options {
    /// Route what is there, and end.
    pub once: bool,
    /// Use no file events: look every two seconds.
    pub poll: bool,
}

/// What a router tells once when it watches.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Ready {
    /// Where the room is.
    pub room: PathBuf,
    /// How many agents the registry has.
    pub agents: usize,
    /// How many outboxes are watched.
    pub outboxes: usize,
    /// Are file events used?
    pub events: bool,
}

/// What came of a single pass.
#[derive(Debug)]
pub enum Passed {
    /// It was made; this is what it did.
    Routed(Tally),
    /// A router runs and does the work.
    RouterRuns(Holder),
}

/// One pass over the room, if no router runs: what every command that sends or reads does first.
pub fn pass(room: &Room) -> Result<Passed> {
    let lock = match room.lock(Mode::Pass)? {
        Locking::Ours(lock) => lock,
        Locking::Theirs(holder) => return Ok(Passed::RouterRuns(holder)),
    };
    let patience = Patience::new(Some(file_system_time(room)?));
    let mut router = recover(room.clone(), lock, patience)?;
    let mut known = Known::default();
    known.look(&mut router, None)?;
    sweep(&mut router, &known)?;
    while !router.is_idle() {
        router.route()?;
    }
    // An effect on the registry that stays open would be made again at the next pass, over what people did since.
    if router.acted {
        router.settle()?;
    }
    router.waiting.write(&router.room.dir);
    Ok(Passed::Routed(router.tally()))
}

/// Routes until a signal ends it, or once. `ready` is called when everything is watched.
pub fn run(room: &Room, options: &Options, ready: &mut dyn FnMut(&Ready)) -> Result<Tally> {
    let lock = match if options.once { room.lock(Mode::Pass) } else { room.lock_to_run() }? {
        Locking::Ours(lock) => lock,
        Locking::Theirs(holder) => {
            let what = format!("a router runs in {} already, as process {}", room.dir.path().display(), holder.pid);
            return Err(Error::Busy { what, cure: "one is enough; it does the work".into() });
        }
    };
    let now = if options.once { Some(file_system_time(room)?) } else { None };
    let router = recover(room.clone(), lock, Patience::new(now))?;
    let (sender, wakes) = channel();
    if !options.once {
        listen_for_signals(sender.clone())?;
    }
    let mut life = Life::new(router, options, sender, wakes);
    let tally = life.live(options, ready)?;
    drop(life);
    if !options.once {
        // Whoever saw this router alive a moment ago left its mail to it.
        pass(room)?;
    }
    Ok(tally)
}

/// What wakes the router.
enum Wake {
    Hint(Hint),
    /// Read the registry and the settings again.
    Reload,
    /// End cleanly.
    End,
}

struct Life {
    router: Router,
    watcher: Option<Watcher>,
    known: Known,
    /// An outbox may have come or gone.
    stale: bool,
    /// The registry or the settings may have changed.
    edited: bool,
    wakes: Receiver<Wake>,
    next_sweep: Instant,
    next_reload: Instant,
    /// When something last happened that is not settled, or not told to `status`, yet.
    busy: Option<Instant>,
}

impl Life {
    fn new(router: Router, options: &Options, sender: Sender<Wake>, wakes: Receiver<Wake>) -> Life {
        let room = router.room.dir.clone();
        let events = !options.poll && !options.once && crate::disk::events_work(&room);
        let watcher = match events {
            true => Watcher::new(&room, sender, Wake::Hint).map_err(|e| tracing::warn!("{e}; looking instead")).ok(),
            false => None,
        };
        Life {
            router,
            watcher,
            known: Known::default(),
            stale: false,
            edited: false,
            wakes,
            next_sweep: Instant::now(),
            next_reload: Instant::now(),
            busy: None,
        }
    }

    fn live(&mut self, options: &Options, ready: &mut dyn FnMut(&Ready)) -> Result<Tally> {
        self.look_around()?;
        if !options.once {
            ready(&Ready {
                room: self.router.room.dir.path().to_path_buf(),
                agents: self.router.registry.agents().len(),
                outboxes: self.known.outboxes.len(),
                events: self.watcher.is_some(),
            });
        }
        loop {
            while !self.router.is_idle() {
                if self.router.route()? {
                    self.busy = Some(Instant::now());
                }
                if self.drain()? {
                    return self.end();
                }
                // Also while mail comes without end: what waits is tried again, and what events missed is found.
                if !options.once {
                    self.tend()?;
                }
            }
            if options.once {
                return self.end();
            }
            match self.wakes.recv_timeout(self.patience()) {
                Ok(wake) => {
                    if self.wake(wake)? || self.drain()? {
                        return self.end();
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return self.end(),
            }
            self.tend()?;
        }
    }

    /// Takes every wake that is there; `true` when one of them says to end.
    fn drain(&mut self) -> Result<bool> {
        while let Ok(wake) = self.wakes.try_recv() {
            if self.wake(wake)? {
                return Ok(true);
            }
        }
        if std::mem::take(&mut self.edited) {
            let reloaded = self.reload();
            self.bear(reloaded)?;
        }
        if std::mem::take(&mut self.stale) {
            let looked = self.known.look(&mut self.router, self.watcher.as_mut());
            self.bear(looked)?;
        }
        Ok(false)
    }

    fn wake(&mut self, wake: Wake) -> Result<bool> {
        match wake {
            Wake::Hint(Hint::File(agent, name)) => self.router.outboxes.hint(&agent.into(), name),
            Wake::Hint(Hint::Outbox(_) | Hint::Outboxes) => self.stale = true,
            Wake::Hint(Hint::OutboxGone(agent)) => self.stale |= self.known.outboxes.remove(&*agent).is_some(),
            Wake::Hint(Hint::OutboxesGone) => (self.stale, self.known) = (true, Known::gone()),
            Wake::Hint(Hint::Registry) | Wake::Reload => self.edited = true,
            Wake::Hint(Hint::Everything) => self.next_sweep = Instant::now(),
            Wake::End => return Ok(true),
        }
        Ok(false)
    }

    // How long until there is something to do without being woken.
    fn patience(&self) -> Duration {
        let settle = self.busy.map(|since| since + limits::IDLE);
        let next = [Some(self.next_sweep), Some(self.next_reload), self.router.waiting.next_due(), settle]
            .into_iter()
            .flatten()
            .min();
        next.map_or(limits::SWEEP_TRUSTED, |next| next.saturating_duration_since(Instant::now()))
    }

    fn tend(&mut self) -> Result<()> {
        let now = Instant::now();
        if self.router.waiting.next_due().is_some_and(|due| due <= now) && self.router.retry()? {
            self.next_reload = now;
        }
        if now >= self.next_sweep {
            let looked = self.look_around();
            self.bear(looked)?;
        } else if now >= self.next_reload {
            let reloaded = self.reload();
            self.bear(reloaded)?;
        }
        if self.busy.is_none() && (self.router.waiting.is_news() || !self.router.is_settled()) {
            self.busy = Some(now);
        }
        if self.busy.is_some_and(|since| since + limits::IDLE <= now) && self.router.is_idle() {
            self.busy = None;
            self.router.settle()?;
            self.router.save_checkpoint()?;
            self.router.waiting.write(&self.router.room.dir);
        }
        Ok(())
    }

    // What keeps the router from looking around passes by itself, or doesn't pass at all: only then it ends.
    fn bear(&mut self, done: Result<()>) -> Result<()> {
        let Err(e) = done else {
            self.router.waiting.over(layout::OUTBOXES);
            return Ok(());
        };
        self.router.waiting.failed(layout::OUTBOXES, temporary(e)?.to_string());
        self.stale = true;
        self.next_sweep = self.next_sweep.min(Instant::now() + limits::RELOAD);
        Ok(())
    }

    // The directory is the truth: everything that events may have missed.
    fn look_around(&mut self) -> Result<()> {
        self.reload()?;
        self.known.look(&mut self.router, self.watcher.as_mut())?;
        sweep(&mut self.router, &self.known)?;
        self.router.tidy();
        self.router.waiting.write(&self.router.room.dir);
        self.next_sweep = Instant::now() + if self.is_told() { limits::SWEEP_TRUSTED } else { limits::SWEEP_UNTRUSTED };
        Ok(())
    }

    // Can file events be trusted to come?
    fn is_told(&self) -> bool {
        self.watcher.as_ref().is_some_and(|watcher| !watcher.has_failed())
    }

    fn reload(&mut self) -> Result<()> {
        self.next_reload = Instant::now() + if self.is_told() { limits::SWEEP_TRUSTED } else { limits::RELOAD };
        if self.router.reload()? {
            self.known.look(&mut self.router, self.watcher.as_mut())?;
            self.known.outboxes.keys().for_each(|agent| self.router.outboxes.scan(agent));
        }
        Ok(())
    }

    fn end(&mut self) -> Result<Tally> {
        self.router.settle()?;
        self.router.save_checkpoint()?;
        self.router.waiting.write(&self.router.room.dir);
        Ok(self.router.tally())
    }
}

fn sweep(router: &mut Router, known: &Known) -> Result<()> {
    let room = router.room.dir.clone();
    known.outboxes.keys().try_for_each(|agent| router.outboxes.sweep(&room, agent))
}

/// SIGHUP reloads; SIGINT and SIGTERM end cleanly, and a second one at once.
fn listen_for_signals(wakes: Sender<Wake>) -> Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let cannot = |source| Error::Io { verb: "listen for signals in", path: PathBuf::from("this process"), source };
    let mut signals = signal_hook::iterator::Signals::new([SIGHUP, SIGINT, SIGTERM]).map_err(cannot)?;
    let listen = move || {
        let mut asked = false;
        for signal in signals.forever() {
            if signal != SIGHUP && std::mem::replace(&mut asked, true) {
                std::process::exit(128 + signal);
            }
            // The receiver is gone only when the router ends.
            let _ = wakes.send(if signal == SIGHUP { Wake::Reload } else { Wake::End });
        }
    };
    std::thread::Builder::new().name("signals".into()).spawn(listen).map(drop).map_err(cannot)
}
