//! Waits for mail for an idle session, in the background: a hook of Claude Code, or a process that a hook has started.

use super::activity;
use super::briefing::{self, BriefedAgent, BriefedSession, Briefing, SessionMoment};
use super::hook_events::{self, HookAction, HookEvent, reading};
use crate::base::clock::Stamp;
use crate::base::error::{Error, ErrorContext, Result};
use crate::base::limits;
use crate::commands::wait::{InboxWaiter, WaitEnd};
use crate::disk::{LockFile, layout};
use crate::query::identity::AgentIdentity;
use crate::room::Room;
use crate::room::sessions::{self, CallingSession, SessionLease, Takeover};
use std::time::{Duration, Instant};

/// The time that the background hook of a new session waits for the end of the previous session's hook in the same
/// process.
const WAITER_HANDOVER: Duration = Duration::from_secs(6);
const _: () = assert!(WAITER_HANDOVER.as_secs() > 2 * limits::WAITER_CHECK.as_secs());
/// The interval between two checks of a session that called recently, by a background waiter with mail.
const WAITER_LOOK: Duration = Duration::from_millis(400);

/// Events that end a turn.
const RESTING: [&str; 7] = [
    "Stop",
    "StopFailure",
    "AfterAgent",
    "SessionEnd",
    sessions::INTERRUPT,
    sessions::JOIN,
    sessions::IDLE,
];
/// Events of a session or its MCP server before the first prompt.
const STARTING: [&str; 2] = ["SessionStart", "start"];

/// Waits for mail for one idle session. Only one process does so for each agent.
pub struct IdleWait {
    room: Room,
    caller: CallingSession,
    lease: SessionLease,
    waiter: InboxWaiter,
    burst: Option<MailBurst>,
    _only: LockFile,
}

/// Why the wait ended.
pub enum IdleWaitEnd {
    /// There is mail. If it cannot be shown, call [`IdleWait::not_shown`].
    Mail(Briefing),
    /// No session to wake: it has ended, or another session has the agent.
    Over,
    /// A signal ended the wait.
    Signal(i32),
}

impl IdleWait {
    /// Starts to wait for the event's session. `None` if there is nothing to do: the session has no agent, or another process already waits for it.
    pub fn begin(
        room: &Room,
        event: &HookEvent,
        caller: CallingSession,
        named: Option<&AgentIdentity>,
    ) -> Result<Option<IdleWait>> {
        if event.kind == HookAction::Ignore {
            return Ok(None);
        }
        let lease = match sessions::agent_of(room, &caller)?.filter(|lease| !lease.ended) {
            None => bound(room, &caller, event, named)?,
            held => held,
        };
        let Some(lease) = lease.filter(|lease| lease.is_of(&caller)) else {
            return Ok(None);
        };
        // The waiter of a session that was replaced by this one ends in a moment.
        let patience = if hook_events::begins(event) {
            WAITER_HANDOVER
        } else {
            Duration::ZERO
        };
        IdleWait::of(room, lease, caller, patience)
    }

    /// Starts to wait for the session that has this lease now.
    pub fn of_agent(room: &Room, agent: &str) -> Result<Option<IdleWait>> {
        let Some(lease) = sessions::of(room, agent)? else {
            return Ok(None);
        };
        let caller = CallingSession {
            client: lease.client.clone(),
            session: lease.session.clone(),
            process: lease.process,
            directory: lease.directory.clone(),
        };
        let patience = if is_new(&lease) {
            WAITER_HANDOVER
        } else {
            Duration::ZERO
        };
        IdleWait::of(room, lease, caller, patience)
    }

    fn of(
        room: &Room,
        lease: SessionLease,
        caller: CallingSession,
        patience: Duration,
    ) -> Result<Option<IdleWait>> {
        let Some(only) = alone(room, &lease.agent, Instant::now() + patience)? else {
            return Ok(None);
        };
        let mut waiter = InboxWaiter::new(room, &lease.agent)?;
        waiter.holds(&lease.agent, &lease.named());
        Ok(Some(IdleWait {
            room: room.clone(),
            caller,
            lease,
            waiter,
            burst: None,
            _only: only,
        }))
    }

    /// The client's id of the session, if it has one.
    pub fn session(&self) -> Option<&str> {
        self.lease.session.as_deref()
    }

    /// The session's agent.
    pub fn agent(&self) -> &str {
        &self.lease.agent
    }

    /// Waits until there is mail to announce. Calls `trouble` when mail cannot be delivered.
    pub fn wait(&mut self, trouble: &dyn Fn(&Error)) -> Result<IdleWaitEnd> {
        loop {
            // Another session may have taken the agent, and hooks renew the lease.
            let Some(lease) =
                sessions::of(&self.room, self.agent())?.filter(|lease| lease.is_of(&self.caller))
            else {
                return Ok(IdleWaitEnd::Over);
            };
            if lease.is_gone(&self.room.dir) {
                return Ok(IdleWaitEnd::Over);
            }
            let at_work = self.at_work(&lease)?;
            let gathering = if at_work.is_none() && !lease.interrupted {
                self.gather()?
            } else {
                None
            };
            let hearer = BriefedSession {
                caller: &self.caller,
                forgot: false,
            };
            if gathering == Some(Duration::ZERO)
                && let Some(mut briefing) = briefing::brief(
                    &self.room,
                    BriefedAgent {
                        agent: &lease.agent,
                        session: Some(hearer),
                    },
                    SessionMoment::Prompt,
                    lease.told,
                )?
            {
                let hint = reading::hint(&self.room, hearer, &briefing);
                if let Some(hint) = hint {
                    briefing.text.extend(["\n", &hint]);
                }
                return Ok(IdleWaitEnd::Mail(briefing));
            }
            self.lease = self.renew(lease, at_work.is_none())?;
            let pause = at_work
                .or(gathering)
                .filter(|pause| !pause.is_zero())
                .unwrap_or(limits::WAITER_CHECK);
            match self
                .waiter
                .wait(Some(Instant::now() + pause.min(limits::WAITER_CHECK)))
            {
                WaitEnd::Signal(signal) => return Ok(IdleWaitEnd::Signal(signal)),
                WaitEnd::Removed(e) => return Err(e),
                WaitEnd::Trouble(e) => trouble(&e),
                WaitEnd::Changed | WaitEnd::TimedOut => {}
            }
        }
    }

