//! Topics: list followers, and follow or unfollow by a message.

use super::send::{self, MessageDraft, OutboxMessage, sender_id};
use crate::base::error::{Error, Result, did_you_mean};
use crate::message::id;
use crate::query::identity::AgentIdentity;
use crate::room::Room;
use crate::room::registry::Registry;
use serde::Serialize;
use std::sync::Arc;

/// A topic with followers.
#[derive(Debug, Serialize)]
pub struct Topic {
    /// Its name, without `#`.
    pub topic: String,
    /// Its followers, in registry order.
    pub followers: Vec<Arc<str>>,
}

/// All topics with followers, sorted by name.
pub fn list(registry: &Registry) -> Vec<Topic> {
    let topics = registry.topics().map(|(topic, followers)| Topic {
        topic: topic.to_owned(),
        followers: followers
            .iter()
            .map(|at| registry.at(*at).id.clone())
            .collect(),
    });
    topics.collect()
}

/// Sends a `subscribe` or `unsubscribe` message for each topic. Sends nothing if one of the names is invalid, or if the
/// agent is not subscribed to a topic that it unsubscribes from.
pub fn change(
    room: &Room,
    who: &AgentIdentity,
    follow: bool,
    topics: &[String],
) -> Result<Vec<OutboxMessage>> {
    let topics: Vec<&str> = topics
        .iter()
        .map(|topic| name(topic))
        .collect::<Result<_>>()?;
    let registry = room.registry()?;
    let sender = sender_id(&registry, &room.settings()?, who)?;
    if follow && sender == id::HUMAN {
        return Err(Error::usage(
            "the human cannot follow topics",
            "pass --as AGENT; `mailbag watch` and `mailbag channel watch` show all messages",
        ));
    }
    if !follow {
        let subscribed = registry
            .agent(&sender)
            .map_or(&[][..], |agent| &agent.topics);
        for topic in &topics {
            check_subscribed(&sender, topic, subscribed)?;
        }
    }
    let kind = if follow { "subscribe" } else { "unsubscribe" };
    topics
        .into_iter()
        .map(|topic| {
            let draft = MessageDraft {
                kind: Some(kind.into()),
                topic: Some(topic.into()),
                ..MessageDraft::default()
            };
            send::send(room, who, draft)
        })
        .collect()
}

/// Fails if the agent is not subscribed to this topic.
fn check_subscribed(agent: &str, topic: &str, subscribed: &[String]) -> Result<()> {
    if subscribed.iter().any(|one| one.eq_ignore_ascii_case(topic)) {
        return Ok(());
    }
    let fix = did_you_mean(topic, subscribed.iter().map(String::as_str))
        .unwrap_or_else(|| "`mailbag topic list` shows the subscriptions".into());
    Err(Error::not_found(
        format!("{agent} is not subscribed to #{topic}"),
        fix,
    ))
}

/// The name in `#name`.
fn name(topic: &str) -> Result<&str> {
    let name = topic.strip_prefix('#').unwrap_or(topic);
    id::check_name("topic", name).map(|()| name)
}
