//! The activity of agents, as their sessions show it: for the roster, and for agents that leave their mail unread.

use super::{SessionLease, holds, read};
use crate::base::clock::Stamp;
use crate::base::error::Result;
use crate::base::limits;
use crate::disk::{Dir, layout};
use std::cell::OnceCell;
use std::collections::{BTreeSet, HashSet};
use std::time::Duration;

/// The log shows the effect of a session's call within this time.
const CALL_TO_RECORD: Duration = Duration::from_secs(60);

/// Whether the session of an agent runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionRunState {
    /// A process holds a lock for the agent.
    Running,
    /// The session is known to have ended, at this time if that is known, and the agent was not active since.
    Ended(Option<Stamp>),
    /// The end of the session is not known.
    Unknown,
}

/// The last calls of sessions, and the agents with a running process. For the roster.
pub struct SessionCalls {
    room: Dir,
    sessions: Option<Dir>,
    /// The agents with a lease. Listed once, on demand, because most agents of a large room have no lease.
    leased: OnceCell<HashSet<String>>,
    /// Read once, on demand.
    held: OnceCell<BTreeSet<String>>,
}

impl SessionCalls {
    /// Reads the sessions of a room.
    pub fn of(room: &Dir) -> SessionCalls {
        SessionCalls {
            room: room.clone(),
            sessions: room.sub(layout::SESSIONS).ok(),
            leased: OnceCell::new(),
            held: OnceCell::new(),
        }
    }

    fn lease(&self, agent: &str) -> Option<SessionLease> {
        let sessions = self.sessions.as_ref()?;
        let leased = self.leased.get_or_init(|| leased_agents(sessions));
        if leased.contains(agent) {
            read(sessions, agent)
        } else {
            None
        }
    }

    fn open_lease(&self, agent: &str) -> Option<SessionLease> {
        self.lease(agent).filter(|lease| !lease.ended)
    }

    /// The last call of the session that speaks for this agent, or spoke for it until it ended.
    pub fn last_of_any(&self, agent: &str) -> Option<Stamp> {
        self.lease(agent)?.last()
    }

    /// The last call of the session that speaks for this agent.
    pub fn last(&self, agent: &str) -> Option<Stamp> {
        self.open_lease(agent)?.last()
    }

    /// As [`SessionCalls::last_of_any`]. Calls of its background waiter do not count.
    pub fn active(&self, agent: &str) -> Option<Stamp> {
        self.lease(agent)?.active()
    }

    /// When this agent's session was last woken again for mail that it left unread.
    pub fn woken_again(&self, agent: &str) -> Option<Stamp> {
        self.lease(agent)?;
        woken_again(self.sessions.as_ref()?, agent)
    }

    /// Returns true if a session speaks for this agent and is not known to have ended.
    pub fn is_alive(&self, agent: &str) -> bool {
        self.open_lease(agent).is_some_and(|lease| {
            !lease.is_gone(&self.room) && holds::was_left(&self.room, &lease).is_none()
        })
    }

    /// Returns true if a session speaks for this agent, or spoke for it until it ended.
    pub fn has_session(&self, agent: &str) -> bool {
        self.lease(agent).is_some()
    }

    /// Finds out whether the session of this agent runs. `seen` is the agent's last activity.
    pub fn run(&self, agent: &str, seen: Stamp) -> SessionRunState {
        if self.held().contains(agent) {
            return SessionRunState::Running;
        }
        let Some(lease) = self.lease(agent) else {
            return SessionRunState::Unknown;
        };
        let is_last =
            Stamp::parse(&lease.last).is_some_and(|last| seen <= last.after(CALL_TO_RECORD));
        if !is_last {
            return SessionRunState::Unknown;
        }
        let left = holds::was_left(&self.room, &lease);
        if lease.ended || lease.is_gone(&self.room) {
            return SessionRunState::Ended(left.flatten());
        }
        left.map_or(SessionRunState::Unknown, SessionRunState::Ended)
    }

    /// The agents with a running process that waits, watches or serves tools.
    pub fn held(&self) -> &BTreeSet<String> {
        self.held.get_or_init(|| holds::held_agents(&self.room))
    }
}

/// Records that the session of an agent is woken again for mail that it left unread. Durable after it returns.
pub fn note_woken_again(room: &Dir, agent: &str, at: Stamp) -> Result<()> {
    room.make(layout::SESSIONS)?
        .show(layout::woken_again(agent), at.to_string().as_bytes())
}

fn woken_again(sessions: &Dir, agent: &str) -> Option<Stamp> {
    let bytes = sessions.read(layout::woken_again(agent), limits::SESSION_BYTES);
    Stamp::parse(std::str::from_utf8(&bytes.ok()??).ok()?)
}

fn leased_agents(sessions: &Dir) -> HashSet<String> {
    let entries = sessions.list().into_iter().flatten().flatten();
    entries
        .filter_map(|entry| layout::read_session(&entry.name).map(str::to_owned))
        .collect()
}
