//! Waiting for one inbox, by file events; whoever waits routes meanwhile, if nobody else does.

use crate::base::error::{Doing, Error, Result};
use crate::base::limits;
use crate::disk::machine;
use crate::room::Room;
use crate::room::sessions::{Hold, Named};
use crate::router::daemon::{Alongside, alongside};
use crate::router::watcher::InboxWatch;
use signal_hook::consts::{SIGINT, SIGTERM};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::{Duration, Instant};

/// Why a wait ended.
#[derive(Debug)]
pub enum Wakeup {
    /// Something may have come: look.
    Changed,
    /// The time is over.
    TimedOut,
    /// A signal asks to end.
    Signal(i32),
    /// The mail that waits can't be routed by this process now; waiting may go on.
    Trouble(Error),
}

/// What came of waiting for something.
#[derive(Debug)]
pub enum Waited<T> {
    /// It came.
    Found(T),
    /// The time was over first.
    TimedOut,
    /// A signal ended it.
    Signal(i32),
}

/// Waits for changes of one inbox. Made before the inbox is looked at, so that nothing comes unseen in between.
pub struct Waiter {
    watch: InboxWatch,
    routing: Routing,
    /// When to say that something may have come, though nothing was heard.
    next_look: Instant,
    signal: Arc<AtomicI32>,
    /// What keeps the agent present, and its session's, meanwhile.
    hold: Option<Hold>,
}

impl Waiter {
    /// Begins to watch. From now on the first SIGINT or SIGTERM ends the wait rather than the process; an ignored
    /// SIGINT stays ignored.
    pub fn new(room: &Room, agent: &str) -> Result<Waiter> {
        let watch = InboxWatch::new(&room.dir, agent)?;
        let signal = Arc::new(AtomicI32::new(0));
        listen(signal.clone(), watch.waker())?;
        let next_look = Instant::now() + limits::SWEEP_TRUSTED;
        let hold = Hold::of_waiting(room, agent);
        Ok(Waiter { watch, routing: Routing::new(room), next_look, signal, hold })
    }

    /// Keeps an agent that of a session while it waits. That it can't hinders nobody from waiting.
    pub fn holds(&mut self, agent: &str, session: &Named) {
        match Hold::take(&self.routing.room, agent, session) {
            Ok(hold) => self.hold = Some(hold),
            Err(e) => tracing::debug!("{e}"),
        }
    }

    /// Waits until something may have come, or until that instant.
    pub fn wait(&mut self, until: Option<Instant>) -> Wakeup {
        loop {
            match self.signal.load(Ordering::Relaxed) {
                0 => {}
                signal => return Wakeup::Signal(signal),
            }
            let left = until.map_or(Duration::MAX, |until| until.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return Wakeup::TimedOut;
            }
            if let Err(e) = self.routing.tend() {
                return Wakeup::Trouble(e);
            }
            let heard = self.watch.wait(left.min(limits::TAKE_OVER)) || self.next_look <= Instant::now();
            if heard && self.signal.load(Ordering::Relaxed) == 0 {
                self.next_look = Instant::now() + limits::SWEEP_TRUSTED;
                return Wakeup::Changed;
            }
        }
    }

    /// Looks again and again until there is what is looked for; at least once.
    pub fn until<T>(
        &mut self,
        deadline: Option<Instant>,
        look: &mut dyn FnMut() -> Result<Option<T>>,
        trouble: &dyn Fn(&Error),
    ) -> Result<Waited<T>> {
        loop {
            if let Some(found) = look()? {
                return Ok(Waited::Found(found));
            }
            match self.wait(deadline) {
                Wakeup::Changed => {}
                Wakeup::TimedOut => return Ok(Waited::TimedOut),
                Wakeup::Signal(signal) => return Ok(Waited::Signal(signal)),
                Wakeup::Trouble(e) => trouble(&e),
            }
        }
    }

    /// Ends the process as the signal would have done, once what this process routes is done.
    pub fn end_by(self, signal: i32) -> Result<()> {
        drop(self);
        signal_hook::low_level::emulate_default_handler(signal).doing("end by a signal", "this process")
    }
}

/// The duty of whoever waits: to route, while nobody else does. A router of this process ends when this is dropped.
pub struct Routing {
    room: Room,
    router: Option<Alongside>,
    /// When to look next whether somebody routes.
    next_offer: Instant,
}

impl Routing {
    /// From the first look on.
    pub fn new(room: &Room) -> Routing {
        Routing { room: room.clone(), router: None, next_offer: Instant::now() }
    }

    /// Sees that somebody routes; to be called at least every [`limits::TAKE_OVER`]. After a failure it looks again only
    /// after a while.
    pub fn tend(&mut self) -> Result<()> {
        self.see_that_somebody_routes().inspect_err(|_| self.next_offer = Instant::now() + limits::SWEEP_TRUSTED)
    }

    fn see_that_somebody_routes(&mut self) -> Result<()> {
        if let Some(router) = &mut self.router {
            let failure = router.failure();
            if failure.is_none() && self.room.is_wanted() {
                self.router = None;
                self.next_offer = Instant::now() + limits::TAKE_OVER;
                return Ok(());
            }
            self.router = self.router.take().filter(|_| failure.is_none());
            return failure.map_or(Ok(()), Err);
        }
        if Instant::now() >= self.next_offer {
            self.next_offer = Instant::now() + limits::TAKE_OVER;
            self.router = alongside(&self.room)?;
        }
        Ok(())
    }
}

/// The instant after which nothing is waited for any more; a time beyond all clocks is none.
pub fn deadline(timeout: Duration) -> Option<Instant> {
    Instant::now().checked_add(timeout)
}

fn listen(told: Arc<AtomicI32>, wake: impl Fn() + Send + 'static) -> Result<()> {
    let mut signals =
        signal_hook::iterator::Signals::new(machine::heard(&[SIGINT, SIGTERM])).doing("listen to", "signals")?;
    let listen = move || {
        for signal in signals.forever() {
            if told.swap(signal, Ordering::Relaxed) != 0 {
                // Asked twice: at once, whatever is in hand.
                let _ = signal_hook::low_level::emulate_default_handler(signal);
            }
            wake();
        }
    };
    std::thread::Builder::new().name("signals".into()).spawn(listen).map(drop).doing("listen to", "signals")
}
