//! The copies of a message in the inboxes of its recipients.
//!
//! A copy depends only on its record and its recipient, so a reader can compare a file with its record.

use super::print::{pretty, pretty_fields};
use super::record::Record;
use super::{FIELDS, Message};
use serde_json::{Map, Value};

/// The copies of one message: the parts that they share, printed once.
pub struct MessageCopies {
    before_to: String,
    before_via: String,
    behind: String,
}

/// The fields before `to` in a copy.
const HEAD: [&str; 3] = ["id", "timestamp", "from"];

/// Long fields, written last so that a reader finds the others at the beginning of the file. The
/// body is the first of them, because its beginning is useful by itself.
const LONG: [&str; 6] = [
    "body",
    "addressed_to",
    "refs",
    "context",
    "attachments",
    "metadata",
];

impl MessageCopies {
    /// The copies of a record that was read from the log. `None` if it has no message.
    pub fn of(record: &Record) -> Option<MessageCopies> {
        let fields: Map<String, Value> = record.message_fields()?;
        Some(MessageCopies::new(record, &Message::from_fields(fields)?))
    }

    /// The copies of this record's message. The accept time replaces a timestamp that the sender left out.
    pub fn new(record: &Record, message: &Message) -> MessageCopies {
        let Record { seq, at, .. } = record;
        let (fields, now, addressed_to) = (
            message.fields(),
            Value::from(at.as_str()),
            addressed_to(message),
        );
        let later = record
            .accepted()
            .and_then(|accepted| accepted.times.announce_after.as_ref())
            .map(|at| format!("    \"announce_after\": \"{at}\",\n"));
        let later = later.unwrap_or_default();
        let head = HEAD
            .iter()
            .map(|name| (*name, fields.get(*name).unwrap_or(&now)));
        let others = fields.iter().map(|(name, value)| (name.as_str(), value));
        let others = others
            .filter(|(name, _)| !HEAD.contains(name) && !["to", "addressed_to"].contains(name));
        let mut others: Vec<_> = others.chain([("addressed_to", &addressed_to)]).collect();
        others.sort_by_cached_key(|(name, _)| place(name));
        MessageCopies {
            before_to: ["{\n", &pretty_fields(head), ",\n  \"to\": "].concat(),
            before_via: format!(
                ",\n  \"delivery\": {{\n    \"seq\": {seq},\n    \"accepted_at\": \"{at}\",\n{later}    \"via\": "
            ),
            behind: [
                &outcomes(record),
                "\n  },\n",
                &pretty_fields(others.into_iter()),
                "\n}\n",
            ]
            .concat(),
        }
    }

    /// The copy for one recipient. Neither an agent's name nor `via` needs escaping.
    pub fn copy(&self, agent: &str, via: &str) -> Vec<u8> {
        let MessageCopies {
            before_to,
            before_via,
            behind,
        } = self;
        let length =
            before_to.len() + before_via.len() + behind.len() + agent.len() + via.len() + 4;
        let mut text = String::with_capacity(length);
        for part in [
            before_to, "\"", agent, "\"", before_via, "\"", via, "\"", behind,
        ] {
            text.push_str(part);
        }
        text.into_bytes()
    }
}

/// The place of a field in a copy: short fields in the order of the protocol, long fields, unknown fields in their
/// sender's order.
fn place(name: &str) -> usize {
    if let Some(at) = LONG.iter().position(|long| *long == name) {
        return FIELDS.len() + at;
    }
    let short = FIELDS.iter().position(|known| *known == name);
    short.unwrap_or(usize::MAX)
}

/// The part of a copy after `via`: the results of changes.
fn outcomes(record: &Record) -> String {
    let delivery = record.accepted().map(|accepted| &accepted.delivery);
    let mut text = String::new();
    for (name, outcome) in delivery.into_iter().flatten() {
        text += &format!(",\n    \"{name}\": {}", pretty(outcome, 2));
    }
    text
}

/// The sender's value of `to`, or else the mentions.
fn addressed_to(message: &Message) -> Value {
    match message.fields().get("to") {
        Some(to) => to.clone(),
        None => message
            .addresses()
            .iter()
            .map(|address| Value::from(address.as_str()))
            .collect(),
    }
}
