//! A message as one line of its channel's conversation, in the NDJSON dialect.

use crate::message::Message;
use crate::message::record::Record;
use serde::ser::{Serialize, SerializeMap, Serializer};
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
/// The place of entries of the sender's own `metadata` whose names are in use.
const OWN: &str = "metadata";

/// The line of a message that was accepted with this number at this time, newline included.
pub fn line(message: &Message, seq: u64, at: &str) -> Vec<u8> {
    let mut line = Vec::with_capacity(512);
    write(&mut line, message, seq, at);
    line
}

/// Like [`line`], appended to `lines`.
pub(super) fn write(lines: &mut Vec<u8>, message: &Message, seq: u64, at: &str) {
    let whole = Whole { message, seq, at };
    serde_json::to_writer(&mut *lines, &whole).expect("a message has only text keys");
    lines.push(b'\n');
}

/// The line of a record; `None` if no conversation shows it.
pub fn of_record(record: &Record) -> Option<Vec<u8>> {
    record.channel()?;
    let fields = record.message_fields()?;
    Some(line(&Message::from_fields(fields)?, record.seq, &record.at))
}

struct Whole<'a> {
    message: &'a Message,
    seq: u64,
    at: &'a str,
}

impl Serialize for Whole<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let message = self.message;
        let mut line = to.serialize_map(Some(8))?;
        line.serialize_entry("id", message.id())?;
        line.serialize_entry("t", message.text("timestamp").unwrap_or(self.at))?;
        line.serialize_entry("type", message.kind())?;
        line.serialize_entry("sender", message.from())?;
        line.serialize_entry("content", message.text("body").unwrap_or_default())?;
        line.serialize_entry("addressed", message.addresses())?;
        line.serialize_entry("refs", &refs(message))?;
        line.serialize_entry("metadata", &Metadata(self))?;
        line.end()
    }
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

struct Metadata<'a>(&'a Whole<'a>);

impl Serialize for Metadata<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Whole { message, seq, at } = *self.0;
        let fields = message.fields();
        let is_elsewhere = |field: &str| !PLACED.contains(&field) && fields.contains_key(field);
        let is_taken = |key: &str| is_elsewhere(key) || key == DELIVERY || key == OWN;
        let own = fields
            .get("metadata")
            .and_then(Value::as_object)
            .into_iter()
            .flatten();
        let (displaced, kept): (Vec<_>, Vec<_>) = own.partition(|(key, _)| is_taken(key));
        let mut metadata = to.serialize_map(None)?;
        kept.into_iter()
            .try_for_each(|(key, value)| metadata.serialize_entry(key, value))?;
        let others = fields
            .iter()
            .filter(|(field, _)| !PLACED.contains(&&***field));
        others
            .into_iter()
            .try_for_each(|(field, value)| metadata.serialize_entry(field, value))?;
        if !displaced.is_empty() {
            let displaced: Map<String, Value> = displaced
                .into_iter()
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect();
            metadata.serialize_entry(OWN, &displaced)?;
        }
        metadata.serialize_entry(
            DELIVERY,
            &Delivery {
                seq,
                accepted_at: at,
            },
        )?;
        metadata.end()
    }
}

#[derive(serde::Serialize)]
struct Delivery<'a> {
    seq: u64,
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
