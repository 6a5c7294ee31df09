//! The roster: who is there, what each does, and how much it has not read.
//!
//! Presence is observed, never declared: an agent was there when it sent something, took mail out of its inbox, or when
//! a hook or tool of its session called, and is there while a process waits or watches for it. It need not remember to say so. What the registry says of it is shown beside that.

use crate::base::clock::Stamp;
use crate::base::error::Result;
use crate::base::limits;
use crate::disk::{Dir, Meta, layout};
use crate::log::state::{self, State};
use crate::room::registry::{Agent, Registry, Status};
use crate::room::sessions::Calls;
use serde::Serialize;
use serde_json::Number;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

/// Is somebody there?
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Presence {
    /// Seen a moment ago, or a process waits or watches as this agent.
    Online,
    /// Seen within the hour, or said to be idle.
    Idle,
    /// Not seen for longer, or said to be offline.
    Offline,
    /// Not seen for long, though it has mail, or is said to be online.
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

/// Everybody who is not retired.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Roster {
    /// When it was so.
    pub at: String,
    /// In the order of the registry.
    pub agents: Vec<Present>,
}

/// How one agent stands.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Present {
    /// Its id.
    pub id: Arc<str>,
    /// Its display name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its role.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// What is observed.
    pub presence: Presence,
    /// What the registry says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub declared: Option<&'static str>,
    /// When it last sent something, took mail out of its inbox, or its session called; now while a process waits or watches
    /// as this agent; absent for never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_seen: Option<String>,
    /// What it last said that it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub doing: Option<Doing>,
    /// How many messages it has not read.
    pub unread: usize,
    /// When the oldest of them was accepted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oldest_unread: Option<String>,
}

/// What an agent last said that it does.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Doing {
    /// The type of the message that said so.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its subject, or the first line of its body.
    pub text: String,
    /// How far it is, if it said so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<Number>,
    /// Whom it waits for, if it said so.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub waiting_for: Vec<String>,
    /// When it was accepted.
    pub at: String,
}

/// Observed and declared, for one agent.
struct Signs<'a> {
    agent: &'a Agent,
    seen: Option<Stamp>,
    /// When its oldest unread message was accepted.
    oldest: Option<Stamp>,
    stale_after: Duration,
    calls: &'a Calls,
}

impl<'a> Signs<'a> {
    fn of(agent: &'a Agent, (state, calls): (&State, &'a Calls), stale_after: Duration) -> Signs<'a> {
        let oldest = state.mailboxes.unread(&agent.id).next().map(|(at, _)| at);
        let seen = state.last_seen(&agent.id).max(calls.last(&agent.id));
        Signs { agent, seen, oldest, stale_after, calls }
    }

    /// From when on it is stale, if nothing happens: mail waits for who reads it, and does nothing to who is away.
    fn stale_at(&self) -> Option<Stamp> {
        if self.agent.status == Status::Offline || self.stale_after.is_zero() {
            return None;
        }
        let unread = self.oldest.max(self.seen).filter(|_| self.oldest.is_some());
        let online = self.seen.filter(|_| self.agent.status == Status::Online);
        let since = [unread, online].into_iter().flatten().min()?;
        Some(since.after(self.stale_after))
    }

    /// Does a process wait or watch as this agent, or serve its session?
    fn is_held(&self) -> bool {
        self.calls.held().contains(&*self.agent.id)
    }

    fn presence(&self, now: Stamp) -> Presence {
        let within = |span| self.seen.is_some_and(|seen| now < seen.after(span));
        match self.agent.status {
            Status::Offline => Presence::Offline,
            _ if self.stale_at().is_some_and(|at| at <= now) => Presence::Stale,
            Status::Idle => Presence::Idle,
            _ if within(limits::ONLINE) || self.is_held() => Presence::Online,
            _ if within(limits::AWAY) => Presence::Idle,
            _ => Presence::Offline,
        }
    }

    /// When its presence changes by itself.
    fn changes_at(&self, now: Stamp) -> Option<Stamp> {
        let away = self.seen.map(|seen| seen.after(limits::AWAY));
        let idle = self.seen.map(|seen| seen.after(limits::ONLINE));
        [idle, away, self.stale_at()].into_iter().flatten().filter(|at| *at > now).min()
    }

    fn present(&self, state: &State, now: Stamp) -> Present {
        let agent = self.agent;
        let seen = if self.is_held() { Some(now) } else { self.seen };
        Present {
            id: agent.id.clone(),
            name: agent.name.clone(),
            role: agent.role.clone(),
            presence: self.presence(now),
            declared: (agent.status != Status::Unknown).then(|| agent.status.as_str()),
            last_seen: seen.map(|seen| seen.to_string()),
            doing: state.activity.doing(&agent.id).map(Doing::of),
            unread: state.mailboxes.count(&agent.id),
            oldest_unread: self.oldest.map(|oldest| oldest.to_string()),
        }
    }
}

