//! Agents in the registry: add, change, remove and list.

use crate::base::error::{Error, Problem, Result, did_you_mean};
use crate::base::text::{listed, quoted};
use crate::disk::{Barrier, layout};
use crate::log::state::{self, OpenQuestion};
use crate::message::id;
use crate::room::actor::require_person;
use crate::room::registry::{Agent, AgentStatus, Registry, STEWARD};
use crate::room::{Room, inbox};
use serde::Serialize;
use serde_json::{Map, Value, json};

/// Fields of an agent. `None` keeps a field, an empty text removes it.
#[derive(Debug, Default)]
pub struct AgentFields {
    /// Role.
    pub role: Option<String>,
    /// Display name; `auto` takes the next free name of the pool.
    pub name: Option<String>,
    /// Instance among several of the same role.
    pub instance: Option<String>,
    /// Description.
    pub description: Option<String>,
    /// Capabilities.
    pub capabilities: Option<Vec<String>>,
    /// Topics that it follows.
    pub topics: Option<Vec<String>>,
    /// Topics to unsubscribe from.
    pub no_topics: Vec<String>,
    /// Agent that gets its `blocked` messages.
    pub supervisor: Option<String>,
    /// Status.
    pub status: Option<AgentStatus>,
}

/// An agent filter.
#[derive(Debug, Default)]
pub struct AgentFilter {
    /// With this role.
    pub role: Option<String>,
    /// With this capability.
    pub capability: Option<String>,
    /// With this status.
    pub status: Option<AgentStatus>,
}

/// Registers agents and creates their outboxes and inboxes.
pub fn add(room: &Room, ids: &[String], fields: &AgentFields) -> Result<Vec<Agent>> {
    if ids.len() > 1 && fields.name.as_deref().is_some_and(|name| name != "auto") {
        return Err(Error::usage(
            "several agents cannot share one display name",
            "add them one by one, or give --name auto",
        ));
    }
    let _held = room.lock_registry()?;
    let registry = room.registry()?;
    let mut names = match fields.name.as_deref() {
        Some("auto") => free_names(room, &registry, ids.len())?,
        Some(name) => vec![name.to_owned()],
        None => Vec::new(),
    }
    .into_iter();
    let added: Vec<Agent> = ids
        .iter()
        .map(|id| new_agent(id, names.next(), fields))
        .collect();
    let taken: Vec<Problem> = ids.iter().filter_map(|id| taken(&registry, id)).collect();
    if !taken.is_empty() {
        return Err(Error::Rejected(taken));
    }
    let registry = registry.add_all(added.clone()).map_err(Error::rejected)?;
    for id in ids {
        refuse_rights(id, fields)?;
    }
    save(room, &registry)?;
    let mut barrier = Barrier::new(room.dir.clone());
    make_boxes(room, ids, &mut barrier)?;
    barrier.pass()?;
    Ok(added)
}

/// Only a person changes the entry of the human, or makes an agent a steward.
fn refuse_rights(id: &str, fields: &AgentFields) -> Result<()> {
    if id == id::HUMAN {
        require_person("change the entry of the human")?;
    }
    if fields
        .capabilities
        .iter()
        .flatten()
        .any(|name| name == STEWARD)
    {
        require_person("make an agent a steward")?;
    }
    Ok(())
}

/// The problem of an id that an agent or an alias has already.
fn taken(registry: &Registry, id: &str) -> Option<Problem> {
    if let Some((alias, addresses)) = registry.alias(id) {
        let what = format!("{id} is an alias of {}", listed(addresses));
        let fix = format!(
            "remove {} from \"aliases\" in registry.json first, or use another id",
            quoted(alias)
        );
        return Some(Problem::new("collision", what).fix(fix));
    }
    let agent = registry.find(id)?;
    let what = if *agent.id == *id {
        format!("{id} is registered already")
    } else {
        format!(
            "{id} is another name of agent {} (letter case is ignored)",
            agent.id
        )
    };
    let fix = format!(
        "change it with `mailbag agent set {}`, or use another id",
        agent.id
    );
    Some(Problem::new("collision", what).fix(fix))
}

/// The registered agent with this id or display name.
fn known<'r>(registry: &'r Registry, name: &str) -> Result<&'r Agent> {
    registry.find(name).ok_or_else(|| {
        Error::not_found(
            format!("no agent is called {}", quoted(name)),
            registry.did_you_mean(name),
        )
    })
}

/// The agent with this id or display name.
pub fn show(room: &Room, name: &str) -> Result<Agent> {
    let registry = room.registry()?;
    known(&registry, name).cloned()
}

