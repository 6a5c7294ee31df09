//! Reading and checking a registry.

use super::{Agent, AgentStatus, NamedEntry, Registry, RegistryIndex};
use crate::base::error::{Problem, in_words};
use crate::base::limits;
use crate::base::lookalike::name_skeleton;
use crate::base::sanitize;
use crate::message::address::{self, Address, is_display_name, quoted};
use crate::message::id;
use crate::message::schema::{self, ParsedFile};
use crate::room::checked::{checked, wanted};
use serde::Deserialize;
use serde_json::{Map, Value};
use serde_path_to_error::Segment;
use std::collections::BTreeMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

type Result<T> = std::result::Result<T, Box<Problem>>;

/// The known parts of the file.
#[derive(Deserialize)]
struct RegistryFile {
    #[serde(default, rename = "version", deserialize_with = "read_version")]
    _version: Option<u64>,
    agents: Vec<Agent>,
    #[serde(default)]
    aliases: BTreeMap<String, AliasTargets>,
}

/// One address, or an array of addresses.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected an address, or an array of addresses")]
enum AliasTargets {
    One(String),
    Several(Vec<String>),
}

impl From<AliasTargets> for Vec<String> {
    fn from(targets: AliasTargets) -> Vec<String> {
        match targets {
            AliasTargets::One(target) => vec![target],
            AliasTargets::Several(targets) => targets,
        }
    }
}

/// A text, or a whole number.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum InstanceValue {
    Text(String),
    Number(i64),
}

impl From<InstanceValue> for Option<String> {
    fn from(instance: InstanceValue) -> Option<String> {
        Some(match instance {
            InstanceValue::Text(text) => text,
            InstanceValue::Number(number) => number.to_string(),
        })
    }
}

const WORD: &str = "a name of 1 to 64 letters, digits, . _ - that begins with a letter or digit";

checked! {
    read_version: u64, |version| *version == 1, "1, the only version of this format";
    read_id: String, |id| id::is_name(id), WORD;
    read_word: String, |word| id::is_name(word), WORD;
    read_words: Vec<String>, |words| words.iter().all(|word| id::is_name(word)), format!("an array, each {WORD}");
    read_name: String, |name| is_display_name(name), format!("1 to {} ASCII letters", limits::DISPLAY_NAME);
    read_text: String, |_| true, "a text";
    read_instance: InstanceValue, |_| true, "a text or a whole number";
    read_session: String, |key| (1..=limits::SESSION_KEY).contains(&key.len()), "a text such as \"claude:0199a2b3\"";
    read_status: AgentStatus, |_| true, format!("one of {}", AgentStatus::ALL.map(AgentStatus::as_str).join(", "));
}

/// The JSON of the file, if it is JSON and an object.
pub(super) fn document(bytes: &[u8]) -> Result<Map<String, Value>> {
    let value = match schema::parse(bytes) {
        ParsedFile::Value(value) => value,
        // serde_json keeps one of two equal keys, so an agent could disappear unnoticed.
        ParsedFile::Bad(problem) if problem.code == "duplicate_key" => {
            return Err(Box::new(problem));
        }
        // Unknown fields may have values that a message cannot have.
        _ => serde_json::from_slice(bytes).map_err(|e| not_json(&e))?,
    };
    match value {
        Value::Object(mut document) => {
            let agents = document.get_mut("agents").and_then(Value::as_array_mut);
            for agent in agents.into_iter().flatten() {
                use_own_keys(agent);
            }
            Ok(document)
        }
        _ => {
            let problem = Problem::new("bad_registry", "registry.json contains no JSON object");
            let fix = r#"write {"version": 1, "agents": []}, or restore the file from a backup"#;
            Err(Box::new(problem.fix(fix)))
        }
    }
}

/// Other names of an agent's keys, as agent systems write them.
const DIALECT: [(&str, &str); 3] = [
    ("agent_id", "id"),
    ("role_name", "role"),
    ("instance_number", "instance"),
];

