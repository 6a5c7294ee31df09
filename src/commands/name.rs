//! Gives a session without a name the next free one of the pool.
//!
//! The pool is the registered agents of the session's role, if it has a role, and then agents that are registered for
//! sessions, with the names of the setting `names`. An agent that a person registered without that role is never taken,
//! because it may belong to a program that has not written yet.

use super::agent::{self, make_boxes, save};
use crate::base::clock::Stamp;
use crate::base::error::{Error, Result};
use crate::base::limits;
use crate::disk::{Barrier, Dir, layout};
use crate::features::claims::{Claims, owners};
use crate::query::context;
use crate::room::registry::{Agent, AgentStatus, Registry};
use crate::room::sessions::{self, CallingSession, SessionCalls, SessionLease, Takeover};
use crate::room::settings::Settings;
use crate::room::{Room, inbox};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

/// The time that the name of an ended session is kept for it while the pool has other names.
const NAME_KEPT: Duration = Duration::from_secs(86_400);
/// The number of agents that a session start searches open threads for.
const NAMES_SEARCHED: usize = 2;
/// How often a session that starts tries another name, because a session took the name in this moment.
const NAMES_TRIED: usize = 16;

/// The variable that gives sessions without a name a role.
pub const ROLE: &str = "MAILBAG_ROLE";

/// Gives a session a name that no other session has. Of several processes of the session, all get the same. `None` if
/// the client gave the session no id, the settings give no names, or the room is a copy.
pub fn give(
    room: &Room,
    caller: &CallingSession,
    role: Option<&str>,
) -> Result<Option<SessionLease>> {
    let settings = room.settings()?;
    let Some(key) = key(caller) else {
        return Ok(None);
    };
    if settings.names.is_empty() {
        return Ok(None);
    }
    // A copied room, such as a room in a cloned repository, may have the mail of a stranger.
    if room.copied()?.is_some() {
        return Ok(None);
    }
    let _held = room.lock_registry_within(limits::NAME_WAIT)?;
    if let Some(lease) =
        sessions::agent_of(room, caller)?.filter(|lease| lease.joined && !lease.ended)
    {
        return Ok(Some(lease));
    }
    let from_environment = std::env::var(ROLE).ok().filter(|role| !role.is_empty());
    let role = role.map(str::to_owned).or(from_environment);
    let mut registry = room.registry()?;
    let mut pool = NamePool::look(room, &settings, &registry)?;
    for _ in 0..NAMES_TRIED {
        let choice = pool.choose(&registry, caller, role.as_deref())?;
        if let Some(changed) = pool.registered(&registry, &choice, &key, role.as_deref())? {
            save(room, &changed)?;
            // A power cut may take its directories: they are made again when they are needed. A hook has no time to sync.
            make_boxes(
                room,
                std::slice::from_ref(&choice.name),
                &mut Barrier::new(room.dir.clone()),
            )?;
            registry = room.registry()?;
        }
        match sessions::bind(room, &choice.name, caller, Takeover::Free, sessions::JOIN) {
            // A session joined as this agent in this moment.
            Err(Error::Busy { .. }) => pool.refused.insert(choice.name),
            bound => return bound.map(Some),
        };
    }
    Err(Error::busy(
        "other sessions took every name",
        "run `mailbag join NAME` with a name of your own",
    ))
}

/// The name of a session in the registry. `None` if its client gave it no id.
pub fn key(caller: &CallingSession) -> Option<String> {
    let key = format!("{}:{}", caller.client, caller.session.as_ref()?);
    (key.len() <= limits::SESSION_KEY).then_some(key)
}

/// Returns true if this agent was registered for this session.
pub fn is_for(agent: &Agent, caller: &CallingSession) -> bool {
    is_of(agent, caller.session.as_deref())
}

/// Returns true if it was registered for the session with this id. The ids of sessions are unique; a command may not know its
/// client.
fn is_of(agent: &Agent, session: Option<&str>) -> bool {
    let id = agent
        .session
        .as_deref()
        .and_then(|key| key.split_once(':'))
        .map(|(_, id)| id);
    id.is_some() && id == session
}

