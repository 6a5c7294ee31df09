//! Reading and checking a registry.

#![allow(
    clippy::result_large_err,
    reason = "a problem is built for rejected input only"
)]

use super::{Agent, AgentStatus, NameHolder, Registry, RegistryIndex};
use crate::base::error::Problem;
use crate::base::limits;
use crate::base::lookalike::name_skeleton;
use crate::message::address::{self, Address, is_display_name, quoted};
use crate::message::id;
use crate::message::schema::{self, ParsedFile};
use serde_json::error::Category;
use serde_json::{Map, Value};
use std::collections::hash_map::Entry;
use std::sync::Arc;

/// The JSON of the file, if it is JSON and an object.
pub(super) fn document(bytes: &[u8]) -> Result<Map<String, Value>, Vec<Problem>> {
    if bytes.trim_ascii().is_empty() {
        let fix = r#"write {"version": 1, "agents": []} or restore the file from a backup"#;
        return Err(vec![
            Problem::new("not_json", "registry.json is empty").fix(fix),
        ]);
    }
    if bytes.starts_with(b"\xef\xbb\xbf") {
        let what = "registry.json begins with a byte order mark";
        return Err(vec![
            Problem::new("not_json", what)
                .at("line 1 column 1")
                .fix("save it as UTF-8 without one"),
        ]);
    }
    let value = match schema::parse(bytes) {
        ParsedFile::Value(value) => value,
        // serde_json keeps one of two equal keys, so an agent could disappear unnoticed.
        ParsedFile::Bad(problem) if problem.code == "duplicate_key" => return Err(vec![problem]),
        // Unknown fields may have values that a message cannot have.
        _ => serde_json::from_slice(bytes).map_err(|e| vec![not_json(&e)])?,
    };
    match value {
        Value::Object(map) => Ok(map),
        other => Err(schema::check_registry(&other)),
    }
}

/// Reads the text of a registry.
pub(super) fn registry(bytes: &[u8]) -> Result<Registry, Vec<Problem>> {
    let mut document = document(bytes)?;
    let mut reader = RegistryReader {
        fits: document
            .get("version")
            .is_none_or(|v| v.as_u64() == Some(1)),
        problems: Vec::new(),
    };
    for key in document.keys() {
        reader.check_key(key, &["version", "agents", "aliases"], "");
    }
    let mut agents = reader.agents(document.remove("agents"));
    let aliases = reader.aliases(document.remove("aliases"));
    if !agents.iter().any(Agent::is_human) {
        agents.push(Agent::new(id::HUMAN));
    }
    if !reader.fits {
        return Err(misfits(bytes));
    }
    let index = reader.index(&agents, &aliases);
    reader.problems.truncate(limits::PROBLEMS);
    if reader.problems.is_empty() {
        Ok(Registry {
            text: String::from_utf8_lossy(bytes).into(),
            agents,
            aliases,
            lanes: Arc::default(),
            links: Arc::default(),
            index,
        })
    } else {
        Err(reader.problems)
    }
}

/// The problems of a document that does not fit the schema. Every command reads the registry, and to compile the schema
/// takes a millisecond, so only a document that does not fit pays for it.
fn misfits(bytes: &[u8]) -> Vec<Problem> {
    let problems = match document(bytes) {
        Ok(document) => schema::check_registry(&Value::Object(document)),
        Err(problems) => problems,
    };
    if !problems.is_empty() {
        return problems;
    }
    let problem = Problem::new("wrong_type", "registry.json does not fit its schema");
    vec![problem.fix("see `mailbag generate schema registry`")]
}

