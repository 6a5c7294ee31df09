//! Reading and checking a registry.

#![allow(clippy::result_large_err, reason = "a problem is built for rejected input only")]

use super::twice::{DUPLICATE_KEY, NoKeyTwice};
use super::{Agent, Holder, Index, Registry, Status, Wake};
use crate::base::error::{Problem, nearest};
use crate::base::limits;
use crate::message::address::{self, Address, is_display_name, quoted};
use crate::message::id;
use serde_json::error::Category;
use serde_json::{Map, Value};
use std::collections::hash_map::Entry;

/// The supported version of the file.
const VERSION: u64 = 1;

/// The JSON of the file, if it is JSON and an object.
pub(super) fn document(bytes: &[u8]) -> Result<Map<String, Value>, Vec<Problem>> {
    if bytes.trim_ascii().is_empty() {
        let fix = r#"write {"version": 1, "agents": []} or restore the file from a backup"#;
        return Err(vec![Problem::new("not_json", "registry.json is empty").fix(fix)]);
    }
    if bytes.starts_with(b"\xef\xbb\xbf") {
        let what = "registry.json begins with a byte order mark";
        return Err(vec![Problem::new("not_json", what).at("line 1 column 1").fix("save it as UTF-8 without one")]);
    }
    serde_json::from_slice::<NoKeyTwice>(bytes).map_err(|e| vec![not_json(&e)])?;
    let value: Value = serde_json::from_slice(bytes).map_err(|e| vec![not_json(&e)])?;
    match value {
        Value::Object(map) => Ok(map),
        _ => Err(vec![shape("", "an object", &value).fix(r#"write {"version": 1, "agents": [{"id": "alice"}]}"#)]),
    }
}

/// Builds the registry from a document.
pub(super) fn registry(document: Map<String, Value>) -> Result<Registry, Vec<Problem>> {
    let mut reader = Reader::default();
    reader.version(document.get("version"));
    let mut agents = reader.agents(document.get("agents"));
    let aliases = reader.aliases(document.get("aliases"));
    if !agents.iter().any(Agent::is_human) {
        agents.push(Agent::new(id::HUMAN));
    }
    // Entries with problems have no reliable names, so conflicts are not checked.
    let index = if reader.problems.is_empty() { reader.index(&agents, &aliases) } else { Index::default() };
    reader.problems.truncate(limits::PROBLEMS);
    if reader.problems.is_empty() { Ok(Registry { document, agents, aliases, index }) } else { Err(reader.problems) }
}

#[derive(Default)]
struct Reader {
    problems: Vec<Problem>,
}

impl Reader {
    fn version(&mut self, version: Option<&Value>) {
        if version.is_some_and(|v| v.as_u64() != Some(VERSION)) {
            let what = format!("this version of mailbag supports registry version {VERSION} only");
            self.problems
                .push(Problem::new("bad_version", what).at("/version").fix("write \"version\": 1, or update mailbag"));
        }
    }

    fn agents(&mut self, agents: Option<&Value>) -> Vec<Agent> {
        let entries = match agents {
            Some(Value::Array(entries)) => entries.as_slice(),
            Some(other) => return self.wrong("/agents", "an array of agents", other),
            None => {
                let what = "registry.json has no \"agents\"";
                self.problems.push(
                    Problem::new("missing_field", what).at("/agents").fix("write \"agents\": [] if there are none"),
                );
                &[]
            }
        };
        entries.iter().enumerate().filter_map(|(n, entry)| self.agent(&format!("/agents/{n}"), entry)).collect()
    }

    fn agent(&mut self, place: &str, entry: &Value) -> Option<Agent> {
        let Value::Object(fields) = entry else {
            return self.wrong::<Option<Agent>>(place, "an object such as {\"id\": \"alice\"}", entry);
        };
        let mut agent = Agent::new("");
        if !fields.contains_key("id") {
            let problem = Problem::new("missing_field", "an agent has no \"id\"").at(place);
            self.problems.push(problem.fix("give it one, such as \"id\": \"alice\""));
        }
        for (key, value) in fields {
            let at = || format!("{place}/{key}");
            match key.as_str() {
                "id" => agent.id = self.name(at, value).unwrap_or_default().into(),
                "role" => agent.role = self.name(at, value),
                "name" => agent.name = self.display_name(at, value),
                "instance" => agent.instance = self.text(at, value),
                "description" => agent.description = self.text(at, value),
                "capabilities" => agent.capabilities = self.names(at, value),
                "topics" => agent.topics = self.names(at, value),
                "status" => agent.status = self.status(at, value),
                "uid" => agent.uid = self.uid(at, value),
                "supervisor" => agent.supervisor = self.name(at, value),
                "wake" => agent.wake = self.wake(at, value),
                _ => drop(agent.rest.insert(key.clone(), value.clone())),
            }
        }
        if agent.is_human() && agent.is_retired() {
            let what = "the human is always registered and cannot retire";
            self.problems
                .push(Problem::new("reserved_name", what).at(format!("{place}/status")).fix("remove its status"));
        }
        Some(agent)
    }

    fn aliases(&mut self, aliases: Option<&Value>) -> Vec<(String, Vec<String>)> {
        let entries = match aliases {
            Some(Value::Object(entries)) => entries,
            Some(other) => return self.wrong("/aliases", "an object such as {\"web-owner\": \"cap:web\"}", other),
            None => return Vec::new(),
        };
        entries.iter().map(|(alias, target)| (alias.clone(), self.alias(alias, target))).collect()
    }

    fn alias(&mut self, alias: &str, target: &Value) -> Vec<String> {
        let place = format!("/aliases/{}", alias.replace('~', "~0").replace('/', "~1"));
        if !id::is_name(alias) {
            self.problems.push(bad_name(alias).at(place.as_str()));
        }
        let wanted = "an address or an array of addresses";
        let targets = match target {
            Value::String(_) => std::slice::from_ref(target),
            Value::Array(targets) if !targets.is_empty() => targets.as_slice(),
            other => return self.wrong(&place, wanted, other),
        };
        let mut addresses = Vec::with_capacity(targets.len());
        for target in targets {
            match target.as_str().map(|text| Address::parse(text).map(|_| text.to_owned())) {
                Some(Ok(address)) => addresses.push(address),
                Some(Err(problem)) => self.problems.push(problem.at(place.as_str())),
                None => return self.wrong(&place, wanted, target),
            }
        }
        addresses
    }

    fn name(&mut self, at: impl Fn() -> String, value: &Value) -> Option<String> {
        let text = self.text(&at, value)?;
        if !id::is_name(&text) {
            self.problems.push(bad_name(&text).at(at()));
        }
        Some(text)
    }

    fn display_name(&mut self, at: impl Fn() -> String, value: &Value) -> Option<String> {
        let text = self.text(&at, value)?;
        if !is_display_name(&text) {
            let what = format!("{} is not a valid display name", quoted(&text));
            let fix = format!("use 1 to {} ASCII letters, such as Sintra", limits::DISPLAY_NAME);
            self.problems.push(Problem::new("bad_name", what).at(at()).fix(fix));
        }
        Some(text)
    }

    fn names(&mut self, at: impl Fn() -> String, value: &Value) -> Vec<String> {
        let Value::Array(items) = value else { return self.wrong(&at(), "an array of names", value) };
        let each = items.iter().enumerate();
        each.filter_map(|(n, item)| self.name(|| format!("{}/{n}", at()), item)).collect()
    }

    fn status(&mut self, at: impl Fn() -> String, value: &Value) -> Status {
        let Some(text) = self.text(&at, value) else { return Status::Unknown };
        let status = Status::parse(&text);
        if status.is_none() {
            let words = Status::ALL.map(Status::as_str);
            let fix = match nearest(&text, words).as_slice() {
                [] => format!("use one of {}", words.join(", ")),
                near => format!("did you mean {}?", near.join(", ")),
            };
            let what = format!("unknown status {}", quoted(&text));
            self.problems.push(Problem::new("bad_status", what).at(at()).fix(fix));
        }
        status.unwrap_or_default()
    }

    fn uid(&mut self, at: impl Fn() -> String, value: &Value) -> Option<u32> {
        let uid = value.as_u64().and_then(|n| u32::try_from(n).ok());
        if uid.is_none() {
            self.problems.push(shape(&at(), "a user number from 0 to 4294967295", value));
        }
        uid
    }

    fn wake(&mut self, at: impl Fn() -> String, value: &Value) -> Option<Wake> {
        let read = Wake::read(value);
        if let Err(wanted) = &read {
            let what = "this is not a valid way to wake an agent";
            self.problems.push(Problem::new("bad_wake", what).at(at()).fix(format!("give {wanted}")));
        }
        read.ok()
    }

    fn text(&mut self, at: impl Fn() -> String, value: &Value) -> Option<String> {
        match value {
            Value::String(text) => Some(text.clone()),
            other => self.wrong(&at(), "a string", other),
        }
    }

    fn wrong<T: Default>(&mut self, place: &str, wanted: &str, value: &Value) -> T {
        self.problems.push(shape(place, wanted, value));
        T::default()
    }

    /// Builds the indexes, and finds names that two entries use.
    fn index(&mut self, agents: &[Agent], aliases: &[(String, Vec<String>)]) -> Index {
        let mut index = Index::default();
        for (n, agent) in agents.iter().enumerate() {
            let at = position(n);
            self.claim(&mut index, agents, aliases, &agent.id, Holder::Agent { at, is_name: false });
            if let Some(name) = &agent.name {
                self.claim(&mut index, agents, aliases, name, Holder::Agent { at, is_name: true });
            }
            index.ids.insert(agent.id.clone(), at);
            index.groups(agent, at);
        }
        for (n, (alias, _)) in aliases.iter().enumerate() {
            self.claim(&mut index, agents, aliases, alias, Holder::Alias(position(n)));
            index.aliases.insert(alias.clone(), position(n));
        }
        index
    }

    /// Assigns a name to an entry, unless it is reserved or used by another entry, in any letter case.
    fn claim(
        &mut self,
        index: &mut Index,
        agents: &[Agent],
        aliases: &[(String, Vec<String>)],
        name: &str,
        holder: Holder,
    ) {
        let of_human = matches!(holder, Holder::Agent { at, .. } if agents[at as usize].is_human());
        if let Some(word) = address::reserved(name).filter(|_| !(of_human && name == id::HUMAN)) {
            let what = format!("{} uses the reserved word `{word}`", holder.entry(name));
            self.problems.push(Problem::new("reserved_name", what).at(holder.place(name)).fix("use another name"));
            return;
        }
        match index.by_lower_case.entry(name.to_ascii_lowercase()) {
            Entry::Vacant(free) => drop(free.insert(holder)),
            // An agent's display name may equal its own id in any letter case.
            Entry::Occupied(mut taken) if taken.get().is_name_of(holder) => drop(taken.insert(holder)),
            Entry::Occupied(taken) => {
                let first = *taken.get();
                let theirs = first.entry(first.written(agents, aliases));
                let what = format!("{theirs} and {} have the same name (letter case is ignored)", holder.entry(name));
                let fix = "rename one of them; some file systems ignore letter case";
                self.problems.push(Problem::new("collision", what).at(holder.place(name)).fix(fix));
            }
        }
    }
}

impl Index {
    fn groups(&mut self, agent: &Agent, at: u32) {
        let counts = !agent.is_human() && !agent.is_retired();
        let join = |group: &mut Vec<u32>| {
            if counts && group.last() != Some(&at) {
                group.push(at);
            }
        };
        join(&mut self.everybody);
        // A group with only retired members is known, but empty.
        if let Some(role) = agent.role.as_ref().filter(|_| !agent.is_human()) {
            join(self.roles.entry(role.clone()).or_default());
        }
        agent.capabilities.iter().for_each(|c| join(self.capabilities.entry(c.clone()).or_default()));
        agent.topics.iter().for_each(|t| join(self.topics.entry(t.clone()).or_default()));
    }
}

impl Holder {
    fn is_name_of(self, other: Holder) -> bool {
        let agent = |holder| match holder {
            Holder::Agent { at, .. } => Some(at),
            Holder::Alias(_) => None,
        };
        agent(self).is_some() && agent(self) == agent(other)
    }

    /// The name of an entry in a conflict, such as `agents/3 "Bob"`.
    fn entry(self, name: &str) -> String {
        match self {
            Holder::Agent { at, .. } => format!("agents/{at} {}", quoted(name)),
            Holder::Alias(_) => format!("aliases {}", quoted(name)),
        }
    }

    fn place(self, name: &str) -> String {
        match self {
            Holder::Agent { at, is_name } => format!("/agents/{at}/{}", if is_name { "name" } else { "id" }),
            Holder::Alias(_) => format!("/aliases/{name}"),
        }
    }

    fn written<'a>(self, agents: &'a [Agent], aliases: &'a [(String, Vec<String>)]) -> &'a str {
        match self {
            Holder::Agent { at, is_name } => {
                let agent = &agents[at as usize];
                agent.name.as_deref().filter(|_| is_name).unwrap_or(&agent.id)
            }
            Holder::Alias(at) => &aliases[at as usize].0,
        }
    }
}

fn position(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

fn bad_name(text: &str) -> Problem {
    let fix = format!("use 1 to {} of A-Z a-z 0-9 . _ -, beginning with a letter or digit", limits::NAME);
    Problem::new("bad_name", format!("{} is not a valid name", quoted(text))).fix(fix)
}

fn shape(place: &str, wanted: &str, value: &Value) -> Problem {
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(items) if items.is_empty() => "an empty array",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    };
    Problem::new("wrong_type", format!("wrong type: {kind}")).at(place).fix(format!("write {wanted}"))
}

fn not_json(error: &serde_json::Error) -> Problem {
    let place = format!("line {} column {}", error.line(), error.column());
    let text = error.to_string();
    let said = text.split(" at line ").next().unwrap_or_default();
    if said.ends_with(DUPLICATE_KEY) {
        let problem = Problem::new("duplicate_key", format!("the key {said}"));
        return problem.at(place).fix("keep one of them");
    }
    let (what, fix) = match error.classify() {
        Category::Eof => ("registry.json is incomplete".to_owned(), "complete it, or restore it from a backup"),
        _ => (format!("registry.json is not JSON here: {said}"), "correct it, or restore it from a backup"),
    };
    Problem::new("not_json", what).at(place).fix(fix)
}
