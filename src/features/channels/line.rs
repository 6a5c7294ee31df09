//! A message as one line of its channel's conversation, in the NDJSON dialect.

use crate::message::Message;
use crate::message::record::Record;
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use serde_json::{Map, Value};

/// The fields with a place of their own in a line; all others are in its `metadata`.
const PLACED: [&str; 8] = [
    "id",
    "timestamp",
    "from",
    "to",
    "type",
    "body",
    "refs",
    "metadata",
];
/// The fields that the router adds to the `metadata` of a line.
const DELIVERY: &str = "delivery";
/// The place of entries of the sender's own `metadata` with names in use.
const OWN: &str = "metadata";

/// The line of a message that was accepted with this number at this time, newline included.
pub fn line(message: &Message, seq: u64, at: &str) -> Vec<u8> {
    let mut line = Vec::with_capacity(512);
    write(&mut line, message, seq, at);
    line
}

/// Like [`line`], appended to `lines`.
pub(super) fn write(lines: &mut Vec<u8>, message: &Message, seq: u64, at: &str) {
    let line = ChannelLine {
        id: message.id(),
        t: message.text("timestamp").unwrap_or(at),
        kind: message.kind(),
        sender: message.from(),
        content: message.text("body").unwrap_or_default(),
        addressed: message.addresses(),
        refs: refs(message),
        metadata: ChannelLineMetadata {
            message,
            delivery: ChannelLineDelivery {
                seq,
                accepted_at: at,
            },
        },
    };
    serde_json::to_writer(&mut *lines, &line).expect("a message has only text keys");
    lines.push(b'\n');
}

/// The line of a record, or `None` if no conversation shows it.
pub fn of_record(record: &Record) -> Option<Vec<u8>> {
    record.channel()?;
    let fields = record.message_fields()?;
    Some(line(&Message::from_fields(fields)?, record.seq, &record.at))
}

/// A message of a channel, in the NDJSON dialect.
#[derive(Serialize)]
pub struct ChannelLine<'a> {
    /// Message id.
    id: &'a str,
    /// When it was written; the accept time if its sender does not say so.
    t: &'a str,
    /// Its type.
    #[serde(rename = "type")]
    kind: &'a str,
    /// Its sender.
    sender: &'a str,
    /// Its body.
    content: &'a str,
    /// Its addresses, or the agents that its body mentions.
    addressed: &'a [String],
    /// The messages that it refers to, and the message that it answers.
    refs: Vec<&'a Value>,
    /// All other fields.
    metadata: ChannelLineMetadata<'a>,
}

/// The related messages, and the message that it answers.
fn refs(message: &Message) -> Vec<&Value> {
    let mut refs: Vec<&Value> = message
        .fields()
        .get("refs")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .collect();
    refs.extend(
        message
            .fields()
            .get("in_reply_to")
            .filter(|answered| !refs.contains(answered)),
    );
    refs
}

/// All fields without a place of their own, and the record of the message.
struct ChannelLineMetadata<'a> {
    message: &'a Message,
    /// The record of the message.
    delivery: ChannelLineDelivery<'a>,
}

impl Serialize for ChannelLineMetadata<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let fields = self.message.fields();
        let own = fields.get("metadata").and_then(Value::as_object);
        let mut displaced = Map::new();
        let mut metadata = to.serialize_map(None)?;
        for (key, value) in own.into_iter().flatten() {
            let is_elsewhere = !PLACED.contains(&key.as_str()) && fields.contains_key(key);
            if is_elsewhere || key == DELIVERY || key == OWN {
                displaced.insert(key.clone(), value.clone());
            } else {
                metadata.serialize_entry(key, value)?;
            }
        }
        for (field, value) in fields {
            if !PLACED.contains(&field.as_str()) {
                metadata.serialize_entry(field, value)?;
            }
        }
        if !displaced.is_empty() {
            metadata.serialize_entry(OWN, &displaced)?;
        }
        metadata.serialize_entry(DELIVERY, &self.delivery)?;
        metadata.end()
    }
}

#[derive(Serialize)]
struct ChannelLineDelivery<'a> {
    /// Its number.
    seq: u64,
    /// Its accept time.
    accepted_at: &'a str,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(json: &str) -> String {
        let message =
            Message::from_fields(serde_json::from_str(json).expect("JSON")).expect("a message");
        String::from_utf8(line(&message, 7, "2026-11-21T10:30:00.000000Z")).expect("UTF-8")
    }

    #[test]
    fn a_line_has_its_keys_in_order_and_loses_nothing() {
        // P52
        let line = shown(
            r#"{"id":"1","from":"a","type":"answer","to":"bob","subject":"s","body":"x\ny","in_reply_to":"0","refs":["r"],
               "metadata":{"k":1.50,"subject":"mine","delivery":true},"thread_id":"t","own":null}"#,
        );
        let wanted = concat!(
            r#"{"id":"1","t":"2026-11-21T10:30:00.000000Z","type":"answer","sender":"a","content":"x\ny","#,
            r#""addressed":["bob"],"refs":["r","0"],"metadata":{"k":1.50,"subject":"s","in_reply_to":"0","#,
            r#""thread_id":"t","own":null,"metadata":{"subject":"mine","delivery":true},"#,
            r#""delivery":{"seq":7,"accepted_at":"2026-11-21T10:30:00.000000Z"}}}"#,
            "\n"
        );
        assert_eq!(line, wanted);
    }

    #[test]
    fn without_to_the_mentions_are_addressed_and_without_a_body_the_content_is_empty() {
        let line = shown(
            r#"{"id":"1","timestamp":"2026-01-01","from":"a","type":"message","body":"@bob?"}"#,
        );
        assert!(
            line.contains(r#""t":"2026-01-01","#) && line.contains(r#""addressed":["@bob"]"#),
            "{line}"
        );
        let line = shown(r#"{"id":"1","from":"a","type":"status","subject":"only"}"#);
        assert!(
            line.contains(r#""content":"","addressed":[],"refs":[],"metadata":{"subject":"only","#),
            "{line}"
        );
    }
}