/// The matching agents, in registry order.
pub fn list(room: &Room, filter: &AgentFilter) -> Result<Vec<Agent>> {
    let registry = room.registry()?;
    let mut agents = registry.agents().to_vec();
    if let Some(role) = &filter.role {
        agents.retain(|agent| agent.role.as_ref() == Some(role));
    }
    if let Some(capability) = &filter.capability {
        agents.retain(|agent| agent.capabilities.contains(capability));
    }
    if let Some(status) = filter.status {
        agents.retain(|agent| agent.status == status);
    }
    Ok(agents)
}

/// Changes an agent's fields.
pub fn set(room: &Room, name: &str, fields: &AgentFields) -> Result<Agent> {
    let topics = fields.topics.iter().flatten();
    let topics: Vec<&str> = topics
        .map(|topic| topic.trim_start_matches('#'))
        .filter(|topic| !topic.is_empty())
        .collect();
    edit(room, name, |registry, id| {
        let mut changes = fields.changes();
        if !topics.is_empty() {
            changes.remove("topics");
        }
        if fields.name.as_deref() == Some("auto") {
            let name = free_names(room, registry, 1)?.pop();
            changes.insert("name".into(), json!(name));
        }
        let is_about_topics = !topics.is_empty() || !fields.no_topics.is_empty();
        if changes.is_empty() && fields.status.is_none() && !is_about_topics {
            return Err(Error::usage(
                "no field to change",
                "pass a field, such as --role engineer; `mailbag agent set --help` lists the fields",
            ));
        }
        if id == id::HUMAN && !topics.is_empty() {
            return Err(Error::usage(
                "the human cannot follow topics",
                "`mailbag watch` shows all messages",
            ));
        }
        let mut changed = registry.set(id, &changes).map_err(Error::rejected)?;
        for topic in &topics {
            id::check_name("topic", topic)?;
            changed = changed.subscribe(id, topic).map_err(Error::rejected)?;
        }
        for topic in &fields.no_topics {
            let topic = topic.trim_start_matches('#');
            check_subscribed(&changed, id, topic)?;
            changed = changed.unsubscribe(id, topic).map_err(Error::rejected)?;
        }
        refuse_rights(id, fields)?;
        match fields.status {
            Some(AgentStatus::Retired) => changed.retire(id).map_err(Error::rejected),
            _ => Ok(changed),
        }
    })
}

/// Fails if the agent is not subscribed to this topic.
fn check_subscribed(registry: &Registry, id: &str, topic: &str) -> Result<()> {
    let agent = registry.agent(id);
    if agent.is_none_or(|agent| agent.has_topic(topic)) {
        return Ok(());
    }
    let topics = agent.map_or(&[][..], |agent| &agent.topics);
    let fix = did_you_mean(topic, topics.iter().map(String::as_str))
        .unwrap_or_else(|| "`mailbag who --topic` shows the subscriptions".into());
    Err(Error::not_found(
        format!("{id} is not subscribed to #{topic}"),
        fix,
    ))
}

/// The unread mail and the open questions of a retired agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RetiredAgentMail {
    /// The number of its unread messages.
    pub unread: usize,
    /// The open questions that it asked, or that were asked of it.
    pub questions: Vec<OpenQuestion>,
}

/// The unread mail and the open questions of this agent.
pub fn left_by(room: &Room, id: &str) -> Result<RetiredAgentMail> {
    let unread = inbox::unread_with_taken(&room.dir, id)?.len();
    let mut questions = state::committed(&room.dir)?.questions();
    questions
        .retain(|question| question.from == id || question.waiting_for.iter().any(|of| of == id));
    Ok(RetiredAgentMail { unread, questions })
}

/// Sets an agent's status for the process that runs it. A retired agent stays retired.
pub fn mark(room: &Room, id: &str, status: AgentStatus) -> Result<()> {
    let changes = Map::from_iter([("status".to_owned(), status_value(status))]);
    let _held = room.lock_registry()?;
    let registry = room.registry()?;
    if registry
        .agent(id)
        .is_none_or(|agent| !agent.is_retired() && agent.status != status)
    {
        save(room, &registry.set(id, &changes).map_err(Error::rejected)?)
    } else {
        Ok(())
    }
}

/// Removes an agent and the aliases that mean only this agent from the registry, and returns them. Its mail stays; empty
/// directories are removed.
pub fn remove(room: &Room, name: &str, force: bool) -> Result<(Agent, Vec<String>)> {
    let _held = room.lock_registry()?;
    let registry = room.registry()?;
    let agent = known(&registry, name)?.clone();
    let aliases = registry.former(&agent.id);
    let changed = registry
        .remove(&agent.id)
        .and_then(|registry| registry.without_aliases(&aliases))
        .map_err(Error::rejected)?;
    if !force {
        refuse_with_mail(room, &agent.id)?;
    }
    save(room, &changed)?;
    for directory in [
        layout::outbox(&agent.id),
        layout::seen(&agent.id),
        layout::inbox(&agent.id),
    ] {
        room.dir.remove_empty(directory)?;
    }
    Ok((agent, aliases))
}

