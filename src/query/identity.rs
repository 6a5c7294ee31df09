//! Identifies the caller, in this order: `--as`, the agent that the session joined as, the environment, the agent that the
//! session is otherwise bound to, the person at a terminal.

use crate::base::error::{Error, Result};
use crate::base::text::joined;
use crate::disk::layout;
use crate::log::lookup::Viewer;
use crate::log::state::{self, PastRenames};
use crate::message::address::quoted;
use crate::message::id;
use crate::room::Room;
use crate::room::actor::{self, Actor};
use crate::room::registry::{Agent, Registry};
use crate::room::sessions::{self, CallingSession, LossNotification, Takeover};
use std::collections::BTreeSet;

/// The variables that name an agent. The first one that is set counts.
pub const VARIABLES: [&str; 2] = ["MAILBAG_AGENT", "MAOS_AGENT_ID"];

/// An agent's name and its source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentIdentity {
    /// An agent's id or display name, not resolved yet.
    pub name: String,
    /// Its source.
    pub source: IdentitySource,
}

/// The source of an agent's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdentitySource {
    /// The caller gave it: `--as`, a variable, or `the session`. Such a name is the human only for a person.
    Claimed(&'static str),
    /// mailbag determined it, such as `the terminal`.
    Verified(&'static str),
}

impl IdentitySource {
    /// Its name in messages to the caller.
    pub fn as_str(self) -> &'static str {
        match self {
            IdentitySource::Claimed(word) | IdentitySource::Verified(word) => word,
        }
    }
}

impl AgentIdentity {
    /// An agent by a name that mailbag determined.
    pub fn verified(name: impl Into<String>, source: &'static str) -> AgentIdentity {
        AgentIdentity {
            name: name.into(),
            source: IdentitySource::Verified(source),
        }
    }

    /// The human, after a check that a person runs this process.
    pub fn person() -> AgentIdentity {
        AgentIdentity::verified(id::HUMAN, THE_TERMINAL)
    }

    /// The agent that a session is.
    pub fn of_session(name: String) -> AgentIdentity {
        AgentIdentity::claimed(name, THE_SESSION)
    }

    fn claimed(name: String, source: &'static str) -> AgentIdentity {
        AgentIdentity {
            name,
            source: IdentitySource::Claimed(source),
        }
    }
}

/// Identifies the caller. Without a name only a person is the human. An agent is never the human.
pub fn who(asked: Option<&str>, room: impl FnOnce() -> Result<Room>) -> Result<AgentIdentity> {
    let who = caller(asked, room)?;
    if who.name.eq_ignore_ascii_case(id::HUMAN) {
        who.reject_agent()?;
    }
    Ok(who)
}

fn caller(asked: Option<&str>, room: impl FnOnce() -> Result<Room>) -> Result<AgentIdentity> {
    if let Some(name) = asked {
        return Ok(as_asked(name));
    }
    let (by_environment, caller) = (in_environment(), CallingSession::from_environment());
    let Some(caller) = caller else {
        return by_environment.map_or_else(by_actor, Ok);
    };
    let room = match (room(), by_environment.clone()) {
        (Err(_), Some(who)) => return Ok(who),
        (room, _) => room?,
    };
    let lease = sessions::agent_of(&room, &caller)?
        .filter(|lease| lease.joined || by_environment.is_none());
    match (lease, by_environment) {
        (Some(lease), _) => {
            // The command renews the lease. A failed renewal must not stop the command.
            if let Err(e) = sessions::bind(
                &room,
                &lease.agent,
                &caller,
                Takeover::Free,
                sessions::COMMAND,
            ) {
                tracing::debug!("{e}");
            }
            Ok(AgentIdentity::of_session(lease.agent))
        }
        (None, Some(who)) => Ok(who),
        (None, None) => match sessions::loss(&room, &caller)? {
            Some(loss) => Err(lost(&loss)),
            None => by_actor(),
        },
    }
}

/// The view of an agent or the human.
pub fn viewer(room: &Room, agent: &str) -> Result<Viewer> {
    Ok(own_viewer(room, agent)?.with_all_of_human())
}

/// The messages that an agent sent or received, even if it is the human. This includes the messages of its former names, but
/// not of an earlier agent with its name. The name of a removed agent means all messages under this name.
pub fn own_viewer(room: &Room, agent: &str) -> Result<Viewer> {
    Ok(own_viewer_after(&room.registry()?, agent, renames(room)))
}

/// As [`own_viewer`], with the renamings that the caller has read.
pub fn own_viewer_after(registry: &Registry, agent: &str, renames: PastRenames) -> Viewer {
    match registry.agent(agent) {
        Some(_) => Viewer::only(agent, registry.former(agent), renames),
        None => Viewer::of_name(agent),
    }
}

