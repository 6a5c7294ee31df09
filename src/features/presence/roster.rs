//! The roster: each agent's presence, work and number of unread messages.
//!
//! Presence is observed, never declared. Signs of activity are a sent message, mail taken out of the inbox, and a
//! call by a hook or tool of the session. An agent is also present while a process waits or watches for it. The
//! declared status of the registry is shown beside the observed presence.

use super::{AgentCommit, WorkReport, of};
use crate::base::clock::Stamp;
use crate::base::limits;
use crate::features::claims::{self, Claims};
use crate::log::state::RoomState;
use crate::room::registry::{Agent, AgentStatus, Registry};
use crate::room::sessions::{SessionCalls, SessionRunState};
use crate::room::signs;
use serde::Serialize;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// An agent that was active within this time is idle.
const IDLE_PRESENCE: Duration = signs::THERE;
const _: () = assert!(limits::ONLINE.as_secs() < IDLE_PRESENCE.as_secs());

/// The presence of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Presence {
    /// Seen a moment ago, or a process waits or watches for this agent.
    Online,
    /// Seen within the hour, or declared idle.
    Idle,
    /// Not seen for longer, or declared offline.
    Offline,
    /// Not seen for long, though it has mail or is declared online.
    Stale,
}

impl Presence {
    /// The word in the roster.
    pub fn as_str(self) -> &'static str {
        match self {
            Presence::Online => "online",
            Presence::Idle => "idle",
            Presence::Offline => "offline",
            Presence::Stale => "stale",
        }
    }
}

/// All agents that are not retired.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Roster {
    /// The time of the roster.
    pub at: String,
    /// In the order of the registry.
    pub agents: Vec<AgentPresence>,
}

/// One agent.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AgentPresence {
    /// Its id.
    pub id: Arc<str>,
    /// Its display name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its role.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// Its capabilities.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub capabilities: Vec<String>,
    /// The observed presence.
    pub presence: Presence,
    /// The presence in the registry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub declared: Option<&'static str>,
    /// The time of its last sign of activity, or the present time while a process waits or watches for this agent.
    /// Absent if it was never active.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_seen: Option<String>,
    /// Its last message about its work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub report: Option<WorkReport>,
    /// Its last commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<AgentCommit>,
    /// The first subjects that it owns.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub owns: Vec<String>,
    /// The number of further subjects.
    #[serde(skip_serializing_if = "is_zero")]
    pub owns_more: usize,
    /// The number of unread messages.
    pub unread: usize,
    /// The accept time of the oldest unread message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oldest_unread: Option<String>,
}

/// An agent that is stale.
pub struct StaleAgent {
    /// The agent.
    pub agent: AgentPresence,
    /// The time of its last activity, without its background waiter.
    pub active: Option<Stamp>,
    /// When it was last woken again for mail that it left unread.
    again: Option<Stamp>,
}

impl StaleAgent {
    /// When it was woken again since it was last active.
    pub fn woken_again(&self) -> Option<Stamp> {
        self.again.filter(|at| Some(*at) > self.active)
    }
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// The observed and declared activity of one agent.
struct PresenceSigns<'a> {
    agent: &'a Agent,
    seen: Option<Stamp>,
    /// As `seen`, without the background processes of its session.
    active: Option<Stamp>,
    /// When it was last woken again for mail that it left unread.
    again: Option<Stamp>,
    /// When its oldest unread message was accepted.
    oldest: Option<Stamp>,
    stale_after: Duration,
    calls: &'a SessionCalls,
}

