//! The router's life: lock, recover, loop, signals. And the single pass of a command when no router runs.

use crate::disk::Dir;
use crate::error::{Error, Result};
use crate::notice::{Hint, Watcher};
use crate::outbox::Patience;
use crate::recover::{file_system_time, recover};
use crate::registry::{Agent, Registry};
use crate::room::{Holder, Locking, Mode, Room};
use crate::route::{Router, temporary};
pub use crate::route::Tally;
use crate::settings::Admission;
use crate::{id, layout, limits};
use rustix::fs::FileType;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
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
    router.waiting.write(&router.room.dir);
    Ok(Passed::Routed(router.tally()))
}

/// Routes until a signal ends it, or once. `ready` is called when everything is watched.
pub fn run(room: &Room, options: &Options, ready: &mut dyn FnMut(&Ready)) -> Result<Tally> {
    let lock = match room.lock(Mode::Run)? {
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
    let events = !options.poll && !options.once && crate::disk::events_work(&room.dir);
    let watcher = match events {
        true => Watcher::new(&room.dir, sender, Wake::Hint).map_err(|e| tracing::warn!("{e}; looking instead")).ok(),
        false => None,
    };
    let mut life = Life {
        router,
        watcher,
        known: Known::default(),
        stale: false,
        wakes,
        next_sweep: Instant::now(),
        next_reload: Instant::now(),
        busy: None,
    };
    life.live(options, ready)
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
    wakes: Receiver<Wake>,
    next_sweep: Instant,
    next_reload: Instant,
    /// When something last happened that is not settled, or not told to `status`, yet.
    busy: Option<Instant>,
}

impl Life {
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
            Wake::Hint(Hint::Registry) | Wake::Reload => {
                let reloaded = self.reload();
                self.bear(reloaded)?;
            }
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
        if self.router.waiting.next_due().is_some_and(|due| due <= now) && self.router.retry() {
            self.next_reload = now;
        }
        if now >= self.next_sweep {
            let looked = self.look_around();
            self.bear(looked)?;
        } else if now >= self.next_reload {
            let reloaded = self.reload();
            self.bear(reloaded)?;
        }
        if self.busy.is_none() && self.router.waiting.is_news() {
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
        self.watcher.as_ref().is_some_and(|watcher| !watcher.ran_out())
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

/// Which outboxes there are, and are watched, each with its identity on the file system.
#[derive(Default)]
struct Known {
    outboxes: BTreeMap<Arc<str>, u64>,
    parent: Option<u64>,
}

impl Known {
    /// Nothing is watched any more.
    fn gone() -> Known {
        Known { outboxes: BTreeMap::new(), parent: Some(0) }
    }

    /// Makes what is missing for the registered agents, then finds and watches every outbox there is, also those that
    /// nobody is registered for.
    fn look(&mut self, router: &mut Router, mut watcher: Option<&mut Watcher>) -> Result<()> {
        let dir = router.room.dir.make(layout::OUTBOXES)?;
        let parent = Some(dir.meta()?.inode);
        if self.parent.is_some() && self.parent != parent {
            warn(watcher.as_mut().map(|watcher| watcher.outboxes()));
        }
        self.parent = parent;
        let mut there = outboxes(&dir, router)?;
        let missing = |agent: &&Agent| !agent.is_retired() && !there.contains_key(&agent.id);
        let registry = router.registry.clone();
        let missing: Vec<&Agent> = registry.agents().iter().filter(missing).collect();
        if !missing.is_empty() {
            missing.iter().for_each(|agent| make_for(router, &agent.id));
            there = outboxes(&dir, router)?;
        }
        if router.settings.admission == Admission::Open {
            admit(router, &there)?;
        }
        for (agent, inode) in &there {
            if self.outboxes.get(agent) != Some(inode) {
                // Watched before it is read.
                warn(watcher.as_mut().map(|watcher| watcher.outbox(agent)));
                router.outboxes.scan(agent);
            }
        }
        let gone = self.outboxes.keys().filter(|agent| !there.contains_key(*agent));
        gone.for_each(|agent| router.outboxes.forget(agent));
        self.outboxes = there;
        Ok(())
    }
}

fn warn(watched: Option<Result<()>>) {
    if let Some(Err(e)) = watched {
        tracing::warn!("{e}; looking every two seconds instead");
    }
}

/// What stands in the directory of outboxes. What can't be one is said, so that mail dropped beside the outboxes
/// doesn't wait unseen.
fn outboxes(dir: &Dir, router: &mut Router) -> Result<BTreeMap<Arc<str>, u64>> {
    let mut outboxes = BTreeMap::new();
    for entry in dir.list()? {
        let entry = entry?;
        let name = entry.name.to_string_lossy();
        let place = layout::outbox(&name).display().to_string();
        if entry.kind == FileType::RegularFile {
            router.waiting.not_ready(&place, "it lies beside the outboxes: move it into outbox/<agent>/", None);
        } else if id::is_name(&name) {
            outboxes.insert(Arc::from(&*name), entry.inode);
        } else if !name.starts_with('.') {
            router.waiting.not_ready(&place, "no agent can have this name", None);
        }
    }
    Ok(outboxes)
}

fn make_for(router: &mut Router, agent: &str) {
    for directory in [layout::outbox(agent), layout::inbox(agent)] {
        if let Err(e) = router.room.dir.make(&directory) {
            router.waiting.failed(&directory.display().to_string(), e.to_string());
        }
    }
}

/// Registers whoever has made an outbox, in a room that is open to all.
fn admit(router: &mut Router, there: &BTreeMap<Arc<str>, u64>) -> Result<()> {
    let is_new = |agent: &&Arc<str>| router.registry.agent(agent).is_none();
    if !there.keys().any(|agent| is_new(&agent)) {
        return Ok(());
    }
    let held = router.room.lock_registry()?;
    let mut registry = router.room.registry()?;
    let new: Vec<_> = there.keys().filter(|agent| registry.agent(agent).is_none()).cloned().collect();
    for agent in new {
        match registry.add(Registry::admit(&agent)) {
            Ok(with) => registry = with,
            Err(problems) => tracing::warn!("can't admit {agent}: {}", Error::Refused(problems)),
        }
    }
    router.room.dir.replace(layout::REGISTRY, registry.to_json().as_bytes())?;
    drop(held);
    let registered: Vec<Arc<str>> = registry.agents().iter().map(|agent| agent.id.clone()).collect();
    router.registry = Arc::new(registry);
    registered.iter().for_each(|agent| make_for(router, agent));
    Ok(())
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
