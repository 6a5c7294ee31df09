//! What the sessions of a room show about their agents: for the roster, and for agents that leave their mail unread.

use super::{holds, read};
use crate::base::clock::Stamp;
use crate::base::limits;
use crate::disk::{Dir, layout};
use std::cell::OnceCell;
use std::collections::BTreeSet;

/// Whether the session of an agent runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Run {
    /// A process holds a lock for the agent.
    Running,
    /// The session is known to have ended, at this time if that is known, and the agent was not active since.
    Ended(Option<Stamp>),
    /// Only the last call is known, if any.
    Unknown,
}

/// The last calls of sessions, and the agents with a running process. For the roster.
pub struct Calls {
    room: Dir,
    sessions: Option<Dir>,
    /// Read once, on demand.
    held: OnceCell<BTreeSet<String>>,
}

impl Calls {
    /// Reads the sessions of a room.
    pub fn of(room: &Dir) -> Calls {
        Calls {
            room: room.clone(),
            sessions: room.sub(layout::SESSIONS).ok(),
            held: OnceCell::new(),
        }
    }

    /// The last call of the session that speaks for this agent.
    pub fn last(&self, agent: &str) -> Option<Stamp> {
        read(self.sessions.as_ref()?, agent)
            .filter(|lease| !lease.ended)?
            .last()
    }

    /// The last call of the session that speaks for this agent, without those of its background waiter.
    pub fn active(&self, agent: &str) -> Option<Stamp> {
        read(self.sessions.as_ref()?, agent)
            .filter(|lease| !lease.ended)?
            .active()
    }

    /// Does a session speak for this agent that is not known to have ended?
    pub fn is_alive(&self, agent: &str) -> bool {
        let lease = self
            .sessions
            .as_ref()
            .and_then(|sessions| read(sessions, agent))
            .filter(|lease| !lease.ended);
        lease.is_some_and(|lease| {
            !lease.is_gone(&self.room) && holds::was_left(&self.room, &lease).is_none()
        })
    }

    /// Does a session speak for this agent, or did one until it ended?
    pub fn has_session(&self, agent: &str) -> bool {
        self.sessions
            .as_ref()
            .is_some_and(|sessions| read(sessions, agent).is_some())
    }

    /// Does the session of this agent run? `seen` is the agent's last activity.
    pub fn run(&self, agent: &str, seen: Stamp) -> Run {
        if self.held().contains(agent) {
            return Run::Running;
        }
        let Some(lease) = self
            .sessions
            .as_ref()
            .and_then(|sessions| read(sessions, agent))
        else {
            return Run::Unknown;
        };
        let is_last = Stamp::parse(&lease.last)
            .is_some_and(|last| seen <= last.after(limits::CALL_TO_RECORD));
        let left = || holds::was_left(&self.room, &lease);
        match lease.ended {
            _ if !is_last => Run::Unknown,
            true => Run::Ended(left().flatten()),
            false if lease.is_gone(&self.room) => Run::Ended(left().flatten()),
            false => left().map_or(Run::Unknown, Run::Ended),
        }
    }

    /// The agents with a running process that waits, watches or serves tools.
    pub fn held(&self) -> &BTreeSet<String> {
        self.held.get_or_init(|| holds::held_agents(&self.room))
    }
}