/// Gives the keys of an agent their own names, in their order.
fn use_own_keys(agent: &mut Value) {
    let Value::Object(fields) = agent else { return };
    let is_own = |key: &str| fields.contains_key(key);
    let known = DIALECT.map(|(other, own)| (other, own, is_own(own)));
    let renamed = std::mem::take(fields).into_iter().map(|(key, value)| {
        let own = known
            .iter()
            .find(|(other, _, is_taken)| *other == key && !is_taken);
        (own.map_or(key, |(_, own, _)| (*own).to_owned()), value)
    });
    *fields = renamed.collect();
}

/// Reads the text of a registry.
pub(super) fn registry(bytes: &[u8]) -> Result<Registry> {
    let document = document(bytes)?;
    check_keys(&document)?;
    let document = Value::Object(document);
    let file: RegistryFile =
        serde_path_to_error::deserialize(&document).map_err(|e| misfit(&document, &e))?;
    let (mut agents, mut aliases) = (file.agents, BTreeMap::new());
    for (n, agent) in agents.iter_mut().enumerate() {
        agent.rest = document["agents"][n]
            .as_object()
            .cloned()
            .unwrap_or_default();
        agent
            .rest
            .retain(|key, _| !AGENT_KEYS.contains(&key.as_str()));
    }
    for (alias, targets) in file.aliases {
        let targets: Vec<String> = targets.into();
        check_alias(&alias, &targets)?;
        aliases.insert(alias, targets);
    }
    if !agents.iter().any(Agent::is_human) {
        agents.push(Agent::new(id::HUMAN));
    }
    let registry = Registry {
        text: String::from_utf8_lossy(bytes).into(),
        index: RegistryIndex::new(&agents, &aliases)?,
        agents,
        aliases,
        lanes: Arc::default(),
        rooms: Arc::default(),
    };
    registry.check_roles()?;
    Ok(registry)
}

/// The longest invalid value that is shown.
const VALUE_SHOWN: usize = 60;

/// The keys of the file, and of an agent.
const TOP_KEYS: [&str; 3] = ["version", "agents", "aliases"];
const AGENT_KEYS: [&str; 10] = [
    "id",
    "role",
    "name",
    "instance",
    "description",
    "capabilities",
    "topics",
    "status",
    "supervisor",
    "session",
];

/// Other names of keys that are further away, without `_` and `-`.
const OTHER_KEYS: [(&str, &str); 6] = [
    ("type", "role"),
    ("rol", "role"),
    ("capability", "capabilities"),
    ("caps", "capabilities"),
    ("displayname", "name"),
    ("alias", "aliases"),
];

/// Fails for a key that is nearly a known one. Other keys are the person's own.
fn check_keys(document: &Map<String, Value>) -> Result<()> {
    for key in document.keys() {
        check_key("", key, &TOP_KEYS)?;
    }
    let agents = document.get("agents").and_then(Value::as_array);
    for (n, agent) in agents.into_iter().flatten().enumerate() {
        for key in agent.as_object().into_iter().flat_map(Map::keys) {
            check_key(&format!("/agents/{n}"), key, &AGENT_KEYS)?;
        }
    }
    Ok(())
}

fn check_key(above: &str, key: &str, known: &[&str]) -> Result<()> {
    if known.contains(&key) || ["x-", "x_", "_"].iter().any(|start| key.starts_with(start)) {
        return Ok(());
    }
    let folded = key.replace(['_', '-'], "").to_ascii_lowercase();
    let other = OTHER_KEYS.iter().find(|(name, _)| *name == folded);
    let is_near = |known: &&&str| {
        strsim::osa_distance(&folded, known) <= usize::from(known.len() > 3)
            || other.is_some_and(|(_, other)| other == *known)
    };
    let Some(near) = known.iter().find(is_near) else {
        return Ok(());
    };
    let what = format!("{} is not a key of the registry", quoted(key));
    let fix = format!("write {near} instead; put data of your own under another name");
    let place = format!("{above}/{}", escaped(key));
    Err(Box::new(
        Problem::new("misnamed_field", what).at(place).fix(fix),
    ))
}

