//! Topics: who follows what, and following one by a message, as an agent without the program does.

use super::send::{self, Draft, Sent, sender_id};
use crate::base::error::{Error, Result};
use crate::base::limits;
use crate::message::address::quoted;
use crate::message::id;
use crate::query::identity::Who;
use crate::room::Room;
use crate::room::registry::Registry;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A topic that somebody follows.
#[derive(Debug, Serialize)]
pub struct Topic {
    /// Its name, without `#`.
    pub topic: String,
    /// Who gets what is written to it, in the order of the registry.
    pub followers: Vec<Arc<str>>,
}

/// Every topic that somebody follows, in the order of the names.
pub fn list(registry: &Registry) -> Vec<Topic> {
    let mut topics: BTreeMap<&str, Vec<Arc<str>>> = BTreeMap::new();
    // The human, whom topics leave out, and the retired are not in here.
    for agent in registry.everybody().iter().map(|at| registry.at(*at)) {
        for topic in &agent.topics {
            topics.entry(topic).or_default().push(agent.id.clone());
        }
    }
    topics.into_iter().map(|(topic, followers)| Topic { topic: topic.to_owned(), followers }).collect()
}

/// Writes a message for each topic into the outbox of who follows it from now on, or no longer does. Nothing is written
/// if one of the names can't be a topic's.
pub fn change(room: &Room, who: &Who, follow: bool, topics: &[String]) -> Result<Vec<Sent>> {
    let topics: Vec<&str> = topics.iter().map(|topic| name(topic)).collect::<Result<_>>()?;
    let sender = sender_id(&room.registry()?, &room.settings()?, who)?;
    if follow && sender == id::HUMAN {
        return Err(Error::Usage {
            what: "mail to a topic leaves out the human".into(),
            cure: "say for whom with --as AGENT; `mailbag watch` and `mailbag channel watch` show you everything"
                .into(),
        });
    }
    let kind = if follow { "subscribe" } else { "unsubscribe" };
    let draft = |topic: &str| Draft { kind: Some(kind.into()), topic: Some(topic.into()), ..Draft::default() };
    topics.into_iter().map(|topic| send::send(room, who, draft(topic))).collect()
}

/// The name in `#name`.
fn name(topic: &str) -> Result<&str> {
    let name = topic.strip_prefix('#').unwrap_or(topic);
    if id::is_name(name) {
        return Ok(name);
    }
    let cure = format!("write letters, digits, . _ and -, at most {}", limits::NAME);
    Err(Error::Usage { what: format!("no topic can be called {}", quoted(topic)), cure })
}