/// As [`is_for`]. A tool server may know only the process of its session.
pub(super) fn given<'r>(
    room: &Room,
    registry: &'r Registry,
    caller: &CallingSession,
) -> Result<Option<&'r Agent>> {
    let lease = if caller.session.is_none() {
        sessions::agent_of(room, caller)?
    } else {
        None
    };
    let session = caller.session.clone().or_else(|| lease?.session);
    Ok(registry
        .agents()
        .iter()
        .find(|agent| is_of(agent, session.as_deref())))
}

/// The session of an agent begins again. If the agent was registered for it, groups include it again. Returns whether it was
/// registered for it.
pub fn returned(room: &Room, agent: &str, caller: &CallingSession) -> Result<bool> {
    let registry = room.registry()?;
    let Some(found) = registry.agent(agent).filter(|agent| is_for(agent, caller)) else {
        return Ok(false);
    };
    if found.is_left() {
        agent::mark(room, agent, AgentStatus::Unknown)?;
    }
    Ok(true)
}

/// A client gave its session a new id. An agent that was registered for the session before is registered for this one.
pub fn pass_on(room: &Room, before: &SessionLease, caller: &CallingSession) -> Result<()> {
    let Some(key) = key(caller) else {
        return Ok(());
    };
    if !has_old_session(&room.registry()?, before, caller) {
        return Ok(());
    }
    let _held = room.lock_registry_within(limits::NAME_WAIT)?;
    let registry = room.registry()?;
    if !has_old_session(&registry, before, caller) {
        return Ok(());
    }
    let fields = Map::from_iter([("session".to_owned(), key.into())]);
    save(
        room,
        &registry
            .set(&before.agent, &fields)
            .map_err(Error::rejected)?,
    )
}

/// Returns true if the agent is registered for the session before, and not for this one.
fn has_old_session(registry: &Registry, before: &SessionLease, caller: &CallingSession) -> bool {
    registry
        .agent(&before.agent)
        .is_some_and(|agent| is_of(agent, before.session.as_deref()) && !is_for(agent, caller))
}

/// The session of an agent has ended. If the agent was registered for it, groups no longer include it.
pub fn left(room: &Room, agent: &str, caller: &CallingSession) -> Result<()> {
    if room
        .registry()?
        .agent(agent)
        .is_some_and(|agent| is_for(agent, caller))
    {
        agent::mark(room, agent, AgentStatus::Offline)
    } else {
        Ok(())
    }
}

/// A session has joined this agent by its name. An agent that was registered for another session is no longer only for that
/// one.
pub(super) fn keep(room: &Room, agent: &str, caller: &CallingSession) -> Result<()> {
    let registry = room.registry()?;
    let is_own = given(room, &registry, caller)?.is_some_and(|given| *given.id == *agent);
    if is_own
        || registry
            .agent(agent)
            .is_none_or(|agent| agent.session.is_none())
    {
        return Ok(());
    }
    let _held = room.lock_registry_within(limits::NAME_WAIT)?;
    let mut fields = status("");
    fields.insert("session".into(), Value::Null);
    save(
        room,
        &room
            .registry()?
            .set(agent, &fields)
            .map_err(Error::rejected)?,
    )
}