fn check_alias(alias: &str, targets: &[String]) -> Result<()> {
    let place = format!("/aliases/{}", escaped(alias));
    let wrong = |what: &str, fix: &str| {
        let problem = Problem::new("bad_registry", what).at(place.as_str());
        Err(Box::new(problem.fix(format!("give {fix}"))))
    };
    if !id::is_name(alias) {
        return wrong("the name of the alias is invalid", WORD);
    }
    if targets.is_empty() {
        return wrong("[] is not valid", "an address, or an array of addresses");
    }
    for target in targets {
        Address::parse(target).map_err(|problem| problem.at(place.as_str()))?;
    }
    Ok(())
}

/// The problem of a value that the registry cannot have.
fn misfit(document: &Value, error: &serde_path_to_error::Error<serde_json::Error>) -> Box<Problem> {
    let mut place = String::new();
    for segment in error.path() {
        match segment {
            Segment::Seq { index } => place += &format!("/{index}"),
            Segment::Map { key } => place += &format!("/{}", escaped(key)),
            Segment::Enum { .. } | Segment::Unknown => {}
        }
    }
    let message = error.inner().to_string();
    let (what, fix) = match (
        message.strip_prefix("missing field "),
        document.pointer(&place),
    ) {
        (Some(field), _) => (format!("the key {field} is missing"), "add it".to_owned()),
        (None, value) => {
            let value = value.map(Value::to_string).unwrap_or_default();
            let shown = sanitize::line(&value);
            let shown: String = shown.chars().take(VALUE_SHOWN).collect();
            (
                format!("{shown} is not valid"),
                format!("give {}", wanted(&message)),
            )
        }
    };
    Box::new(Problem::new("bad_registry", what).at(place).fix(fix))
}

fn not_json(error: &serde_json::Error) -> Box<Problem> {
    let place = format!("line {} column {}", error.line(), error.column());
    let text = error.to_string();
    let said = text.split(" at line ").next().unwrap_or_default();
    let problem = Problem::new(
        "not_json",
        format!("registry.json is not JSON here: {said}"),
    );
    Box::new(
        problem
            .at(place)
            .fix("correct it, or restore it from a backup"),
    )
}

/// A key as a part of a JSON pointer.
fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

fn position(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

impl RegistryIndex {
    /// Builds the indexes. Fails for a reserved name, and for a name that two entries use.
    fn new(agents: &[Agent], aliases: &BTreeMap<String, Vec<String>>) -> Result<RegistryIndex> {
        let mut index = RegistryIndex::default();
        for (n, agent) in agents.iter().enumerate() {
            check_human(agent, n)?;
            index.ids.insert(agent.id.clone(), position(n));
            index.add_to_groups(agent, position(n));
        }
        for entry in entries(agents, aliases) {
            let agent = entry.agent.map(|at| &agents[at as usize]);
            let is_human = agent.is_some_and(Agent::is_human) && entry.name == id::HUMAN;
            if let Some(word) = address::reserved(&entry.name)
                && !is_human
            {
                let what = format!("{entry} uses the reserved word `{word}`, or looks like it");
                let problem = Problem::new("reserved_name", what).at(entry.place);
                return Err(Box::new(problem.fix("use another name")));
            }
            index.add_name(entry)?;
        }
        Ok(index)
    }

    /// Assigns a name to an entry. Fails if another entry has a name that looks the same.
    fn add_name(&mut self, entry: NamedEntry) -> Result<()> {
        let first = match self.names.entry(name_skeleton(&entry.name)) {
            Entry::Vacant(free) => {
                free.insert(entry);
                return Ok(());
            }
            Entry::Occupied(taken) => taken.into_mut(),
        };
        // An agent's display name may look like its own id.
        if first.agent.is_some() && first.agent == entry.agent {
            return Ok(());
        }
        let how = if first.name.eq_ignore_ascii_case(&entry.name) {
            "have the same name (letter case is ignored)"
        } else {
            "have names that look the same"
        };
        let problem = Problem::new("collision", format!("{first} and {entry} {how}"));
        let fix = "rename one of them; some file systems ignore letter case";
        Err(Box::new(problem.at(entry.place).fix(fix)))
    }

    fn add_to_groups(&mut self, agent: &Agent, at: u32) {
        let counts = !agent.is_human() && !agent.is_retired() && !agent.is_left();
        let member = counts.then_some(at);
        join(&mut self.everybody, member);
        // A group without an active member is known, but empty.
        if let Some(role) = &agent.role
            && !agent.is_human()
        {
            join(self.roles.group(role), member);
        }
        for capability in &agent.capabilities {
            join(self.capabilities.group(capability), member);
        }
        for topic in &agent.topics {
            join(self.topics.group(topic), member);
        }
    }
}

fn join(group: &mut Vec<u32>, member: Option<u32>) {
    if member.is_some_and(|at| group.last() != Some(&at)) {
        group.extend(member);
    }
}

/// All names, in the order of the file.
fn entries<'a>(
    agents: &'a [Agent],
    aliases: &'a BTreeMap<String, Vec<String>>,
) -> impl Iterator<Item = NamedEntry> + use<'a> {
    let of_agents = agents.iter().enumerate().flat_map(|(n, agent)| {
        agent.names().map(move |(key, name)| NamedEntry {
            name: name.to_owned(),
            place: format!("/agents/{n}/{key}"),
            agent: Some(position(n)),
        })
    });
    of_agents.chain(aliases.keys().map(|alias| NamedEntry {
        name: alias.clone(),
        place: format!("/aliases/{alias}"),
        agent: None,
    }))
}

