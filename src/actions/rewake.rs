//! Waiting behind an agent that has stopped, until mail wakes it: what Claude Code runs in the background of a session.

use super::briefing::{self, Briefing, Moment};
use super::waiter::{Waiter, Woke};
use super::wake::at_work;
use crate::error::{Doing, Error, Result};
use crate::registry::By;
use crate::room::Room;
use crate::sessions::{self, Caller, Claim, Lease};
use crate::{layout, limits};
use std::fs::{File, TryLockError};
use std::time::Instant;

/// Waits for one session; nobody else does while this lives.
pub struct Vigil {
    room: Room,
    caller: Caller,
    lease: Lease,
    waiter: Waiter,
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
    /// Begins to wait for the agent of a session. `None` if there is nobody to wake: no agent, one that is woken in
    /// another way, or one that somebody waits for already.
    pub fn begin(room: &Room, agent: Option<&str>, caller: Caller) -> Result<Option<Vigil>> {
        let lease = match agent {
            Some(agent) => sessions::of(room, agent)?.filter(|lease| lease.is_of(&caller)),
            None => sessions::agent_of(room, &caller)?,
        };
        let Some(lease) = lease else { return Ok(None) };
        let registry = room.registry()?;
        let wake = registry.agent(&lease.agent).and_then(|agent| agent.wake.as_ref());
        if wake.is_some_and(|wake| wake.by != By::Claude) {
            return Ok(None);
        }
        let sessions = room.dir.make(layout::SESSIONS)?;
        let name = layout::vigil(&lease.agent);
        let only = sessions.lock_file(&name)?;
        match only.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(e)) => return Err(e).doing("lock", sessions.at(name)),
        }
        let waiter = Waiter::new(room, &lease.agent)?;
        Ok(Some(Vigil { room: room.clone(), caller, lease, waiter, _only: only }))
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
            if lease.process.is_some_and(|process| process.lives() == Some(false)) {
                return Ok(Ended::Over);
            }
            let at_work = at_work(&self.room, &lease);
            if at_work.is_none()
                && briefing::untold(&self.room, &lease.agent)? > 0
                && let Some(briefing) = briefing::brief(&self.room, &lease.agent, Moment::Prompt, lease.told)?
            {
                return Ok(Ended::Mail(briefing));
            }
            self.lease = self.renew(lease)?;
            match self.waiter.wait(Some(Instant::now() + at_work.unwrap_or(limits::VIGIL).min(limits::VIGIL))) {
                Woke::Signal(signal) => return Ok(Ended::Signal(signal)),
                Woke::Trouble(e) => trouble(&e),
                Woke::Changed | Woke::TimedOut => {}
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

    // The session idles, and lives: whoever waits for it keeps its hold, without a word on what the agent does.
    fn renew(&self, lease: Lease) -> Result<Lease> {
        let old = lease.last().is_none_or(|last| last.after(limits::VIGIL_RENEWS) <= crate::clock::Stamp::now());
        match at_work(&self.room, &lease).is_none() && old {
            true => sessions::bind(&self.room, &lease.agent, &self.caller, Claim::Free, RESTS),
            false => Ok(lease),
        }
    }
}

/// What the session of a vigil does, where its client has not said anything for long.
const RESTS: &str = "Stop";
