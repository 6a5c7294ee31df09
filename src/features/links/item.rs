//! Items: the units that cross a link to another room.
//!
//! Each direction of a link is a *stream*: items with the numbers 1, 2, 3, without gaps, each with the digest of the item
//! before. An item is made from its record alone, so that it can be made again from the log.

use crate::base::hash::{Hash, NO_HASH, hex, unhex};
use crate::message::carried::{OutgoingItem, RemoteReceipt};
use crate::message::id::{self, far, tag_of};
use crate::message::record::{EventKind, Record};
use crate::message::reference::Reference;
use crate::message::{Message, TypeSenders, behaviour, digest_of};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// The actions of a `link` message: remove the link if no mail waits; remove it and notify the senders of waiting mail.
pub const ACTIONS: [&str; 2] = ["remove", "bounce"];

/// A parsed item.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkItem {
    /// The id of the stream.
    pub stream: Arc<str>,
    /// Its number.
    pub n: u64,
    /// The digest of the item before.
    pub prev: Hash,
    /// Its own digest.
    pub digest: Hash,
    /// The number of its record in the room that sent it.
    pub seq: u64,
    /// The message: its sender, its addresses in this room, and its fields. `None` for receipts alone.
    pub letter: Option<(String, Vec<String>, Map<String, Value>)>,
    /// Status changes of this room's messages.
    pub receipts: Vec<RemoteReceipt>,
}

/// The tags of the rooms that a record sends its message to.
pub fn tags(record: &Record) -> Vec<Arc<str>> {
    let mut tags: Vec<Arc<str>> = Vec::new();
    for tag in record.recipients().filter_map(|(agent, _)| tag_of(agent)) {
        if !tags.iter().any(|known| **known == *tag) {
            tags.push(tag.into());
        }
    }
    tags
}

/// The text of an item: one line, with its digest last. `message` are the fields of the record's message.
pub fn text(
    record: &Record,
    message: Option<&Map<String, Value>>,
    carried: &OutgoingItem,
) -> String {
    let mut fields = fields(record, message, carried);
    fields.insert("digest".into(), hex(&carried.digest).into());
    Value::Object(fields).to_string() + "\n"
}

/// The text of an item with these fields, and with their digest.
pub fn seal(mut fields: Map<String, Value>) -> String {
    let digest = digest_of(&fields);
    fields.insert("digest".into(), hex(&digest).into());
    Value::Object(fields).to_string() + "\n"
}

/// The digest of an item.
pub fn digest(
    record: &Record,
    message: Option<&Map<String, Value>>,
    carried: &OutgoingItem,
) -> Hash {
    digest_of(&fields(record, message, carried))
}

/// Returns true if an item has the message of its record. Otherwise it has only receipts, or nothing.
pub fn has_message(record: &Record, carried: &OutgoingItem) -> bool {
    let mut to = recipients_of_link(record, &carried.link);
    to.next().is_some() && !carried.alone && record.kind() != EventKind::Duplicate
}

fn recipients_of_link<'a>(record: &'a Record, link: &'a str) -> impl Iterator<Item = &'a str> {
    record
        .recipients()
        .map(|(agent, _)| &**agent)
        .filter(move |agent| tag_of(agent) == Some(link))
}

fn fields(
    record: &Record,
    message: Option<&Map<String, Value>>,
    carried: &OutgoingItem,
) -> Map<String, Value> {
    let OutgoingItem {
        link,
        stream,
        n,
        prev,
        receipts,
        ..
    } = carried;
    let mut fields = Map::new();
    fields.insert("stream".into(), json!(stream));
    fields.insert("n".into(), (*n).into());
    fields.insert("prev".into(), hex(prev).into());
    fields.insert("seq".into(), record.seq.into());
    if has_message(record, carried)
        && let Some(message) = message
    {
        let to: Vec<&str> = recipients_of_link(record, link)
            .map(|agent| &agent[link.len() + 1..])
            .collect();
        fields.insert("from".into(), json!(record.from()));
        fields.insert("to".into(), json!(to));
        fields.insert(
            "message".into(),
            Value::Object(fields_for_link(message, link, record)),
        );
    }
    if !receipts.is_empty() {
        fields.insert("receipts".into(), json!(receipts));
    }
    fields
}