/// Fails if the human is retired, or has a supervisor: a supervisor can decide in the place of its agent.
fn check_human(agent: &Agent, n: usize) -> Result<()> {
    let key = if !agent.is_human() {
        return Ok(());
    } else if agent.is_retired() {
        "status"
    } else if agent.supervisor.is_some() {
        "supervisor"
    } else {
        return Ok(());
    };
    let what = "the human is always registered, and has no supervisor";
    let problem = Problem::new("reserved_name", what).at(format!("/agents/{n}/{key}"));
    Err(Box::new(problem.fix(format!("remove its {key}"))))
}

impl Registry {
    /// Fails for a name that means a role of other agents: `@name` would not reach them.
    fn check_roles(&self) -> Result<()> {
        for entry in entries(&self.agents, &self.aliases) {
            let Some((role, _)) = self.index.roles.named(&entry.name) else {
                continue;
            };
            let (agent, kind) = match entry.agent {
                Some(at) => (Some(self.at(at)), "agent"),
                None => (self.now(&entry.name), "alias"),
            };
            let is_own = agent.is_some_and(|agent| match &agent.role {
                _ if agent.is_human() => entry.agent.is_some(),
                Some(role) => role.eq_ignore_ascii_case(&entry.name),
                None => false,
            });
            if is_own || self.is_same_role(&entry.name) {
                continue;
            }
            let name = &entry.name;
            let what = format!(
                "{entry} has the name of a role: `@{name}` would not reach the agents with the role {}",
                quoted(role)
            );
            let fix = format!("use another name for the {kind} or for the role");
            let problem = Problem::new("collision", what).at(entry.place);
            return Err(Box::new(problem.fix(fix)));
        }
        Ok(())
    }

    /// Returns true if the only address of an alias is the role that its name means.
    fn is_same_role(&self, alias: &str) -> bool {
        let Some([address]) = self.aliases.get(alias).map(Vec::as_slice) else {
            return false;
        };
        let Ok(Address::Role(role)) = Address::parse(address) else {
            return false;
        };
        let roles = &self.index.roles;
        let same = roles.named(alias).zip(roles.named(&role));
        same.is_some_and(|((one, _), (other, _))| one.eq_ignore_ascii_case(other))
    }
}

/// The name of an entry in a conflict, such as `agents[3].id "Bob"`.
impl std::fmt::Display for NamedEntry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.agent {
            Some(_) => write!(f, "{} {}", in_words(&self.place), quoted(&self.name)),
            None => write!(f, "the alias {}", quoted(&self.name)),
        }
    }
}