/// The views of agents under their present names. An agent that two of these names mean has one view.
pub fn own_viewers<'n>(room: &Room, names: impl Iterator<Item = &'n str>) -> Result<Vec<Viewer>> {
    let (registry, renames) = (room.registry()?, renames(room));
    let present: BTreeSet<&str> = names
        .map(|name| registry.now(name).map_or(name, |agent| &*agent.id))
        .collect();
    Ok(present
        .into_iter()
        .map(|agent| own_viewer_after(&registry, agent, renames.clone()))
        .collect())
}

/// The renamings of agents. None if the log is damaged, or if this user cannot read it.
pub fn renames(room: &Room) -> PastRenames {
    state::committed(&room.dir).unwrap_or_default().renames
}

/// The terminal as the source of a name.
pub const THE_TERMINAL: &str = "the terminal";
/// The session as the source of a name.
pub const THE_SESSION: &str = "the session";

fn by_actor() -> Result<AgentIdentity> {
    let evidence = match Actor::of_this_process() {
        Actor::Person => return Ok(AgentIdentity::person()),
        Actor::Agent(evidence) | Actor::Unknown(evidence) => evidence,
    };
    Err(Error::usage(
        format!("this is an unidentified session: no agent name given, and {evidence}"),
        format!(
            "pass --as AGENT, set {}, or run `mailbag join AGENT`",
            VARIABLES[0]
        ),
    ))
}

fn lost(loss: &LossNotification) -> Error {
    Error::busy(
        loss.to_string(),
        "join under another name with `mailbag join NAME`, or pass --as AGENT",
    )
}

/// The caller, if the command line or the environment names an agent.
pub fn named(asked: Option<&str>) -> Option<AgentIdentity> {
    asked.map(as_asked).or_else(in_environment)
}

fn as_asked(name: &str) -> AgentIdentity {
    AgentIdentity::claimed(name.to_owned(), "--as")
}

fn in_environment() -> Option<AgentIdentity> {
    let set = |variable| std::env::var(variable).ok().filter(|name| !name.is_empty());
    VARIABLES
        .into_iter()
        .find_map(|variable| Some(AgentIdentity::claimed(set(variable)?, variable)))
}

impl AgentIdentity {
    /// The agent of that name in this registry. The human may also have a display name, and only a person acts under it.
    pub fn in_registry<'r>(&self, registry: &'r Registry) -> Result<&'r Agent> {
        let agent = registered(registry, &self.name, Some(self.source.as_str()))?;
        if agent.is_human() {
            self.reject_agent()?;
        }
        Ok(agent)
    }

    /// The id of the owner of a mailbox: this agent, or a removed agent that still has an inbox.
    pub fn mailbox(&self, room: &Room, registry: &Registry) -> Result<String> {
        let own = self.in_registry(registry).map(|agent| agent.id.to_string());
        or_removed(own, room, registry, &self.name)
    }

    /// Fails if an agent gave this name of the human.
    fn reject_agent(&self) -> Result<()> {
        match self.source {
            IdentitySource::Claimed(_) => actor::reject_agent("act as human"),
            IdentitySource::Verified(_) => Ok(()),
        }
    }
}

/// The agent with this id or display name. The error suggests similar names and how to register the agent.
pub fn registered<'r>(
    registry: &'r Registry,
    name: &str,
    source: Option<&str>,
) -> Result<&'r Agent> {
    registry.find(name).ok_or_else(|| {
        if let Some((alias, targets)) = registry.alias(name) {
            return Error::not_found(
                format!("{} is an alias, not an agent", quoted(alias)),
                format!("use one of: {}", joined(targets)),
            );
        }
        let origin = source
            .map(|source| format!(" (from {source})"))
            .unwrap_or_default();
        let register = if id::is_name(name) {
            format!("; `mailbag agent add {name}` registers it")
        } else {
            String::new()
        };
        Error::not_found(
            format!("no agent is called {}{origin}", quoted(name)),
            format!("{}{register}", registry.did_you_mean(name)),
        )
    })
}

/// The id of the agent that a filter means: a registered agent under its present or a former name, or an agent of a linked
/// room, such as `po:Sintra`.
pub fn filtered(registry: &Registry, name: &str, option: Option<&str>) -> Result<String> {
    let is_far = name
        .split_once(':')
        .is_some_and(|(tag, agent)| id::is_name(tag) && id::is_name(agent));
    match registry.now(name) {
        Some(agent) => Ok(agent.id.to_string()),
        None if is_far => Ok(name.to_owned()),
        None => registered(registry, name, option).map(|agent| agent.id.to_string()),
    }
}

/// The id of a mailbox owner: a registered agent under its present or a former name, or a removed agent that still has an inbox.
pub fn mailbox(room: &Room, registry: &Registry, name: &str) -> Result<String> {
    or_removed(filtered(registry, name, None), room, registry, name)
}

fn or_removed(
    found: Result<String>,
    room: &Room,
    registry: &Registry,
    name: &str,
) -> Result<String> {
    match found {
        Err(Error::NotFound { .. })
            if id::is_name(name)
                && registry.now(name).is_none()
                && room.dir.stat(layout::inbox(name))?.is_some() =>
        {
            Ok(name.to_owned())
        }
        found => found,
    }
}
