//! `registry.json`: the agents, with all indexes for addresses.
//!
//! A [`Registry`] is always valid. Reading reports the first problem, and an edit returns a new registry after the same
//! checks. The text of the file is kept, so that unknown fields and the order of entries
//! survive every edit.

mod added;
mod edit;
mod groups;
mod read;
#[cfg(test)]
mod tests;

use crate::base::error::{Problem, did_you_mean, nearest};
use crate::base::json_text::parse_word;
use crate::base::lookalike::name_skeleton;
use crate::message::id;
pub use added::{AddressKind, Lane, OtherRooms};
use groups::AgentGroups;
use read::{
    read_id, read_instance, read_name, read_session, read_status, read_text, read_word, read_words,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// The agents that can send and receive messages.
#[derive(Debug, Clone)]
pub struct Registry {
    /// The text of the file, to edit it.
    text: Arc<str>,
    agents: Vec<Agent>,
    aliases: BTreeMap<String, Vec<String>>,
    /// The lanes. They are also names.
    lanes: Arc<[Lane]>,
    rooms: Arc<OtherRooms>,
    index: RegistryIndex,
}

/// An agent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Agent {
    /// The name of its outbox and inbox.
    #[serde(deserialize_with = "read_id")]
    pub id: Arc<str>,
    /// Its role, such as `engineer`.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "read_word"
    )]
    pub role: Option<String>,
    /// Its display name: ASCII letters.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "read_name"
    )]
    pub name: Option<String>,
    /// Its instance, among agents of the same role.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "read_instance"
    )]
    pub instance: Option<String>,
    /// Its purpose, in a sentence.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "read_text"
    )]
    pub description: Option<String>,
    /// Its capabilities, for `cap:…`.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "read_words"
    )]
    pub capabilities: Vec<String>,
    /// Its subscribed topics, for `#…`.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "read_words"
    )]
    pub topics: Vec<String>,
    /// Its status.
    #[serde(
        default,
        skip_serializing_if = "AgentStatus::is_unknown",
        deserialize_with = "read_status"
    )]
    pub status: AgentStatus,
    /// The agent or person that is notified when it is stuck.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "read_word"
    )]
    pub supervisor: Option<String>,
    /// The session that mailbag registered it for, as `<client>:<id>`. A person or a program registered all others.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "read_session"
    )]
    pub session: Option<String>,
    /// Fields that this version does not know.
    #[serde(flatten, skip_deserializing)]
    pub rest: Map<String, Value>,
}

/// The capability to release the claims of other agents.
pub const STEWARD: &str = "steward";

/// The status of an agent. Only [`AgentStatus::Retired`] has an effect on delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AgentStatus {
    /// Running and listening.
    Online,
    /// Running without work.
    Idle,
    /// Running and working.
    Busy,
    /// Not running. Its mail stays in its inbox.
    Offline,
    /// Removed from service. It cannot receive messages.
    Retired,
    /// The registry has no status for it.
    #[default]
    #[serde(skip)]
    Unknown,
}

/// Indexes of positions in [`Registry::agents`]. Groups do not include the human, retired agents, and agents of sessions
/// that have ended.
#[derive(Debug, Clone, Default)]
struct RegistryIndex {
    ids: HashMap<Arc<str>, u32>,
    /// Ids, display names and aliases by their skeletons: names that look the same have one owner.
    names: HashMap<String, NamedEntry>,
    everybody: Vec<u32>,
    roles: AgentGroups,
    capabilities: AgentGroups,
    topics: AgentGroups,
}

/// An id, a display name or an alias.
#[derive(Debug, Clone)]
struct NamedEntry {
    /// The name as the file has it.
    name: String,
    /// Its place in the file, such as `/agents/3/id`.
    place: String,
    /// The position of the agent. `None` for an alias.
    agent: Option<u32>,
}

impl Registry {
    /// Reads `registry.json`, or returns the first problem of the file.
    ///
    /// ```
    /// use mailbag::room::registry::Registry;
    ///
    /// let file = br#"{"version": 1, "agents": [{"id": "bob", "role": "tester", "name": "Porto"}]}"#;
    /// let registry = Registry::parse(file).expect("a valid registry");
    /// assert_eq!(registry.find("@porto").map(|agent| &*agent.id), Some("bob"));
    /// assert_eq!(registry.roles()["tester"], 1);
    ///
    /// let problem = Registry::parse(br#"{"version": 1, "agents": [{"id": ".."}]}"#).expect_err("an invalid id");
    /// assert!(problem.to_string().contains("agents[0].id"));
    /// ```
    pub fn parse(bytes: &[u8]) -> Result<Registry, Box<Problem>> {
        read::registry(bytes)
    }

