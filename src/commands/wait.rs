//! Waits for changes of one inbox by file events. The waiting process delivers mail if no router runs.

use crate::base::error::{Error, ErrorContext, Result};
use crate::base::limits;
use crate::disk::machine;
use crate::query::inbox::{self, InboxMessage, MailHold};
use crate::query::wait::{NewMailTracker, WaitFilter};
use crate::room::Room;
use crate::room::sessions::{SessionHold, SessionIdentity};
use crate::router::daemon::{BackgroundRouter, alongside};
use crate::router::watcher::InboxWatch;
use signal_hook::consts::SIGTERM;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::{Duration, Instant};

/// Why a wait ended.
#[derive(Debug)]
pub enum WaitEnd {
    /// The inbox may have changed.
    Changed,
    /// The timeout expired.
    TimedOut,
    /// A signal asks the process to end.
    Signal(i32),
    /// The room was removed: no mail can arrive.
    Removed(Error),
    /// This process cannot deliver pending mail now. Waiting may continue.
    Trouble(Error),
}

/// The result of a wait.
#[derive(Debug)]
pub enum WaitResult<T> {
    /// The result was found.
    Found(T),
    /// The timeout expired.
    TimedOut,
    /// A signal ended the wait.
    Signal(i32),
}

impl<T> WaitResult<T> {
    /// The same result, with a changed value.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> WaitResult<U> {
        match self {
            WaitResult::Found(found) => WaitResult::Found(change(found)),
            WaitResult::TimedOut => WaitResult::TimedOut,
            WaitResult::Signal(signal) => WaitResult::Signal(signal),
        }
    }
}

/// Waits for changes of one inbox. Create it before reading the inbox, so that no change is missed.
pub struct InboxWaiter {
    room: Room,
    agent: String,
    watch: InboxWatch,
    /// None in a server, which delivers mail by itself all the time.
    routing: Option<StandbyRouter>,
    /// The longest time without a report of a possible change.
    look_every: Duration,
    /// When to report a possible change without an event.
    next_look: Instant,
    signal: Arc<AtomicI32>,
    /// Keeps the agent present and bound to its session while it waits.
    hold: Option<SessionHold>,
}

impl InboxWaiter {
    /// Starts to watch. From now on the first SIGINT or SIGTERM ends the wait, not the process. An ignored SIGINT stays
    /// ignored.
    pub fn new(room: &Room, agent: &str) -> Result<InboxWaiter> {
        let mut waiter = InboxWaiter::of_server(room, agent)?;
        let (received, wake) = (waiter.signal.clone(), waiter.watch.waker());
        machine::at_signals(&machine::END_SIGNALS, move |signal| {
            let is_second = received.swap(signal, Ordering::Relaxed) != 0;
            wake();
            is_second
        })?;
        waiter.hold = SessionHold::of_waiting(room, agent);
        waiter.routing = Some(StandbyRouter::new(room));
        Ok(waiter)
    }

    /// For one of several waits of a server, which handles signals, delivers mail and holds its agents by itself.
    pub fn of_server(room: &Room, agent: &str) -> Result<InboxWaiter> {
        let watch = InboxWatch::new(&room.dir, agent)?;
        let next_look = Instant::now() + limits::SWEEP_TRUSTED;
        Ok(InboxWaiter {
            room: room.clone(),
            agent: agent.to_owned(),
            watch,
            routing: None,
            look_every: limits::SWEEP_TRUSTED,
            next_look,
            signal: Arc::default(),
            hold: None,
        })
    }

    /// Reports a possible change at least this often, for changes of the log that put nothing into the inbox.
    pub fn look_every(&mut self, pause: Duration) {
        self.look_every = pause;
        self.next_look = Instant::now() + pause;
    }

