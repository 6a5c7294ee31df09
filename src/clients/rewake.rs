//! Waiting behind an agent that has stopped, until mail wakes it: what Claude Code runs in the background of a session.

use super::briefing::{self, Briefing, Moment};
use super::events::{self, Event, Kind};
use super::wake::at_work;
use crate::base::error::{Doing, Error, Result};
use crate::base::limits;
use crate::commands::wait::{Waiter, Wakeup};
use crate::disk::layout;
use crate::query::identity::Who;
use crate::room::Room;
use crate::room::registry::By;
use crate::room::sessions::{self, Caller, Claim, Lease};
use std::fs::{File, TryLockError};
use std::time::{Duration, Instant};

/// Waits for one session; nobody else does while this lives.
pub struct Vigil {
    room: Room,
    caller: Caller,
    lease: Lease,
    waiter: Waiter,
    burst: Option<Burst>,
    _only: File,
}

/// Why a vigil ended.
pub enum Ended {
    /// There is mail. If it can't be told, [`Vigil::untold`] has to be called.
    Mail(Briefing),
    /// Nobody is there to be woken any more: the session has ended, or another one has the agent.
    Over,
    /// A signal ends it.
    Signal(i32),
}

impl Vigil {
    /// Begins to wait for the agent of the session in which an event happened. `None` if there is nobody to wake: no
    /// agent, one that is woken in another way, or one that somebody waits for already.
    pub fn begin(room: &Room, event: &Event, caller: Caller, named: Option<&Who>) -> Result<Option<Vigil>> {
        if event.kind == Kind::Nothing {
            return Ok(None);
        }
        // The hook that binds the session runs beside this one, and may not have come to it.
        let lease = match sessions::agent_of(room, &caller)?.filter(|lease| !lease.ended) {
            None => events::bind(room, &caller, event, named)?,
            held => held,
        };
        let Some(lease) = lease.filter(|lease| lease.is_of(&caller)) else { return Ok(None) };
        let registry = room.registry()?;
        let wake = registry.agent(&lease.agent).and_then(|agent| agent.wake.as_ref());
        if wake.is_some_and(|wake| wake.by != By::Claude) {
            return Ok(None);
        }
        // Who waits for a session that another one follows learns of that in a moment, and ends.
        let patience = if events::begins(event) { limits::VIGIL_HANDOVER } else { Duration::ZERO };
        let Some(only) = alone(room, &lease.agent, Instant::now() + patience)? else { return Ok(None) };
        let mut waiter = Waiter::new(room, &lease.agent)?;
        waiter.holds(&lease.agent, &lease.named());
        Ok(Some(Vigil { room: room.clone(), caller, lease, waiter, burst: None, _only: only }))
    }

    /// Who is waited for.
    pub fn agent(&self) -> &str {
        &self.lease.agent
    }

    /// Waits until there is mail to wake the agent for. `trouble` hears of what keeps mail from being routed meanwhile.
    pub fn wait(&mut self, trouble: &dyn Fn(&Error)) -> Result<Ended> {
        loop {
            // Another session may have it, and a hook renews it.
            let Some(lease) = sessions::of(&self.room, self.agent())?.filter(|lease| lease.is_of(&self.caller)) else {
                return Ok(Ended::Over);
            };
            if lease.is_gone(&self.room.dir) {
                return Ok(Ended::Over);
            }
            let at_work = at_work(&self.room, &lease, limits::VIGIL_AT_WORK);
            let gathering = if at_work.is_none() { self.gather()? } else { None };
            if gathering == Some(Duration::ZERO)
                && let Some(briefing) = briefing::brief(&self.room, &lease.agent, Moment::Prompt, lease.told)?
            {
                return Ok(Ended::Mail(briefing));
            }
            self.lease = self.renew(lease, at_work.is_none())?;
            let pause = at_work.or(gathering).filter(|pause| !pause.is_zero()).unwrap_or(limits::VIGIL);
            match self.waiter.wait(Some(Instant::now() + pause.min(limits::VIGIL))) {
                Wakeup::Signal(signal) => return Ok(Ended::Signal(signal)),
                Wakeup::Trouble(e) => trouble(&e),
                Wakeup::Changed | Wakeup::TimedOut => {}
            }
        }
    }

    /// It was told: the budget is charged.
    pub fn told(&self, briefing: &Briefing) -> Result<()> {
        sessions::told(&self.room, self.agent(), briefing.told)
    }

    /// It could not be told.
    pub fn untold(&self, briefing: &Briefing) {
        briefing.undo(&self.room, self.agent());
    }

    /// Ends as the signal would have ended the process, once what it routes is done.
    pub fn end_by(self, signal: i32) -> Result<()> {
        self.waiter.end_by(signal)
    }

    /// How long to wait for more mail before the agent is woken; `None` where there is none to wake it for.
    fn gather(&mut self) -> Result<Option<Duration>> {
        let count = briefing::untold(&self.room, &self.lease.agent)?;
        if count == 0 {
            self.burst = None;
            return Ok(None);
        }
        let now = Instant::now();
        let burst = self.burst.get_or_insert(Burst { count, began: now, last: now });
        if burst.count != count {
            (burst.count, burst.last) = (count, now);
        }
        let over = (burst.last + limits::WAKE_QUIET).min(burst.began + limits::WAKE_COALESCE);
        Ok(Some(over.saturating_duration_since(now)))
    }

    // The session idles, and lives: whoever waits for it keeps its hold, without a word on what the agent does.
    fn renew(&self, lease: Lease, is_idle: bool) -> Result<Lease> {
        let old = lease.last().is_none_or(|last| last.after(limits::VIGIL_RENEWS) <= crate::base::clock::Stamp::now());
        match is_idle && old {
            true => sessions::bind(&self.room, &lease.agent, &self.caller, Claim::Free, RESTS),
            false => Ok(lease),
        }
    }
}

/// Mail that comes together, as far as it has come: one wake is enough for all of it.
struct Burst {
    count: usize,
    began: Instant,
    last: Instant,
}

/// The lock of who waits for an agent; `None` if somebody else holds it until then.
fn alone(room: &Room, agent: &str, until: Instant) -> Result<Option<File>> {
    let sessions = room.dir.make(layout::SESSIONS)?;
    let name = layout::vigil(agent);
    let only = sessions.lock_file(&name)?;
    loop {
        match only.try_lock() {
            Ok(()) => return Ok(Some(only)),
            Err(TryLockError::WouldBlock) if Instant::now() >= until => return Ok(None),
            Err(TryLockError::WouldBlock) => std::thread::sleep(limits::WAKE_QUIET),
            Err(TryLockError::Error(e)) => return Err(e).doing("lock", sessions.at(name)),
        }
    }
}

/// What the session of a vigil does, where its client has not said anything for long.
const RESTS: &str = "Stop";