/// The fields of a message in an item: without sender and recipients, which are separate fields,
/// with the accept time as the default `timestamp`, and with references in the other room's form. A
/// reference that begins with a colon is to a message of the other room.
fn fields_for_link(
    message: &Map<String, Value>,
    link: &str,
    record: &Record,
) -> Map<String, Value> {
    let mut message = message.clone();
    message.shift_remove("from");
    message.shift_remove("to");
    message
        .entry("timestamp")
        .or_insert_with(|| record.at.as_str().into());
    change_references(&mut message, &|_, text| {
        let theirs = text
            .strip_prefix(link)
            .filter(|rest| rest.starts_with(':'))?;
        has_sender(theirs).then(|| theirs.to_owned())
    });
    message
}

/// The references of a message from this link, as this room has them. A text in `refs` such as `docs/a.md` has the
/// form of a reference to a message of `docs`, so it is changed only if `is_agent` says that this is an agent.
pub fn bring_home(
    message: &mut Map<String, Value>,
    link: &str,
    is_agent: &dyn Fn(&str, &str) -> bool,
) {
    change_references(message, &|field, text| {
        if has_sender(text) && text.starts_with(':') {
            return Some(text[1..].to_owned());
        }
        let reference = Reference::parse(text)?;
        let (sender, id) = (reference.sender()?, reference.id().unwrap_or_default());
        let is_message = field == "in_reply_to" || is_agent(sender, id);
        is_message.then(|| far(link, text))
    });
}

/// Returns true if this text, which may begin with a colon, is a reference with a sender.
fn has_sender(text: &str) -> bool {
    let text = text.strip_prefix(':').unwrap_or(text);
    Reference::parse(text).is_some_and(|one| one.sender().is_some())
}

/// Replaces each reference if `change`, given the field and the text, returns another text.
fn change_references(
    message: &mut Map<String, Value>,
    change: &dyn Fn(&str, &str) -> Option<String>,
) {
    for field in ["in_reply_to", "refs"] {
        let references = match message.get_mut(field) {
            Some(Value::Array(references)) => references.as_mut_slice(),
            Some(reference) => std::slice::from_mut(reference),
            None => continue,
        };
        for reference in references {
            if let Some(changed) = reference.as_str().and_then(|text| change(field, text)) {
                *reference = changed.into();
            }
        }
    }
}

/// Why a file is not the item that it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LinkItemError {
    /// The content does not match the digest, for example after a power cut.
    Damaged,
    /// It is complete but invalid.
    Invalid(&'static str),
}

impl LinkItem {
    /// Reads an item.
    pub fn read(value: Value) -> Result<LinkItem, LinkItemError> {
        let Value::Object(mut fields) = value else {
            return Err(LinkItemError::Damaged);
        };
        let digest = fields
            .shift_remove("digest")
            .and_then(|digest| unhex(digest.as_str()?))
            .ok_or(LinkItemError::Damaged)?;
        if digest_of(&fields) != digest {
            return Err(LinkItemError::Damaged);
        }
        LinkItem::of(fields, digest).ok_or(LinkItemError::Invalid(
            "a field is missing or has a wrong form",
        ))
    }

    fn of(mut fields: Map<String, Value>, digest: Hash) -> Option<LinkItem> {
        let stream: Arc<str> = fields
            .get("stream")?
            .as_str()
            .filter(|stream| id::is_message_id(stream))?
            .into();
        let number = |name: &str| fields.get(name).and_then(Value::as_u64);
        let (n, seq) = (number("n").filter(|n| *n > 0)?, number("seq")?);
        let prev = unhex(fields.get("prev")?.as_str()?)?;
        let receipts = match fields.shift_remove("receipts") {
            Some(receipts) => serde_json::from_value(receipts).ok()?,
            None => Vec::new(),
        };
        let letter = match fields.shift_remove("message") {
            Some(Value::Object(message)) => {
                let from = fields
                    .get("from")?
                    .as_str()
                    .filter(|from| id::is_name(from))?
                    .to_owned();
                let to = serde_json::from_value(fields.shift_remove("to")?).ok()?;
                Some((from, to, message))
            }
            Some(_) => return None,
            None => None,
        };
        Some(LinkItem {
            stream,
            n,
            prev,
            digest,
            seq,
            letter,
            receipts,
        })
    }
}