    /// Ends the wait when it is called, as SIGTERM would.
    pub fn stopper(&self) -> impl Fn() + Send + 'static {
        let (signal, wake) = (self.signal.clone(), self.watch.waker());
        move || {
            signal.store(SIGTERM, Ordering::Relaxed);
            wake();
        }
    }

    /// Makes the wait report a possible change when it is called.
    pub fn waker(&self) -> impl Fn() + Send + 'static {
        self.watch.waker()
    }

    /// Keeps an agent bound to its session during the wait. A failure does not stop the wait.
    pub fn holds(&mut self, agent: &str, session: &SessionIdentity) {
        match SessionHold::take(&self.room, agent, session) {
            Ok(hold) => self.hold = Some(hold),
            Err(e) => tracing::debug!("{e}"),
        }
    }

    /// Waits until the inbox may have changed, or until the given instant.
    pub fn wait(&mut self, until: Option<Instant>) -> WaitEnd {
        loop {
            match self.signal.load(Ordering::Relaxed) {
                0 => {}
                signal => return WaitEnd::Signal(signal),
            }
            let left = until.map_or(Duration::MAX, |until| {
                until.saturating_duration_since(Instant::now())
            });
            if left.is_zero() {
                return WaitEnd::TimedOut;
            }
            if let Err(e) = self.room.check_place() {
                return WaitEnd::Removed(e);
            }
            if let Some(hold) = &mut self.hold {
                hold.renew(&self.room);
            }
            if let Some(Err(e)) = self.routing.as_mut().map(StandbyRouter::tend) {
                return WaitEnd::Trouble(e);
            }
            let heard =
                self.watch.wait(left.min(limits::TAKE_OVER)) || self.next_look <= Instant::now();
            if heard && self.signal.load(Ordering::Relaxed) == 0 {
                self.next_look = Instant::now() + self.look_every;
                return WaitEnd::Changed;
            }
        }
    }

    /// Calls `look` until it returns a result, at least once, and again at the deadline.
    pub fn until<T>(
        &mut self,
        deadline: Option<Instant>,
        look: &mut dyn FnMut() -> Result<Option<T>>,
        trouble: &dyn Fn(&Error),
    ) -> Result<WaitResult<T>> {
        loop {
            if let Some(found) = look()? {
                return Ok(WaitResult::Found(found));
            }
            match self.wait(deadline) {
                WaitEnd::Changed => {}
                WaitEnd::TimedOut => {
                    return Ok(look()?.map_or(WaitResult::TimedOut, WaitResult::Found));
                }
                WaitEnd::Signal(signal) => return Ok(WaitResult::Signal(signal)),
                WaitEnd::Removed(e) => return Err(e),
                WaitEnd::Trouble(e) => trouble(&e),
            }
        }
    }

    /// Waits for unread mail that matches: the oldest `most` messages that are there at that time.
    pub fn mail(
        &mut self,
        filter: &WaitFilter,
        most: usize,
        deadline: Option<Instant>,
        trouble: &dyn Fn(&Error),
    ) -> Result<WaitResult<Vec<InboxMessage>>> {
        let found = self.find(filter, most, deadline, trouble, |_, _, mails| {
            Ok(MailHold::of(mails))
        })?;
        Ok(found.map(|found| found.mails))
    }

    /// As [`InboxWaiter::mail`], for a caller that marks the messages as read. Two such callers get different messages.
    pub fn mail_to_read(
        &mut self,
        filter: &WaitFilter,
        most: usize,
        deadline: Option<Instant>,
        trouble: &dyn Fn(&Error),
    ) -> Result<WaitResult<MailHold>> {
        self.find(filter, most, deadline, trouble, MailHold::of_found)
    }

    fn find(
        &mut self,
        filter: &WaitFilter,
        most: usize,
        deadline: Option<Instant>,
        trouble: &dyn Fn(&Error),
        hold: impl Fn(&Room, &str, Vec<InboxMessage>) -> Result<MailHold>,
    ) -> Result<WaitResult<MailHold>> {
        let (room, agent) = (self.room.clone(), self.agent.clone());
        let mut new_mail = NewMailTracker::default();
        self.until(
            deadline,
            &mut || {
                let heads = new_mail.look_for(&room, &agent, filter, most)?;
                let mut found = hold(&room, &agent, inbox::whole(&room, &heads)?)?;
                inbox::note_closed(&room, &agent, &mut found.mails);
                for head in &heads {
                    if !found.mails.iter().any(|mail| mail.name == head.name) {
                        new_mail.forget(head);
                    }
                }
                Ok((!found.mails.is_empty()).then_some(found))
            },
            trouble,
        )
    }

    /// Ends the process as the signal would have done, after this process has finished its deliveries.
    pub fn end_by(self, signal: i32) -> Result<()> {
        drop(self);
        signal_hook::low_level::emulate_default_handler(signal)
            .doing("end by a signal", "this process")
    }
}

/// Runs a router in this process while no other router runs. Dropping it ends the router.
pub struct StandbyRouter {
    room: Room,
    router: Option<BackgroundRouter>,
    /// When to check next whether a router runs.
    next_offer: Instant,
}

impl StandbyRouter {
    /// Starts without a router; the first call of [`StandbyRouter::tend`] checks.
    pub fn new(room: &Room) -> StandbyRouter {
        StandbyRouter {
            room: room.clone(),
            router: None,
            next_offer: Instant::now(),
        }
    }

    /// Ensures that a router runs. Call it at least every [`limits::TAKE_OVER`]. After a failure it waits before it tries again.
    pub fn tend(&mut self) -> Result<()> {
        self.ensure_router()
            .inspect_err(|_| self.next_offer = Instant::now() + limits::SWEEP_TRUSTED)
    }

    fn ensure_router(&mut self) -> Result<()> {
        if let Some(router) = &mut self.router {
            if let Some(e) = router.failure() {
                self.router = None;
                return Err(e);
            }
            if self.room.is_wanted() {
                self.router = None;
                self.next_offer = Instant::now() + limits::TAKE_OVER;
            }
            return Ok(());
        }
        if Instant::now() >= self.next_offer {
            self.next_offer = Instant::now() + limits::TAKE_OVER;
            self.router = alongside(&self.room)?;
            if self.router.is_none() {
                self.room.check_progress()?;
            }
        }
        Ok(())
    }
}

/// Keeps an agent, or the agent of this session, present and its session's as long as the result lives.
pub fn hold(room: &Room, agent: Option<&str>) -> Option<SessionHold> {
    agent.map_or_else(
        || SessionHold::of_this_session(room),
        |agent| SessionHold::of_waiting(room, agent),
    )
}

/// The end of a timeout; `None` if it is beyond the range of the clock.
pub fn deadline(timeout: Duration) -> Option<Instant> {
    Instant::now().checked_add(timeout)
}
