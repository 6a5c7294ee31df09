//! A message as the log records it, and who may see it.

use crate::log::state::PastRenames;
use crate::message::record::{EventKind, Record};
use crate::message::reference::Reference;
use crate::message::title::first_line;
use crate::message::{DEFAULT_CHANNEL, Priority, id, wants_answer};
use serde::Serialize;
use serde_json::{Map, Value};
use std::sync::Arc;

/// An accepted message, or a message that the router wrote.
#[derive(Debug, Clone, Serialize)]
pub struct LoggedMessage {
    /// The number of its record in the log.
    pub seq: u64,
    /// The accept time.
    pub accepted_at: String,
    /// Its id.
    pub id: String,
    /// The sender.
    pub from: Arc<str>,
    /// The agents that received a copy.
    pub recipients: Vec<Arc<str>>,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its priority.
    pub priority: Priority,
    /// Its channel.
    pub channel: String,
    /// Its subject.
    pub subject: Option<String>,
    /// The first line of its body.
    pub preview: Option<String>,
    /// Its thread.
    pub thread_id: Option<String>,
    /// The message that it replies to.
    pub in_reply_to: Option<String>,
    /// The record of the message that it answers, as the router found it.
    #[serde(skip)]
    pub answers: Option<u64>,
    /// True if its sender wants an answer.
    pub requires_response: bool,
    /// A short description of its change of claims, approvals, statuses or topics.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<String>,
    /// True if it offers claims.
    #[serde(skip)]
    pub is_offer: bool,
    /// How its sender closed it, such as `superseded: replaced by #12`, or `offer ended`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closed: Option<String>,
    /// Every field as it was sent.
    #[serde(skip)]
    pub message: Map<String, Value>,
}

impl LoggedMessage {
    /// Reads the message of a log line. `None` if the line has no message.
    pub fn read(line: &[u8]) -> Option<LoggedMessage> {
        LoggedMessage::of(serde_json::from_slice(line).ok()?)
    }

    /// The message of a record; `None` if the record is about none.
    pub fn of(record: Record) -> Option<LoggedMessage> {
        if !matches!(
            record.kind(),
            EventKind::Accepted | EventKind::Rejected | EventKind::Notice
        ) {
            return None;
        }
        let (name, message) = (record.name()?, record.message_fields()?);
        Some(LoggedMessage {
            change: record
                .facts
                .summary()
                .or_else(|| record.accepted()?.act.as_ref()?.summary()),
            seq: record.seq,
            answers: record.facts.answered(),
            recipients: record
                .recipients()
                .map(|(agent, _)| agent.clone())
                .collect(),
            accepted_at: record.at.clone(),
            id: name.id.clone(),
            from: name.from.clone(),
            kind: text_of(&message, "type").unwrap_or_else(|| "message".into()),
            priority: Priority::from_field(message.get("priority")),
            channel: text_of(&message, "channel").unwrap_or_else(|| DEFAULT_CHANNEL.into()),
            subject: text_of(&message, "subject")
                .or_else(|| record.facts.question().map(str::to_owned)),
            preview: text_of(&message, "body")
                .as_deref()
                .and_then(first_line)
                .map(str::to_owned),
            thread_id: text_of(&message, "thread_id"),
            in_reply_to: text_of(&message, "in_reply_to"),
            requires_response: wants_answer(&message),
            is_offer: record.facts.is_offer(),
            closed: None,
            message,
        })
    }

    /// Returns true if this agent received a copy.
    pub fn is_to(&self, agent: &str) -> bool {
        self.recipients.iter().any(|to| **to == *agent)
    }

    /// `<sender>/<id>`
    pub fn name(&self) -> String {
        format!("{}/{}", self.from, self.id)
    }

    /// Whether a reference names this message: by its number or its whole id, with or without its sender.
    pub fn is_named_by(&self, reference: &str) -> bool {
        Reference::parse(reference)
            .is_some_and(|one| one.is_of(&self.from, &self.id, Some(self.seq)))
    }
}

fn text_of(message: &Map<String, Value>, field: &str) -> Option<String> {
    message
        .get(field)
        .and_then(Value::as_str)
        .map(str::to_owned)
}

/// The view of a reader: an agent sees the messages that it sent or received; the human, and a reader without a name,
/// see all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Viewer {
    /// The agent's name, and the names that it had before.
    names: Vec<String>,
    all: bool,
    /// The renamings of all agents. `None` if only the names count.
    renames: Option<PastRenames>,
}

impl Viewer {
    /// A reader without a name.
    pub const ALL: Viewer = Viewer {
        names: Vec::new(),
        all: true,
        renames: None,
    };

    /// The messages from and to one agent, even if it is the human. It had the names `former` before. The renamings show which
    /// earlier messages of these names belong to other agents.
    pub fn only(agent: &str, former: Vec<String>, renames: PastRenames) -> Viewer {
        let mut names = vec![agent.to_owned()];
        names.extend(former);
        Viewer {
            names,
            all: false,
            renames: Some(renames),
        }
    }

    /// The messages that were sent or received under this name, by any agent.
    pub fn of_name(name: &str) -> Viewer {
        Viewer {
            names: vec![name.to_owned()],
            all: false,
            renames: None,
        }
    }

    /// The same view of an agent. The human sees all messages.
    pub fn with_all_of_human(mut self) -> Viewer {
        self.all |= self.has_name(id::HUMAN);
        self
    }

    /// Returns true if this reader had the name when the record with this number was accepted.
    pub fn had_name(&self, name: &Arc<str>, seq: u64) -> bool {
        let holder = self
            .renames
            .as_ref()
            .map_or(name, |renames| renames.holder(name, seq));
        self.has_name(name) && self.has_name(holder)
    }

    fn has_name(&self, name: &str) -> bool {
        self.names.iter().any(|own| own == name)
    }

    /// Returns true if this reader may see the message.
    pub fn see(&self, past: &LoggedMessage) -> bool {
        self.all || self.is_own(past)
    }

    /// Returns true if this reader sent the message or received a copy.
    pub fn is_own(&self, past: &LoggedMessage) -> bool {
        self.sent(past) || self.received(past)
    }

    /// The agent's name, and the names that it had before; none for a reader without a name.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns true if this reader sent the message.
    pub fn sent(&self, past: &LoggedMessage) -> bool {
        self.had_name(&past.from, past.seq)
    }

    /// Returns true if this reader received a copy.
    pub fn received(&self, past: &LoggedMessage) -> bool {
        past.recipients.iter().any(|to| self.had_name(to, past.seq))
    }

    /// The agent, if the reader sees only its own messages.
    pub fn only_of(&self) -> Option<&str> {
        if self.all {
            return None;
        }
        self.names.first().map(String::as_str)
    }

    /// The only name of the agent, if the reader sees only its own messages.
    pub fn only_name(&self) -> Option<&str> {
        match self.names.as_slice() {
            [name] if !self.all => Some(name),
            _ => None,
        }
    }
}