/// Why a message cannot cross a link. A bounce of the other room's router can.
pub fn reason_to_stay(message: &Message) -> Option<&'static str> {
    let is_bounce = message.kind() == "error"
        && tag_of(message.from()).is_some_and(|tag| far(tag, id::MAILBAG) == message.from());
    let mut references = message
        .text("in_reply_to")
        .into_iter()
        .chain(message.references());
    let has_numbers =
        references.any(|text| Reference::parse(text).is_some_and(|one| one.seq().is_some()));
    if message.is_about_claims() || message.is_about_approvals() {
        Some("it changes claims or approvals, which belong to one room")
    } else if behaviour(message.kind()).senders != TypeSenders::Everyone && !is_bounce {
        Some("messages of its type act on one room, or look like mail of its router or its person")
    } else if has_numbers {
        Some("it refers to a message by number, and each room has its own numbers: write the id")
    } else {
        None
    }
}

/// The digest before a stream's first item.
pub const FIRST: Hash = NO_HASH;

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> (Record, Map<String, Value>) {
        let record: Record = serde_json::from_value(json!({
            "seq": 42, "at": "", "batch": 1, "prev": hex(&FIRST), "event": {"accepted": {
                "origin": {"claim": "1~alice~a.json"},
                "name": {"from": "alice", "id": "m-1", "digest": hex(&FIRST)},
                "to": [{"via": "link", "agents": ["po:Sintra", "fit:bob"]}], "message": {},
            }},
        }))
        .expect("a record");
        let message = json!({"id": "m-1", "from": "alice", "to": "po:Sintra", "type": "message", "body": "hi",
                             "in_reply_to": "po:Sintra/q-1",
                             "refs": ["alice/m-0", "m-2", "docs/a.md", ":x:", "po:x", "po:Sintra/m-3"]});
        let Value::Object(message) = message else {
            unreachable!()
        };
        (record, message)
    }

    fn carried() -> OutgoingItem {
        OutgoingItem {
            link: "po".into(),
            stream: "s".into(),
            n: 1,
            prev: FIRST,
            digest: FIRST,
            receipts: Vec::new(),
            alone: false,
        }
    }

    #[test]
    fn an_item_reads_back_with_its_references_as_the_other_room_has_them() {
        let (record, message) = record();
        let mut carried = carried();
        carried.digest = digest(&record, Some(&message), &carried);
        let text = text(&record, Some(&message), &carried);
        assert_eq!(text, seal(fields(&record, Some(&message), &carried)));
        let item = LinkItem::read(serde_json::from_str(&text).expect("JSON")).expect("an item");
        let (from, to, mut fields) = item.letter.expect("a message");
        assert_eq!(
            (item.n, item.seq, &*from, to),
            (1, 42, "alice", vec!["Sintra".to_owned()])
        );
        bring_home(&mut fields, "fit", &|sender, _| sender == "alice");
        let references = (fields["in_reply_to"].as_str(), fields["refs"].to_string());
        assert_eq!(
            references,
            (
                Some("Sintra/q-1"),
                r#"["fit:alice/m-0","m-2","docs/a.md",":x:","po:x","Sintra/m-3"]"#.to_owned()
            )
        );
        assert!(!fields.contains_key("from") && !fields.contains_key("to"));
    }

    #[test]
    fn a_changed_item_is_damaged() {
        let (record, message) = record();
        let mut carried = carried();
        carried.digest = digest(&record, Some(&message), &carried);
        let text = text(&record, Some(&message), &carried).replace("\"hi\"", "\"ho\"");
        assert_eq!(
            LinkItem::read(serde_json::from_str(&text).expect("JSON")),
            Err(LinkItemError::Damaged)
        );
    }
}