/// The keys of an agent that a person writes.
const KEYS: [&str; 10] = [
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

/// Reads a document, and collects the problems that the schema cannot express.
struct RegistryReader {
    fits: bool,
    problems: Vec<Problem>,
}

impl RegistryReader {
    fn agents(&mut self, entries: Option<Value>) -> Vec<Agent> {
        let entries = self.list(entries).into_iter().enumerate();
        entries.map(|(n, entry)| self.agent(n, entry)).collect()
    }

    fn agent(&mut self, n: usize, entry: Value) -> Agent {
        let mut agent = Agent::new("");
        for (key, value) in self.object(entry) {
            match key.as_str() {
                "id" => agent.id = self.name(value).into(),
                "role" => agent.role = Some(self.name(value)),
                "name" => agent.name = Some(self.text(value, is_display_name)),
                "instance" if value.is_i64() || value.is_u64() => {
                    agent.instance = Some(value.to_string())
                }
                "instance" => agent.instance = Some(self.text(value, |_| true)),
                "description" => agent.description = Some(self.text(value, |_| true)),
                "capabilities" => agent.capabilities = self.names(value),
                "topics" => agent.topics = self.names(value),
                "status" => {
                    agent.status = self
                        .fitting(value.as_str().and_then(AgentStatus::parse))
                        .unwrap_or_default()
                }
                "supervisor" => agent.supervisor = Some(self.name(value)),
                "session" => {
                    agent.session = Some(self.text(value, |text| {
                        (1..=limits::SESSION_KEY).contains(&text.len())
                    }))
                }
                _ => {
                    self.check_key(&key, &KEYS, &format!("/agents/{n}"));
                    agent.rest.insert(key, value);
                }
            }
        }
        self.fits &= !agent.id.is_empty();
        if agent.is_human() && agent.is_retired() {
            let what = "the human is always registered and cannot retire";
            self.problems.push(
                Problem::new("reserved_name", what)
                    .at(format!("/agents/{n}/status"))
                    .fix("remove its status"),
            );
        }
        // A supervisor can decide in the place of its agent.
        if agent.is_human() && agent.supervisor.is_some() {
            self.problems.push(
                Problem::new("reserved_name", "the human has no supervisor")
                    .at(format!("/agents/{n}/supervisor"))
                    .fix("remove its supervisor"),
            );
        }
        agent
    }

    /// Reports a key that is nearly a known one. Other keys are the person's own.
    fn check_key(&mut self, key: &str, known: &[&'static str], above: &str) {
        if ["x-", "x_", "_"].iter().any(|start| key.starts_with(start)) {
            return;
        }
        let folded = key.replace(['_', '-'], "").to_ascii_lowercase();
        let other = OTHER_KEYS.iter().find(|(name, _)| *name == folded);
        let near = other.map(|(_, known)| *known).or_else(|| {
            let mut near = known.iter();
            near.find(|known| strsim::osa_distance(&folded, known) <= usize::from(known.len() > 3))
                .copied()
        });
        if let Some(near) = near.filter(|near| known.contains(near) && *near != key) {
            let what = format!("{} is not a key of the registry", quoted(key));
            let place = format!("{above}/{}", key.replace('~', "~0").replace('/', "~1"));
            let problem = Problem::new("misnamed_field", what).at(place);
            self.problems.push(problem.fix(format!(
                "write {near} instead; put data of your own under another name"
            )));
        }
    }

    fn aliases(&mut self, aliases: Option<Value>) -> Vec<(String, Vec<String>)> {
        let Some(aliases) = aliases else {
            return Vec::new();
        };
        let entries = self.object(aliases).into_iter();
        entries
            .map(|(alias, target)| {
                let addresses = self.addresses(&alias, target);
                (alias, addresses)
            })
            .collect()
    }

    fn addresses(&mut self, alias: &str, target: Value) -> Vec<String> {
        let targets = match target {
            Value::Array(targets) => targets,
            target => vec![target],
        };
        self.fits &= id::is_name(alias) && !targets.is_empty();
        let texts: Vec<String> = targets
            .into_iter()
            .map(|target| self.text(target, |text| !text.is_empty()))
            .collect();
        for problem in texts.iter().filter_map(|text| Address::parse(text).err()) {
            self.problems.push(problem.at(format!("/aliases/{alias}")));
        }
        texts
    }

    fn names(&mut self, value: Value) -> Vec<String> {
        let names = self.list(Some(value)).into_iter();
        names.map(|name| self.name(name)).collect()
    }

    fn name(&mut self, value: Value) -> String {
        self.text(value, id::is_name)
    }

    fn text(&mut self, value: Value, fits: fn(&str) -> bool) -> String {
        let text = match value {
            Value::String(text) if fits(&text) => Some(text),
            _ => None,
        };
        self.fitting(text).unwrap_or_default()
    }

    fn list(&mut self, value: Option<Value>) -> Vec<Value> {
        let list = match value {
            Some(Value::Array(list)) => Some(list),
            _ => None,
        };
        self.fitting(list).unwrap_or_default()
    }

    fn object(&mut self, value: Value) -> Map<String, Value> {
        let object = match value {
            Value::Object(object) => Some(object),
            _ => None,
        };
        self.fitting(object).unwrap_or_default()
    }

    fn fitting<T>(&mut self, read: Option<T>) -> Option<T> {
        self.fits &= read.is_some();
        read
    }

    /// Builds the indexes, and finds names that two entries use.
    fn index(&mut self, agents: &[Agent], aliases: &[(String, Vec<String>)]) -> RegistryIndex {
        let mut index = RegistryIndex::default();
        for (n, agent) in agents.iter().enumerate() {
            let at = position(n);
            self.claim(
                &mut index,
                agents,
                aliases,
                &agent.id,
                NameHolder::Agent { at, is_name: false },
            );
            if let Some(name) = &agent.name {
                self.claim(
                    &mut index,
                    agents,
                    aliases,
                    name,
                    NameHolder::Agent { at, is_name: true },
                );
            }
            index.ids.insert(agent.id.clone(), at);
            index.groups(agent, at);
        }
        for (n, agent) in agents.iter().enumerate() {
            if agent.is_human() {
                continue;
            }
            let at = position(n);
            let words = [(Some(&*agent.id), false), (agent.name.as_deref(), true)];
            for (word, is_name) in words {
                if let Some(word) = word
                    && !is_own_role(agent, word)
                {
                    self.compare_with_roles(&index, word, NameHolder::Agent { at, is_name });
                }
            }
        }
        for (n, (alias, _)) in aliases.iter().enumerate() {
            self.claim(
                &mut index,
                agents,
                aliases,
                alias,
                NameHolder::Alias(position(n)),
            );
            index.aliases.insert(alias.clone(), position(n));
        }
        for (n, (alias, targets)) in aliases.iter().enumerate() {
            let agent = index.now(aliases, alias).map(|at| &agents[at as usize]);
            let is_of_role =
                agent.is_some_and(|agent| !agent.is_human() && is_own_role(agent, alias));
            if !is_of_role && !index.is_same_role(alias, targets) {
                self.compare_with_roles(&index, alias, NameHolder::Alias(position(n)));
            }
        }
        index
    }

    /// Finds a name that means a role of other agents: `@name` would not reach them.
    fn compare_with_roles(&mut self, index: &RegistryIndex, name: &str, holder: NameHolder) {
        let Some((role, _)) = index.roles.named(name) else {
            return;
        };
        let what = format!(
            "{} has the name of a role: `@{name}` would not reach the agents with the role {}",
            holder.entry(name),
            quoted(role)
        );
        let kind = match holder {
            NameHolder::Agent { .. } => "agent",
            NameHolder::Alias(_) => "alias",
        };
        self.problems.push(
            Problem::new("collision", what)
                .at(holder.place(name))
                .fix(format!("use another name for the {kind} or for the role")),
        );
    }

    /// Assigns a name to an entry, unless it is reserved or used by another entry, in any letter case.
    fn claim(
        &mut self,
        index: &mut RegistryIndex,
        agents: &[Agent],
        aliases: &[(String, Vec<String>)],
        name: &str,
        holder: NameHolder,
    ) {
        let of_human =
            matches!(holder, NameHolder::Agent { at, .. } if agents[at as usize].is_human());
        if let Some(word) = address::reserved(name)
            && !(of_human && name == id::HUMAN)
        {
            let what = format!(
                "{} uses the reserved word `{word}`, or looks like it",
                holder.entry(name)
            );
            self.problems.push(
                Problem::new("reserved_name", what)
                    .at(holder.place(name))
                    .fix("use another name"),
            );
            return;
        }
        index
            .by_lower_case
            .insert(name.to_ascii_lowercase(), holder);
        match index.looks.entry(name_skeleton(name)) {
            Entry::Vacant(free) => {
                free.insert(holder);
            }
            // An agent's display name may equal its own id in any letter case.
            Entry::Occupied(mut taken) if taken.get().is_name_of(holder) => {
                taken.insert(holder);
            }
            Entry::Occupied(taken) => {
                let first = *taken.get();
                let written = first.written(agents, aliases);
                let theirs = first.entry(written);
                let how = if written.eq_ignore_ascii_case(name) {
                    "have the same name (letter case is ignored)"
                } else {
                    "have names that look the same"
                };
                let what = format!("{theirs} and {} {how}", holder.entry(name));
                let fix = match (first, holder) {
                    (NameHolder::Agent { .. }, NameHolder::Agent { .. }) => {
                        "rename one of them; some file systems ignore letter case"
                    }
                    _ => "rename one of them, or remove the alias",
                };
                self.problems.push(
                    Problem::new("collision", what)
                        .at(holder.place(name))
                        .fix(fix),
                );
            }
        }
    }
}

/// Returns true if an agent may have this name, although it is a role, because it is its own role.
fn is_own_role(agent: &Agent, name: &str) -> bool {
    agent
        .role
        .as_ref()
        .is_some_and(|role| role.eq_ignore_ascii_case(name))
}

impl RegistryIndex {
    /// Returns true if the addresses of an alias are the role that its name means.
    fn is_same_role(&self, alias: &str, addresses: &[String]) -> bool {
        let [address] = addresses else {
            return false;
        };
        let Ok(Address::Role(role)) = Address::parse(address) else {
            return false;
        };
        let same = self.roles.named(alias).zip(self.roles.named(&role));
        same.is_some_and(|((one, _), (other, _))| one.eq_ignore_ascii_case(other))
    }

    fn groups(&mut self, agent: &Agent, at: u32) {
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

impl NameHolder {
    fn is_name_of(self, other: NameHolder) -> bool {
        match (self, other) {
            (NameHolder::Agent { at, .. }, NameHolder::Agent { at: other, .. }) => at == other,
            _ => false,
        }
    }

    /// The name of an entry in a conflict, such as `agents/3 "Bob"`.
    fn entry(self, name: &str) -> String {
        match self {
            NameHolder::Agent { at, .. } => format!("agents/{at} {}", quoted(name)),
            NameHolder::Alias(_) => format!("aliases {}", quoted(name)),
        }
    }

    fn place(self, name: &str) -> String {
        match self {
            NameHolder::Agent { at, is_name } => {
                format!("/agents/{at}/{}", if is_name { "name" } else { "id" })
            }
            NameHolder::Alias(_) => format!("/aliases/{name}"),
        }
    }

    fn written<'a>(self, agents: &'a [Agent], aliases: &'a [(String, Vec<String>)]) -> &'a str {
        match self {
            NameHolder::Agent { at, is_name } => {
                let agent = &agents[at as usize];
                match &agent.name {
                    Some(name) if is_name => name,
                    _ => &agent.id,
                }
            }
            NameHolder::Alias(at) => &aliases[at as usize].0,
        }
    }
}

fn position(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

fn not_json(error: &serde_json::Error) -> Problem {
    let place = format!("line {} column {}", error.line(), error.column());
    let text = error.to_string();
    let said = text.split(" at line ").next().unwrap_or_default();
    let (what, fix) = match error.classify() {
        Category::Eof => (
            "registry.json is incomplete".to_owned(),
            "complete it, or restore it from a backup",
        ),
        _ => (
            format!("registry.json is not JSON here: {said}"),
            "correct it, or restore it from a backup",
        ),
    };
    Problem::new("not_json", what).at(place).fix(fix)
}