impl<'a> PresenceSigns<'a> {
    fn of(
        agent: &'a Agent,
        state: &RoomState,
        calls: &'a SessionCalls,
        stale_after: Duration,
    ) -> PresenceSigns<'a> {
        let oldest = state
            .mailboxes
            .unread(&agent.id)
            .next()
            .map(|(at, _)| at.min(state.time));
        let recorded = state.last_seen(&agent.id);
        let (seen, active) = (
            recorded.max(calls.last_of_any(&agent.id)),
            recorded.max(calls.active(&agent.id)),
        );
        PresenceSigns {
            agent,
            seen,
            active,
            again: calls.woken_again(&agent.id),
            oldest,
            stale_after,
            calls,
        }
    }

    /// The time when it becomes stale without further activity. Unread mail counts only if the agent is not declared
    /// offline.
    fn stale_at(&self) -> Option<Stamp> {
        if self.agent.status == AgentStatus::Offline || self.stale_after.is_zero() {
            return None;
        }
        let unread = self
            .oldest
            .map(|oldest| self.active.map_or(oldest, |active| active.max(oldest)));
        let mut online = None;
        if self.agent.status == AgentStatus::Online {
            online = self.seen;
        }
        let since = [unread, online].into_iter().flatten().min()?;
        Some(since.after(self.stale_after))
    }

    /// Returns true if a process waits or watches for this agent, or serves its session.
    fn is_held(&self) -> bool {
        self.calls.held().contains(&*self.agent.id)
    }

    /// Returns true if its session is known to have ended, or was killed, and nothing was seen of the agent since.
    fn has_ended(&self) -> bool {
        self.seen.is_some_and(|seen| {
            matches!(
                self.calls.run(&self.agent.id, seen),
                SessionRunState::Ended(_)
            )
        })
    }

    fn presence(&self, now: Stamp) -> Presence {
        let [is_recent, is_within_hour] = [limits::ONLINE, IDLE_PRESENCE]
            .map(|span| self.seen.is_some_and(|seen| now < seen.after(span)));
        match self.agent.status {
            AgentStatus::Offline => Presence::Offline,
            _ if self.stale_at().is_some_and(|at| at <= now) => Presence::Stale,
            AgentStatus::Idle => Presence::Idle,
            _ if self.has_ended() => Presence::Offline,
            _ if is_recent || self.is_held() => Presence::Online,
            _ if is_within_hour => Presence::Idle,
            _ => Presence::Offline,
        }
    }

    /// The time when its presence next changes without an event.
    fn changes_at(&self, now: Stamp) -> Option<Stamp> {
        let away = self.seen.map(|seen| seen.after(IDLE_PRESENCE));
        let idle = self.seen.map(|seen| seen.after(limits::ONLINE));
        let woken = self
            .again
            .map(|at| at.after(limits::WAKE_AGAIN.min(self.stale_after)));
        [idle, away, self.stale_at(), woken]
            .into_iter()
            .flatten()
            .filter(|at| *at > now)
            .min()
    }

    fn present(&self, state: &RoomState, now: Stamp) -> AgentPresence {
        let agent = self.agent;
        let seen = if self.is_held() { Some(now) } else { self.seen };
        AgentPresence {
            owns: Vec::new(),
            owns_more: 0,
            id: agent.id.clone(),
            name: agent.name.clone(),
            role: agent.role.clone(),
            capabilities: agent.capabilities.clone(),
            presence: self.presence(now),
            declared: (agent.status != AgentStatus::Unknown).then(|| agent.status.as_str()),
            last_seen: seen.map(|seen| seen.to_string()),
            report: of(state).report_of(&agent.id).cloned(),
            commit: of(state).commit(&agent.id).cloned(),
            unread: state.mailboxes.count(&agent.id),
            oldest_unread: self.oldest.map(|oldest| oldest.to_string()),
        }
    }
}

/// The roster at this instant, and the time when an agent's presence next changes without an event.
pub fn roster(
    registry: &Registry,
    state: &RoomState,
    calls: &SessionCalls,
    stale_after: Duration,
    now: Stamp,
) -> (Roster, Option<Stamp>) {
    let living = registry.agents().iter().filter(|agent| !agent.is_retired());
    let (mut agents, mut next) = (Vec::new(), None);
    for agent in living {
        let signs = PresenceSigns::of(agent, state, calls, stale_after);
        next = [next, signs.changes_at(now)].into_iter().flatten().min();
        agents.push(signs.present(state, now));
    }
    add_claims(&mut agents, claims::of(state));
    (
        Roster {
            at: now.to_string(),
            agents,
        },
        next,
    )
}

fn add_claims(agents: &mut [AgentPresence], claims: &Claims) {
    if claims.held().is_empty() {
        return;
    }
    let mut owned: HashMap<&str, (Vec<String>, usize)> = HashMap::new();
    for held in claims.held() {
        let (subjects, more) = owned.entry(&*held.owner).or_default();
        if subjects.len() < limits::IN_SENTENCE {
            subjects.push(held.subject.to_string());
        } else {
            *more += 1;
        }
    }
    for agent in agents {
        (agent.owns, agent.owns_more) = owned.remove(&*agent.id).unwrap_or_default();
    }
}

/// The stale agents at this instant.
pub fn stale(
    registry: &Registry,
    state: &RoomState,
    calls: &SessionCalls,
    stale_after: Duration,
    now: Stamp,
) -> Vec<StaleAgent> {
    let living = registry.agents().iter().filter(|agent| !agent.is_retired());
    let signs = living.map(|agent| PresenceSigns::of(agent, state, calls, stale_after));
    let stale = signs.filter(|signs| signs.presence(now) == Presence::Stale);
    stale
        .map(|signs| StaleAgent {
            active: signs.active,
            again: signs.again,
            agent: signs.present(state, now),
        })
        .collect()
}
