//! The events of the log, each with its own fields.

use super::carried::IncomingItem;
use super::gap::LogGap;
use super::name::MessageName;
use super::status::Receipt;
use crate::base::error::Problem;
use crate::base::text::listed;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The kind of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EventKind {
    /// [`Event::Room`].
    Room,
    /// [`Event::Accepted`].
    Accepted,
    /// [`Event::Rejected`].
    Rejected,
    /// [`Event::Duplicate`].
    Duplicate,
    /// [`Event::Notice`].
    Notice,
    /// [`Event::Receipts`].
    Receipts,
    /// [`Event::Settled {}`].
    Settled,
    /// [`Event::Gap`].
    Gap,
}

impl EventKind {
    /// The word in the log.
    pub fn as_str(self) -> &'static str {
        match self {
            EventKind::Room => "room",
            EventKind::Accepted => "accepted",
            EventKind::Rejected => "rejected",
            EventKind::Duplicate => "duplicate",
            EventKind::Notice => "notice",
            EventKind::Receipts => "receipts",
            EventKind::Settled => "settled",
            EventKind::Gap => "gap",
        }
    }
}

/// The recipients of one kind of address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecipientGroup {
    /// The kind of address: direct, alias, role, …
    pub via: String,
    /// Agent ids.
    pub agents: Vec<Arc<str>>,
}

/// The router's action for an accepted message, besides its delivery.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RouterAction {
    /// The sender subscribes to this topic.
    Subscribe(String),
    /// The sender unsubscribes from this topic.
    Unsubscribe(String),
    /// A recipient, or for some statuses the sender, sets the status of copies.
    Ack(Vec<Receipt>),
}

impl RouterAction {
    /// A short form of the action: `#5 · acknowledged`. `None` for an ack that changes no status.
    pub fn summary(&self) -> Option<String> {
        let (what, done) = match self {
            RouterAction::Subscribe(topic) => (format!("#{topic}"), "subscribed"),
            RouterAction::Unsubscribe(topic) => (format!("#{topic}"), "unsubscribed"),
            RouterAction::Ack(receipts) => {
                let seqs: BTreeSet<u64> =
                    receipts.iter().flat_map(|one| &one.seqs).copied().collect();
                let numbers = seqs.iter().map(|seq| format!("#{seq}"));
                (listed(numbers), receipts.first()?.status.as_str())
            }
        };
        Some(format!("{what} · {done}"))
    }
}

/// Like [`RouterAction::summary`], from the `refs` and the `status` of a copy of an ack.
pub(crate) fn summary_of_copy(copy: &Map<String, Value>) -> Option<String> {
    if copy.get("type")?.as_str()? != "ack" {
        return None;
    }
    let refs = copy.get("refs")?.as_array()?;
    let refs = refs.iter().filter_map(Value::as_str).map(str::to_owned);
    Some(format!(
        "{} · {}",
        listed(refs),
        copy.get("status")?.as_str()?
    ))
}

/// The event of a record.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Event {
    /// The start of the log.
    Room {
        /// The room's id.
        #[serde(rename = "id", default, skip_serializing_if = "Option::is_none")]
        room: Option<String>,
    },
    /// A message was accepted, with its recipients.
    Accepted(Box<AcceptedMessage>),
    /// A file was rejected.
    Rejected(Box<FileRejection>),
    /// A message was repeated with the same id and the same content.
    Duplicate(Box<DuplicateMessage>),
    /// The router sent a message of its own.
    Notice(Box<RouterNotice>),
    /// The router observed new statuses of copies, or an item of a link had no message.
    Receipts {
        /// The item's file.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        origin: Option<Box<MessageOrigin>>,
    },
    /// All copies of these records are durable in their inboxes, and their picked-up files are retired.
    Settled {},
    /// A person accepted that the log lost records.
    Gap {
        /// The person.
        #[serde(rename = "by")]
        from: Arc<str>,
        /// The lost records.
        #[serde(rename = "lost")]
        gap: Box<LogGap>,
    },
}

/// The file that brought a message.
#[derive(Debug, Serialize, Deserialize)]
pub struct MessageOrigin {
    /// The picked-up file: a file name in `spool/claim`.
    pub claim: String,
    /// The line of the picked-up file, from 1, for a file with one message per line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The item of a link that brought it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrived: Option<IncomingItem>,
}

/// An accepted message.
#[derive(Debug, Serialize, Deserialize)]
pub struct AcceptedMessage {
    /// The file that brought it.
    pub origin: MessageOrigin,
    /// Its name.
    pub name: MessageName,
    /// The recipients.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub to: Vec<RecipientGroup>,
    /// The deadlines.
    #[serde(default, skip_serializing_if = "MessageTimes::is_empty")]
    pub times: MessageTimes,
    /// The router's action (types `subscribe`, `unsubscribe` and `ack`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub act: Option<RouterAction>,
    /// The results of its changes, as the copies report them in `delivery`.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub delivery: Map<String, Value>,
    /// The complete message.
    pub message: Box<RawValue>,
}

/// The times that the router sets when it accepts a message: RFC 3339, UTC.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MessageTimes {
    /// The expiry time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
    /// The earliest time of an announcement without request. Mail of a long talk is announced later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub announce_after: Option<String>,
}

impl MessageTimes {
    fn is_empty(&self) -> bool {
        *self == MessageTimes::default()
    }
}

/// A rejected file.
#[derive(Debug, Serialize, Deserialize)]
pub struct FileRejection {
    /// The file.
    pub origin: MessageOrigin,
    /// The name of the bounce.
    pub name: MessageName,
    /// The recipient of the bounce, if the bounce is sent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub to: Vec<RecipientGroup>,
    /// The reasons.
    pub problems: Vec<Problem>,
    /// The bounce.
    pub message: Box<RawValue>,
}

/// A repeated message.
#[derive(Debug, Serialize, Deserialize)]
pub struct DuplicateMessage {
    /// The file that brought it.
    pub origin: MessageOrigin,
    /// Its name.
    pub name: MessageName,
    /// The earlier record with the same content.
    pub of: u64,
}

/// A message of the router's own.
#[derive(Debug, Serialize, Deserialize)]
pub struct RouterNotice {
    /// Its name.
    pub name: MessageName,
    /// Its subject. Each subject is sent once.
    pub about: String,
    /// The recipients.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub to: Vec<RecipientGroup>,
    /// The message.
    pub message: Box<RawValue>,
}
