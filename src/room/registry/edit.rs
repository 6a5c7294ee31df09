//! Changes of the registry. Each returns a new registry after the same checks as for a file.

use super::{Agent, Registry, read};
use crate::base::error::Problem;
use crate::message::id;
use serde_json::{Map, Value, json};

type Result<T> = std::result::Result<T, Box<Problem>>;

impl Registry {
    /// Adds an agent.
    pub fn add(&self, agent: Agent) -> Result<Registry> {
        self.add_all(vec![agent])
    }

    /// Adds several agents with one check.
    pub fn add_all(&self, agents: Vec<Agent>) -> Result<Registry> {
        self.edited(|entries| entries.extend(agents.iter().map(|agent| json!(agent))))
    }

    /// Changes fields of an agent. `null` removes a field. The id cannot change, because the agent's mail depends on
    /// it.
    pub fn set(&self, id: &str, changes: &Map<String, Value>) -> Result<Registry> {
        if changes
            .get("id")
            .is_some_and(|new| new.as_str() != Some(id))
        {
            let what = format!("the id of {id} cannot be changed, because its mail depends on it");
            let problem = Problem::new("fixed_id", what).at("/id");
            return Err(Box::new(problem.fix("add a new agent and retire this one")));
        }
        self.changed(id, |fields| {
            for (key, value) in changes {
                match value {
                    Value::Null => drop(fields.shift_remove(key)),
                    value => drop(fields.insert(key.clone(), value.clone())),
                }
            }
        })
    }

    /// Retires an agent. It keeps its name, but cannot receive messages.
    pub fn retire(&self, id: &str) -> Result<Registry> {
        self.not_human(id, "retire")?;
        self.set(
            id,
            &Map::from_iter([("status".to_owned(), json!("retired"))]),
        )
    }

    /// Removes an agent.
    pub fn remove(&self, id: &str) -> Result<Registry> {
        self.not_human(id, "be removed")?;
        self.known(id)?;
        self.edited(|entries| entries.retain(|entry| !is(entry, id)))
    }

    /// Removes these aliases.
    pub fn without_aliases(&self, names: &[String]) -> Result<Registry> {
        let mut document = self.document()?;
        if let Some(Value::Object(aliases)) = document.get_mut("aliases") {
            aliases.retain(|name, _| !names.contains(name));
        }
        read_edited(&document)
    }

    /// Removes an agent, and makes its id an alias of another agent, which follows its topics.
    pub fn renamed(&self, id: &str, to: &str) -> Result<Registry> {
        self.not_human(id, "be renamed")?;
        let topics = self.known(id)?.topics.clone();
        let registry = self.remove(id)?.aliased(id, to)?;
        topics
            .iter()
            .try_fold(registry, |registry, topic| registry.subscribe(to, topic))
    }

    /// Makes a name an alias of an agent.
    pub fn aliased(&self, name: &str, to: &str) -> Result<Registry> {
        let mut document = self.document()?;
        let aliases = document
            .entry("aliases")
            .or_insert_with(|| Value::Object(Map::new()));
        if let Value::Object(aliases) = aliases {
            aliases.insert(name.to_owned(), to.into());
        }
        read_edited(&document)
    }

    /// Subscribes an agent to a topic. If it is subscribed already, the registry is unchanged.
    pub fn subscribe(&self, id: &str, topic: &str) -> Result<Registry> {
        let agent = self.known(id)?;
        if agent.has_topic(topic) {
            return Ok(self.clone());
        }
        let mut topics = agent.topics.clone();
        topics.push(topic.to_owned());
        self.with_topics(id, &topics)
    }

    /// Unsubscribes an agent from a topic. If it is not subscribed, the registry is unchanged.
    pub fn unsubscribe(&self, id: &str, topic: &str) -> Result<Registry> {
        let agent = self.known(id)?;
        if !agent.has_topic(topic) {
            return Ok(self.clone());
        }
        let mut topics = agent.topics.clone();
        topics.retain(|t| !t.eq_ignore_ascii_case(topic));
        self.with_topics(id, &topics)
    }

    fn with_topics(&self, id: &str, topics: &[String]) -> Result<Registry> {
        let topics = (!topics.is_empty()).then_some(topics);
        self.set(id, &Map::from_iter([("topics".to_owned(), json!(topics))]))
    }

    /// The first display name of the pool that is not used in this registry.
    pub fn next_free_name<'a>(&self, pool: &'a [String]) -> Option<&'a str> {
        pool.iter()
            .map(String::as_str)
            .find(|name| self.is_free(name))
    }

    /// The agent entry for a new outbox in an open room. An id of the form `agent_<role>_<n>_…` gives the role and the
    /// instance.
    pub fn admit(id: &str) -> Agent {
        let mut agent = Agent::new(id);
        let parts: Vec<&str> = id.strip_prefix("agent_").unwrap_or("").split('_').collect();
        let is_number = |part: &&str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        if let Some(n) = parts.iter().skip(1).position(is_number) {
            let (role, rest) = parts.split_at(n + 1);
            let role = role.join("_");
            if id::is_name(&role) {
                agent.role = Some(role);
                agent.instance = Some(rest[0].to_owned());
            }
        }
        agent
    }

    fn changed(&self, id: &str, change: impl FnOnce(&mut Map<String, Value>)) -> Result<Registry> {
        self.known(id)?;
        self.edited(|entries| {
            // The human can be missing in the file.
            if !entries.iter().any(|entry| is(entry, id)) {
                entries.push(json!({ "id": id }));
            }
            if let Some(Value::Object(fields)) = entries.iter_mut().find(|entry| is(entry, id)) {
                change(fields);
            }
        })
    }

    fn edited(&self, edit: impl FnOnce(&mut Vec<Value>)) -> Result<Registry> {
        let mut document = self.document()?;
        if let Some(Value::Array(entries)) = document.get_mut("agents") {
            edit(entries);
        }
        read_edited(&document)
    }

    fn document(&self) -> Result<Map<String, Value>> {
        read::document(self.text.as_bytes())
    }

    fn known(&self, id: &str) -> Result<&Agent> {
        self.agent(id).ok_or_else(|| {
            let what = format!(
                "no agent has the id {}",
                crate::message::address::quoted(id)
            );
            Box::new(Problem::new("unknown_agent", what).fix(self.did_you_mean(id)))
        })
    }

    fn not_human(&self, id: &str, verb: &str) -> Result<()> {
        if id != id::HUMAN {
            return Ok(());
        }
        let problem = Problem::new(
            "reserved_name",
            format!("the human is always registered and cannot {verb}"),
        );
        Err(Box::new(problem.fix("leave it unchanged")))
    }
}

/// Formats a document and reads it.
pub(super) fn read_edited(document: &Map<String, Value>) -> Result<Registry> {
    let text = serde_json::to_string_pretty(document).unwrap_or_default() + "\n";
    read::registry(text.as_bytes())
}

fn is(entry: &Value, id: &str) -> bool {
    entry.get("id").and_then(Value::as_str) == Some(id)
}