impl Doing {
    fn of(doing: &state::Doing) -> Doing {
        let state::Doing { kind, text, progress, waiting_for, at } = doing.clone();
        Doing { kind, text, progress, waiting_for, at: Stamp::from_micros(at).to_string() }
    }
}

/// Everybody at this instant, and when somebody's presence changes by itself.
pub fn roster(
    registry: &Registry,
    (state, calls): (&State, &Calls),
    stale_after: Duration,
    now: Stamp,
) -> (Roster, Option<Stamp>) {
    let living = registry.agents().iter().filter(|agent| !agent.is_retired());
    let (mut agents, mut next) = (Vec::new(), None);
    for agent in living {
        let signs = Signs::of(agent, (state, calls), stale_after);
        next = [next, signs.changes_at(now)].into_iter().flatten().min();
        agents.push(signs.present(state, now));
    }
    (Roster { at: now.to_string(), agents }, next)
}

/// Who is stale at this instant.
pub fn stale(registry: &Registry, (state, calls): (&State, &Calls), stale_after: Duration, now: Stamp) -> Vec<Present> {
    let living = registry.agents().iter().filter(|agent| !agent.is_retired());
    let signs = living.map(|agent| Signs::of(agent, (state, calls), stale_after));
    let stale = signs.filter(|signs| signs.presence(now) == Presence::Stale);
    stale.map(|signs| signs.present(state, now)).collect()
}

/// Was it seen within the hour?
pub fn is_there(agent: &str, (state, calls): (&State, &Calls), now: Stamp) -> bool {
    let seen = state.last_seen(agent).max(calls.last(agent));
    seen.is_some_and(|seen| now < seen.after(limits::AWAY)) || calls.held().contains(agent)
}

/// `roster.json`, and the links to it beside the conversations.
#[derive(Default)]
pub struct Written {
    agents: Option<Vec<Present>>,
    /// The file as it was left.
    left: Option<Meta>,
    linked: HashSet<Arc<str>>,
}

impl Written {
    /// Writes it if it would say something else than it does, and makes the links that are missing. It follows from the
    /// log and the registry, so that nothing is synced.
    pub fn write(&mut self, room: &Dir, roster: Roster, state: &State) -> Result<()> {
        if self.agents.as_ref() != Some(&roster.agents) {
            let mut text = serde_json::to_vec_pretty(&roster).expect("a roster has only text keys");
            text.push(b'\n');
            self.agents = None;
            room.show(layout::ROSTER, &text)?;
            (self.agents, self.left) = (Some(roster.agents), room.stat(layout::ROSTER)?);
        }
        let new = state.channels.keys().filter(|channel| !self.linked.contains(*channel));
        let mut done = Ok(());
        for channel in new.cloned().collect::<Vec<_>>() {
            done = done.and(link(room, &channel));
            self.linked.insert(channel);
        }
        done
    }

    /// Does it stand as it was left? If not, it is written again with the next write, as are the links.
    pub fn look(&mut self, room: &Dir) -> bool {
        self.linked.clear();
        let stands = matches!(room.stat(layout::ROSTER), Ok(now) if now.is_some() && now == self.left);
        if !stands {
            self.agents = None;
        }
        stands
    }
}

fn link(room: &Dir, channel: &str) -> Result<()> {
    match room.sub(layout::channel(channel)) {
        // The conversation could not be made yet; when it is, the link comes with the next look.
        Err(e) if e.errno() == Some(libc::ENOENT) => Ok(()),
        dir => dir?.link(layout::ROSTER, layout::ROSTER_FROM_CHANNEL),
    }
}