impl AgentFields {
    /// As registry fields, `null` for removed ones, without the status `retired`.
    fn changes(&self) -> Map<String, Value> {
        let status = self.status.filter(|status| *status != AgentStatus::Retired);
        let changes = [
            ("role", self.role.as_deref().map(text_value)),
            ("name", self.name.as_deref().map(text_value)),
            ("instance", self.instance.as_deref().map(text_value)),
            ("description", self.description.as_deref().map(text_value)),
            ("capabilities", self.capabilities.as_deref().map(list_value)),
            ("topics", self.topics.as_deref().map(list_value)),
            ("supervisor", self.supervisor.as_deref().map(text_value)),
            ("status", status.map(status_value)),
        ];
        changes
            .into_iter()
            .filter_map(|(key, value)| Some((key.to_owned(), value?)))
            .collect()
    }
}

fn text_value(text: &str) -> Value {
    if text.is_empty() {
        Value::Null
    } else {
        json!(text)
    }
}

fn list_value(list: &[String]) -> Value {
    let list: Vec<&String> = list.iter().filter(|item| !item.is_empty()).collect();
    if list.is_empty() {
        Value::Null
    } else {
        json!(list)
    }
}

/// The value of the field `status`: null if it is unknown.
pub(super) fn status_value(status: AgentStatus) -> Value {
    match status {
        AgentStatus::Unknown => Value::Null,
        status => json!(status.as_str()),
    }
}

fn new_agent(id: &str, name: Option<String>, fields: &AgentFields) -> Agent {
    let mut agent = Agent::new(id);
    agent.name = name;
    agent.role = non_empty(&fields.role);
    agent.instance = non_empty(&fields.instance);
    agent.description = non_empty(&fields.description);
    agent.capabilities = fields.capabilities.clone().unwrap_or_default();
    agent.topics = fields.topics.clone().unwrap_or_default();
    agent.supervisor = non_empty(&fields.supervisor);
    agent.status = fields.status.unwrap_or_default();
    agent
}

fn non_empty(text: &Option<String>) -> Option<String> {
    text.clone().filter(|text| !text.is_empty())
}

/// The next free display names of the pool.
fn free_names(room: &Room, registry: &Registry, count: usize) -> Result<Vec<String>> {
    let pool = room.settings()?.names;
    let free: Vec<String> = pool
        .iter()
        .filter(|name| {
            registry
                .next_free_name(std::slice::from_ref(*name))
                .is_some()
        })
        .take(count)
        .cloned()
        .collect();
    if free.len() < count {
        return Err(Error::usage(
            format!(
                "cannot assign {count} display names: the pool has {} free",
                free.len()
            ),
            "add names to `names` in settings.toml, or omit --name",
        ));
    }
    Ok(free)
}

/// Creates outboxes and inboxes, durable at the next barrier.
pub(super) fn make_boxes(room: &Room, ids: &[String], barrier: &mut Barrier) -> Result<()> {
    for id in ids {
        for directory in [layout::outbox(id), layout::seen(id)] {
            room.dir.make_with(&directory, barrier)?;
        }
    }
    Ok(())
}

fn edit(
    room: &Room,
    name: &str,
    change: impl FnOnce(&Registry, &str) -> Result<Registry>,
) -> Result<Agent> {
    let _held = room.lock_registry()?;
    let registry = room.registry()?;
    let id = known(&registry, name)?.id.clone();
    let changed = change(&registry, &id)?;
    save(room, &changed)?;
    Ok(changed
        .agent(&id)
        .cloned()
        .unwrap_or_else(|| Agent::new(&id)))
}

pub(super) fn save(room: &Room, registry: &Registry) -> Result<()> {
    room.dir
        .replace(layout::REGISTRY, registry.to_json().as_bytes())
}

fn refuse_with_mail(room: &Room, id: &str) -> Result<()> {
    let unread = inbox::unread_with_taken(&room.dir, id)?.len();
    let mut waiting = 0;
    if let Some(outbox) = room.dir.sub_if_exists(layout::outbox(id))? {
        for entry in outbox.list()? {
            waiting += usize::from(layout::is_message_file(&entry?.name));
        }
    }
    if unread + waiting == 0 {
        return Ok(());
    }
    let what = match waiting {
        0 => format!(
            "{id} has {unread} unread in {}",
            layout::inbox(id).display()
        ),
        _ => format!(
            "{id} has {unread} unread and {waiting} not yet routed in {}",
            layout::outbox(id).display()
        ),
    };
    let fix = format!(
        "read the mail, run `mailbag agent set {id} --status retired`, or pass --force (the files stay)"
    );
    Err(Error::Rejected(vec![
        Problem::new("has_mail", what).fix(fix),
    ]))
}