    /// Call after the mail was shown: charges the budget.
    pub fn shown(&self, briefing: &Briefing) -> Result<()> {
        sessions::record_shown(&self.room, self.agent(), briefing.told)
    }

    /// Call if the mail could not be shown.
    pub fn not_shown(&self, briefing: &Briefing) {
        briefing.undo(&self.room, self.agent());
    }

    /// Ends the process as the signal would have done, after it has finished its deliveries.
    pub fn end_by(self, signal: i32) -> Result<()> {
        self.waiter.end_by(signal)
    }

    /// The time until a working session can be idle. `None` if it is idle now.
    fn at_work(&self, lease: &SessionLease) -> Result<Option<Duration>> {
        // A message that is queued in Codex waits for the end of the turn, and a hook announces mail earlier.
        let most = if lease.client == sessions::CODEX {
            limits::BUSY
        } else {
            limits::WAITER_BUSY
        };
        let Some(left) = at_work(&self.room, lease, most) else {
            return Ok(None);
        };
        if is_new(lease) || briefing::unannounced(&self.room, &lease.agent)? == 0 {
            return Ok(Some(left));
        }
        if activity::has_ended_turn(lease) {
            Ok(None)
        } else {
            Ok(Some(left.min(WAITER_LOOK)))
        }
    }

    /// The time to wait for more mail before waking the agent; `None` without mail to announce.
    fn gather(&mut self) -> Result<Option<Duration>> {
        let count = briefing::unannounced(&self.room, &self.lease.agent)?;
        if count == 0 {
            self.burst = None;
            return Ok(None);
        }
        let now = Instant::now();
        let burst = self.burst.get_or_insert(MailBurst {
            count,
            began: now,
            last: now,
        });
        if burst.count != count {
            (burst.count, burst.last) = (count, now);
        }
        let over = (burst.last + limits::WAKE_QUIET).min(burst.began + limits::WAKE_COALESCE);
        Ok(Some(over.saturating_duration_since(now)))
    }

    // The session is idle but alive: the waiter renews its lease, and does not count as activity of the agent.
    fn renew(&self, lease: SessionLease, is_idle: bool) -> Result<SessionLease> {
        let old = lease
            .last()
            .is_none_or(|last| !last.is_within(limits::WAITER_RENEWS, Stamp::now()));
        if is_idle && old {
            sessions::bind(
                &self.room,
                &lease.agent,
                &self.caller,
                Takeover::Free,
                sessions::IDLE,
            )
        } else {
            Ok(lease)
        }
    }
}

/// The lease of a session without one. The hook runs at the same time: it may not have bound the session yet, and it gives a
/// name to a session without an agent.
fn bound(
    room: &Room,
    caller: &CallingSession,
    event: &HookEvent,
    named: Option<&AgentIdentity>,
) -> Result<Option<SessionLease>> {
    let patience = if hook_events::gives_name(event) {
        limits::NAME_WAIT
    } else {
        Duration::ZERO
    };
    let until = Instant::now() + patience;
    loop {
        match hook_events::bind(room, caller, event, named) {
            Ok(None) | Err(Error::Busy { .. }) if Instant::now() < until => {
                std::thread::sleep(limits::WAKE_QUIET)
            }
            bound => return bound,
        }
    }
}

/// The rest of the time that an agent counts as working: its next hook will announce its mail. `None` if the agent is idle or
/// unknown. It counts as idle after `most` without a hook.
fn at_work(room: &Room, lease: &SessionLease, most: Duration) -> Option<Duration> {
    let within = room.settings().ok()?.session_lease;
    if RESTING.contains(&lease.event.as_str()) || !lease.is_live(&room.dir, within) {
        return None;
    }
    let most = if is_new(lease) {
        limits::STARTING
    } else {
        most
    };
    let idle = lease.last()?.after(most);
    Some(idle.saturating_duration_since(Stamp::now())).filter(|left| !left.is_zero())
}

/// Returns true if the session of this lease has just started.
fn is_new(lease: &SessionLease) -> bool {
    STARTING.contains(&lease.event.as_str())
}

/// Messages that arrive close together: one wake is enough for all.
struct MailBurst {
    count: usize,
    began: Instant,
    last: Instant,
}

/// Takes the lock that allows one waiter for each agent; `None` if another process still holds it at `until`.
fn alone(room: &Room, agent: &str, until: Instant) -> Result<Option<LockFile>> {
    let sessions = room.dir.make(layout::SESSIONS)?;
    let name = layout::vigil(agent);
    let only = sessions.lock_file(&name)?;
    loop {
        if only.try_lock().doing_in("lock", sessions.path(), &name)? {
            return Ok(Some(only));
        }
        if Instant::now() >= until {
            return Ok(None);
        }
        std::thread::sleep(limits::WAKE_QUIET);
    }
}