    /// A registry that contains only the human.
    pub fn empty() -> Registry {
        let document = Map::from_iter([
            ("version".into(), json!(1)),
            ("agents".into(), json!([{"id": id::HUMAN}])),
        ]);
        edit::read_edited(&document).expect("the human is a valid agent")
    }

    /// All agents in the order of the file. A human that is not in the file is the last one.
    pub fn agents(&self) -> &[Agent] {
        &self.agents
    }

    /// The agent with this exact id.
    pub fn agent(&self, id: &str) -> Option<&Agent> {
        self.position(id).map(|at| self.at(at))
    }

    /// Returns true if an agent has this exact id and is not retired.
    pub fn has_active(&self, id: &str) -> bool {
        self.agent(id).is_some_and(|agent| !agent.is_retired())
    }

    /// The agent with this id or display name in any letter case; a leading `@` is allowed.
    pub fn find(&self, word: &str) -> Option<&Agent> {
        let word = word.strip_prefix('@').unwrap_or(word);
        self.find_position(word).map(|at| self.at(at))
    }

    /// The aliases with their addresses.
    pub fn aliases(&self) -> &BTreeMap<String, Vec<String>> {
        &self.aliases
    }

    /// The same registry, with these lanes.
    pub fn with_lanes(self, lanes: Arc<[Lane]>) -> Registry {
        Registry { lanes, ..self }
    }

    /// The same registry, with these other rooms.
    pub fn with_rooms(self, rooms: Arc<OtherRooms>) -> Registry {
        Registry { rooms, ..self }
    }

    /// The other rooms, and the addresses that their mail may have.
    pub fn rooms(&self) -> &Arc<OtherRooms> {
        &self.rooms
    }

    /// The tag of another room, by the tag in any letter case.
    pub fn room(&self, tag: &str) -> Option<&str> {
        self.rooms
            .keys()
            .find(|link| link.eq_ignore_ascii_case(tag))
            .map(String::as_str)
    }

    /// The names for several addresses.
    pub fn lanes(&self) -> &Arc<[Lane]> {
        &self.lanes
    }

    /// The lane with this name in any letter case.
    pub fn lane(&self, name: &str) -> Option<&Lane> {
        self.lanes
            .iter()
            .find(|lane| lane.name.eq_ignore_ascii_case(name))
    }

    /// The roles, each with the number of its agents that are not retired.
    pub fn roles(&self) -> BTreeMap<&str, usize> {
        self.index
            .roles
            .iter()
            .map(|(role, members)| (role, members.len()))
            .collect()
    }

    /// The text of the file, with order and unknown fields kept. The text of an edited registry is formatted.
    pub fn to_json(&self) -> &str {
        &self.text
    }

    /// The position of the agent with this exact id.
    pub fn position(&self, id: &str) -> Option<u32> {
        self.index.ids.get(id).copied()
    }

    /// The agent at a position in this registry.
    pub fn at(&self, position: u32) -> &Agent {
        &self.agents[position as usize]
    }

    /// The positions of all agents except the human and retired agents.
    pub fn everybody(&self) -> &[u32] {
        &self.index.everybody
    }

    /// The positions of the agents with a role, without the human and retired agents. `None` if no agent has the role.
    pub fn with_role(&self, role: &str) -> Option<&[u32]> {
        self.index.roles.members(role)
    }