/// Returns true if other agents can know the agent, because it sent or received a message.
pub(super) fn is_known(room: &Room, agent: &str) -> Result<bool> {
    let places = [
        layout::sent(agent),
        layout::seen(agent),
        layout::rejected(agent),
        layout::expired(agent),
    ];
    for place in places {
        if !is_empty(&room.dir, place)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The source of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NameSource {
    /// The session had it before.
    Own,
    /// A person registered it with the role of the session.
    Registered,
    /// Another session had it.
    Left,
    /// No agent has it.
    New,
}

struct ChosenName {
    name: String,
    origin: NameSource,
}

/// The facts that decide whether a name is free.
struct NamePool<'r> {
    room: &'r Room,
    /// The names for new agents, in this order.
    names: Vec<String>,
    leases: BTreeMap<String, SessionLease>,
    /// Agents with a running session.
    live: BTreeSet<String>,
    claims: Claims,
    calls: SessionCalls,
    searched: usize,
    refused: BTreeSet<String>,
}

impl<'r> NamePool<'r> {
    fn look(room: &'r Room, settings: &Settings, registry: &Registry) -> Result<NamePool<'r>> {
        let leases: BTreeMap<String, SessionLease> = sessions::all(room)?
            .into_iter()
            .map(|lease| (lease.agent.clone(), lease))
            .collect();
        let live = leases
            .values()
            .filter(|lease| lease.is_live(&room.dir, settings.session_lease));
        let live = live.map(|lease| lease.agent.clone()).collect();
        // A room without agents of sessions needs no look at the claims.
        let needs_claims = registry
            .agents()
            .iter()
            .any(|agent| agent.session.is_some() || agent.role.is_some());
        let claims = if needs_claims {
            // A removed agent keeps its claims until a router releases them.
            owners(&room.dir)?
        } else {
            Claims::default()
        };
        let calls = SessionCalls::of(&room.dir);
        Ok(NamePool {
            room,
            names: settings.names.clone(),
            leases,
            live,
            claims,
            calls,
            searched: 0,
            refused: BTreeSet::new(),
        })
    }

    fn choose(
        &mut self,
        registry: &Registry,
        caller: &CallingSession,
        role: Option<&str>,
    ) -> Result<ChosenName> {
        let agents = registry.agents().iter();
        let mut own = agents.clone().filter(|agent| is_for(agent, caller));
        if let Some(own) = own.find(|agent| !self.is_refused(agent)) {
            return Ok(ChosenName {
                name: own.id.to_string(),
                origin: NameSource::Own,
            });
        }
        let of_role = agents.clone().filter(|agent| {
            let has_role = role.is_some() && agent.role.as_deref() == role;
            has_role && agent.session.is_none()
        });
        if let Some(name) = self.first_free(of_role)? {
            return Ok(ChosenName {
                name,
                origin: NameSource::Registered,
            });
        }
        let mut left: Vec<&Agent> = agents.filter(|agent| agent.session.is_some()).collect();
        left.sort_by_key(|agent| self.last(agent));
        let kept = Stamp::from_micros(Stamp::now().micros() - NAME_KEPT.as_micros() as i64);
        let mut old = left.clone();
        old.retain(|agent| self.last(agent).is_none_or(|last| last < kept));
        if let Some(name) = self.first_free(old)? {
            return Ok(ChosenName {
                name,
                origin: NameSource::Left,
            });
        }
        if let Some(name) = self
            .names
            .iter()
            .find(|name| !self.refused.contains(*name) && is_unused(self.room, registry, name))
        {
            return Ok(ChosenName {
                name: name.clone(),
                origin: NameSource::New,
            });
        }
        if let Some(name) = self.first_free(left)? {
            return Ok(ChosenName {
                name,
                origin: NameSource::Left,
            });
        }
        let numbered =
            (2u64..).flat_map(|n| self.names.iter().map(move |name| format!("{name}{n}")));
        let mut free = numbered
            .filter(|name| !self.refused.contains(name) && is_unused(self.room, registry, name));
        free.next()
            .map(|name| ChosenName {
                name,
                origin: NameSource::New,
            })
            .ok_or_else(|| {
                Error::busy(
                    "every name is in use",
                    "run `mailbag join NAME` with a name of your own",
                )
            })
    }

    /// The registry with the choice, and without the agents of ended sessions in groups. `None` if nothing changes.
    fn registered(
        &self,
        registry: &Registry,
        choice: &ChosenName,
        key: &str,
        role: Option<&str>,
    ) -> Result<Option<Registry>> {
        let name = &choice.name;
        let mut changes: Vec<(String, Map<String, Value>)> = registry
            .agents()
            .iter()
            .filter(|agent| *agent.id != **name && self.is_over(agent))
            .map(|agent| (agent.id.to_string(), status("offline")))
            .collect();
        let (mut changed, mut is_changed) = (registry.clone(), false);
        match choice.origin {
            NameSource::Registered => {}
            NameSource::New => {
                let agent = Agent {
                    role: role.map(str::to_owned),
                    session: Some(key.to_owned()),
                    ..Agent::new(name)
                };
                changed = changed.add(agent).map_err(Error::rejected)?;
                is_changed = true;
            }
            NameSource::Own if registry.agent(name).is_some_and(|agent| !agent.is_left()) => {}
            NameSource::Own => changes.push((name.clone(), status(""))),
            NameSource::Left => {
                let mut fields = status("");
                fields.insert("session".into(), key.into());
                fields.insert("role".into(), json!(role));
                changes.push((name.clone(), fields));
            }
        }
        is_changed |= !changes.is_empty();
        for (agent, fields) in changes {
            changed = changed.set(&agent, &fields).map_err(Error::rejected)?;
        }
        Ok(is_changed.then_some(changed))
    }

    fn first_free<'a>(
        &mut self,
        agents: impl IntoIterator<Item = &'a Agent>,
    ) -> Result<Option<String>> {
        for agent in agents {
            if self.is_free(agent)? {
                return Ok(Some(agent.id.to_string()));
            }
        }
        Ok(None)
    }

    /// Returns true if the agent has no mail, no claims, no open thread and no session.
    fn is_free(&mut self, agent: &Agent) -> Result<bool> {
        let id = &*agent.id;
        let is_used = agent.is_human()
            || agent.is_retired()
            || self.is_refused(agent)
            || self.live.contains(id);
        if is_used
            || self.calls.held().contains(id)
            || owns(&self.claims, id)
            || has_mail(self.room, id)?
        {
            return Ok(false);
        }
        let dir = &self.room.dir;
        if is_empty(dir, layout::sent(id))? && is_empty(dir, layout::seen(id))? {
            return Ok(true);
        }
        // The search reads the end of the log.
        self.searched += 1;
        Ok(self.searched <= NAMES_SEARCHED && !context::has_open_thread(self.room, id)?)
    }

    /// Returns true if groups include the agent of a session that has ended.
    fn is_over(&self, agent: &Agent) -> bool {
        agent.session.is_some()
            && agent.status == AgentStatus::Unknown
            && self
                .leases
                .get(&*agent.id)
                .is_none_or(|lease| lease.ended || lease.is_gone(&self.room.dir))
    }

    fn is_refused(&self, agent: &Agent) -> bool {
        self.refused.contains(&*agent.id)
    }

    fn last(&self, agent: &Agent) -> Option<Stamp> {
        self.leases.get(&*agent.id)?.last()
    }
}

/// Returns true if the agent owns work, or takes part in an offer.
pub(super) fn owns(claims: &Claims, agent: &str) -> bool {
    claims.of(agent).next().is_some()
        || claims
            .offered()
            .iter()
            .any(|one| *one.from == *agent || *one.to == *agent)
}

/// Returns true if there is a file to send or unread mail, even if it is in `taken/`.
pub(super) fn has_mail(room: &Room, agent: &str) -> Result<bool> {
    let (_, unread) = inbox::newest(&room.dir, agent, 0)?;
    Ok(unread > 0
        || !is_empty(&room.dir, layout::taken(agent))?
        || !is_empty(&room.dir, layout::outbox(agent))?)
}

fn is_empty(room: &Dir, directory: PathBuf) -> Result<bool> {
    match room.sub_if_exists(directory)? {
        Some(dir) => Ok(dir.list()?.next().transpose()?.is_none()),
        None => Ok(true),
    }
}

/// Returns true if no agent has this name, and no mail of a former agent with this name is left.
fn is_unused(room: &Room, registry: &Registry, name: &str) -> bool {
    registry.next_free_name(&[name.to_owned()]).is_some()
        && registry.lane(name).is_none()
        && registry.role_named(name).is_none()
        && matches!(room.dir.stat(layout::inbox(name)), Ok(None))
        && matches!(room.dir.stat(layout::outbox(name)), Ok(None))
}

fn status(word: &str) -> Map<String, Value> {
    let value = if word.is_empty() {
        Value::Null
    } else {
        word.into()
    };
    Map::from_iter([("status".to_owned(), value)])
}