    /// The role that a word means, in the singular or the plural, with the positions of its agents.
    pub fn role_named<'t>(&self, word: &'t str) -> Option<(&'t str, &[u32])> {
        self.index.roles.named(word)
    }

    /// The positions of the agents with a capability, without the human and retired agents. `None` if no agent has the
    /// capability.
    pub fn with_capability(&self, capability: &str) -> Option<&[u32]> {
        self.index.capabilities.members(capability)
    }

    /// The positions of a topic's subscribers, without the human and retired agents.
    pub fn with_topic(&self, topic: &str) -> &[u32] {
        self.index.topics.members(topic).unwrap_or_default()
    }

    /// The topics with subscribers, each with its name as the first agent writes it, and with the positions of its subscribers.
    pub fn topics(&self) -> impl Iterator<Item = (&str, &[u32])> {
        let all = self.index.topics.iter();
        all.filter(|(_, subscribers)| !subscribers.is_empty())
    }

    /// All capabilities in the registry.
    pub fn capabilities(&self) -> impl Iterator<Item = &str> {
        self.index.capabilities.iter().map(|(name, _)| name)
    }

    /// A hint for an unknown name: the most similar names, or the command that lists all.
    pub fn did_you_mean(&self, word: &str) -> String {
        did_you_mean(word, self.similar_names(word))
            .unwrap_or_else(|| "run `mailbag agent list` to list the registered agents".to_owned())
    }

    /// The names that are most similar to an unknown name, best first.
    pub(crate) fn similar_names(&self, word: &str) -> Vec<&str> {
        // Comparing names is slow, and lengths that differ by more cannot match.
        let far = word.len() / 3 + 1;
        let living = self.agents.iter().filter(|a| !a.is_retired());
        let names = living
            .flat_map(|a| [Some(&*a.id), a.name.as_deref()])
            .flatten();
        let aliases = self.aliases.keys().map(String::as_str);
        let lanes = self.lanes.iter().map(|lane| lane.address.as_str());
        let near = names.chain(aliases).chain(lanes).filter(|name| {
            name.len().abs_diff(word.len()) <= far || name.contains(word) || word.contains(name)
        });
        nearest(word, near)
    }

    /// An alias in any letter case, with its addresses.
    pub(crate) fn alias(&self, word: &str) -> Option<(&str, &[String])> {
        let exact = self.aliases.get_key_value(word);
        let found = exact.or_else(|| {
            let entry = self.entry(word)?;
            if entry.agent.is_some() || !entry.name.eq_ignore_ascii_case(word) {
                return None;
            }
            self.aliases.get_key_value(&entry.name)
        });
        found.map(|(alias, addresses)| (alias.as_str(), addresses.as_slice()))
    }

    /// Returns true if no agent, display name or alias has this name or looks like it.
    pub fn is_free(&self, name: &str) -> bool {
        self.entry(name).is_none()
    }

    /// The agent that has this id now: the agent itself, or the only one that an alias in its place means.
    pub fn now(&self, id: &str) -> Option<&Agent> {
        let mut name = id;
        for _ in 0..=self.aliases.len() {
            if let Some(agent) = self.agent(name) {
                return Some(agent);
            }
            let [address] = self.aliases.get(name)?.as_slice() else {
                return None;
            };
            name = address.strip_prefix('@').unwrap_or(address);
        }
        None
    }

    /// The former names of an agent: aliases that now mean only this agent.
    pub fn former(&self, id: &str) -> Vec<String> {
        let is_former = |alias: &&String| self.now(alias).is_some_and(|agent| *agent.id == *id);
        self.aliases.keys().filter(is_former).cloned().collect()
    }

    /// By id or display name in any letter case.
    pub(crate) fn find_position(&self, word: &str) -> Option<u32> {
        self.position(word).or_else(|| {
            let at = self.entry(word)?.agent?;
            self.at(at).is_named(word).then_some(at)
        })
    }

    fn entry(&self, name: &str) -> Option<&NamedEntry> {
        self.index.names.get(&name_skeleton(name))
    }
}

impl Agent {
    /// An agent with only an id.
    pub fn new(id: &str) -> Agent {
        Agent {
            id: id.into(),
            ..Agent::default()
        }
    }

    /// Returns true if it is retired.
    pub fn is_retired(&self) -> bool {
        self.status == AgentStatus::Retired
    }

    /// Returns true if it was registered for a session that has ended. Mail to its name reaches it, and mail to groups
    /// does not.
    pub fn is_left(&self) -> bool {
        self.session.is_some() && self.status == AgentStatus::Offline
    }

    /// Returns true if this is its id or display name in any letter case.
    fn is_named(&self, word: &str) -> bool {
        self.names()
            .any(|(_, name)| name.eq_ignore_ascii_case(word))
    }

    /// Its id and its display name, each with its key.
    fn names(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let name = self.name.as_deref().map(|name| ("name", name));
        std::iter::once(("id", &*self.id)).chain(name)
    }

    /// Returns true if it may release the claims of other agents.
    pub fn is_steward(&self) -> bool {
        self.capabilities.iter().any(|name| name == STEWARD)
    }

    /// Returns true if it is subscribed to this topic.
    pub fn has_topic(&self, topic: &str) -> bool {
        self.topics
            .iter()
            .any(|one| one.eq_ignore_ascii_case(topic))
    }

    /// Returns true for the human.
    pub fn is_human(&self) -> bool {
        &*self.id == id::HUMAN
    }
}

impl AgentStatus {
    /// Every status that the registry accepts.
    pub const ALL: [AgentStatus; 5] = [
        AgentStatus::Online,
        AgentStatus::Idle,
        AgentStatus::Busy,
        AgentStatus::Offline,
        AgentStatus::Retired,
    ];

    /// The word in the file. `unknown` is an absent status.
    pub fn as_str(self) -> &'static str {
        match self {
            AgentStatus::Online => "online",
            AgentStatus::Idle => "idle",
            AgentStatus::Busy => "busy",
            AgentStatus::Offline => "offline",
            AgentStatus::Retired => "retired",
            AgentStatus::Unknown => "unknown",
        }
    }

    fn is_unknown(&self) -> bool {
        *self == AgentStatus::Unknown
    }

    /// Reads the word in the file.
    pub fn parse(word: &str) -> Option<AgentStatus> {
        parse_word(word)
    }
}
