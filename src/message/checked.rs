//! The checked message: a message that passed the schema and the rules.

use crate::base::hash::{Hash, hash};
use crate::message::mentions::mentions;
use crate::message::priority::Priority;
use crate::message::table::{FIELDS, MessageActor, behaviour};
use crate::message::types::{APPROVAL, DECISION, QUESTION};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

/// Fields that the router adds to delivered copies. A sender may not set them.
pub const ROUTERS_OWN: &[&str] = &["addressed_to", "delivery"];
/// The default channel.
pub const DEFAULT_CHANNEL: &str = "main";

/// A message in canonical form, with id, sender and type filled in.
#[derive(Debug, Clone)]
pub struct Message {
    fields: Map<String, Value>,
    addresses: Vec<String>,
    by_mention: bool,
}

/// Returns true if the sender of a message with these fields expects an answer.
pub fn wants_answer(fields: &Map<String, Value>) -> bool {
    let is_required = field(fields, "requires_response").and_then(Value::as_bool);
    is_required.unwrap_or_default() || text_field(fields, "type") == Some(QUESTION)
}

impl Message {
    /// Restores a message from a log record. The message was checked when it was accepted, so only the fields that the
    /// methods below need are checked: `None` without `id`, `from` and `type`.
    pub fn from_fields(fields: Map<String, Value>) -> Option<Message> {
        let kind = ["id", "from", "type"].map(|name| text_field(&fields, name));
        let [Some(_), Some(_), Some(kind)] = kind else {
            return None;
        };
        let addresses = texts(field(&fields, "to")).into_iter();
        let mut addresses: Vec<String> = addresses.map(str::to_owned).collect();
        let mut by_mention = false;
        // A mention in the body of an ack or a claim does not make it a message to that agent.
        if addresses.is_empty() && behaviour(kind).acted_on_by.is_none() && !is_decision(&fields) {
            addresses = text_field(&fields, "body")
                .map(mentions)
                .unwrap_or_default();
            by_mention = !addresses.is_empty();
        }
        Some(Message {
            fields,
            addresses,
            by_mention,
        })
    }

    /// The message's id, unique per sender.
    pub fn id(&self) -> &str {
        self.text("id").unwrap_or_default()
    }

    /// The sender: the owner of the outbox.
    pub fn from(&self) -> &str {
        self.text("from").unwrap_or_default()
    }

    /// The message's type.
    pub fn kind(&self) -> &str {
        self.text("type").unwrap_or_default()
    }

    /// The addresses in `to` as the sender wrote them. Without `to`, the mentions in the body.
    pub fn addresses(&self) -> &[String] {
        &self.addresses
    }

    /// Returns true if its sender wrote recipients into `to`.
    pub fn has_recipients(&self) -> bool {
        !self.addresses.is_empty() && !self.by_mention
    }

    /// Returns true if the addresses are mentions in the body. Then an unknown name is not an
    /// error.
    pub fn by_mention(&self) -> bool {
        self.by_mention
    }

    /// The channel of the message.
    pub fn channel(&self) -> &str {
        self.text("channel").unwrap_or(DEFAULT_CHANNEL)
    }

    /// `low`, `normal`, `high` or `urgent`.
    pub fn priority(&self) -> Priority {
        Priority::from_field(self.fields.get("priority"))
    }

    /// A text field. `None` if the field is absent or not text.
    pub fn text(&self, name: &str) -> Option<&str> {
        text_field(&self.fields, name)
    }

    /// The related messages in `refs`, as the sender wrote them.
    pub fn references(&self) -> impl Iterator<Item = &str> {
        text_items(&self.fields, "refs")
    }

    /// Returns true if the sender expects an answer.
    pub fn wants_answer(&self) -> bool {
        wants_answer(&self.fields)
    }

    /// All fields in the sender's order.
    pub fn fields(&self) -> &Map<String, Value> {
        &self.fields
    }

    /// Returns true for a type that the router acts on and that no conversation shows.
    pub fn is_for_router(&self) -> bool {
        behaviour(self.kind()).acted_on_by == Some(MessageActor::Router)
    }

    /// Returns true if it changes the ownership of work.
    pub fn is_about_claims(&self) -> bool {
        behaviour(self.kind()).acted_on_by == Some(MessageActor::Claims) || is_offer(&self.fields)
    }

    /// Returns true if it asks for a decision or decides an approval.
    pub fn is_about_approvals(&self) -> bool {
        self.kind() == APPROVAL || is_decision(&self.fields)
    }

    /// The subjects in `claims`, as the sender wrote them.
    pub fn claims(&self) -> impl Iterator<Item = &str> {
        text_items(&self.fields, "claims")
    }

    /// SHA-256 of the message as compact JSON, with sorted keys at every depth and numbers as written. Python's
    /// `json.dumps(m, sort_keys=True, separators=(",", ":"), ensure_ascii=False)` gives the same bytes, except for
    /// numbers in a form that Python does not write.
    pub fn digest(&self) -> Hash {
        digest_of(&self.fields)
    }
}

/// Like [`Message::digest`], for any object.
pub(crate) fn digest_of(fields: &Map<String, Value>) -> Hash {
    hash(serde_json::to_vec(&SortedObject(fields)).expect("JSON values print"))
}

/// An object that is written with sorted keys at every depth.
struct SortedObject<'a>(&'a Map<String, Value>);

impl Serialize for SortedObject<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        // UTF-8 sorts in the order of code points, as Python does.
        let mut entries: Vec<(&String, &Value)> = self.0.iter().collect();
        entries.sort_unstable_by_key(|(key, _)| *key);
        to.collect_map(
            entries
                .into_iter()
                .map(|(key, value)| (key, SortedValue(value))),
        )
    }
}

struct SortedValue<'a>(&'a Value);

impl Serialize for SortedValue<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Array(items) => to.collect_seq(items.iter().map(SortedValue)),
            Value::Object(fields) => SortedObject(fields).serialize(to),
            value => value.serialize(to),
        }
    }
}

/// A field of a message. For a small object a linear scan is faster than hashing the name.
pub(crate) fn field<'m>(fields: &'m Map<String, Value>, name: &str) -> Option<&'m Value> {
    const FEW: usize = 16;
    match fields.len() {
        ..=FEW => fields
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, value)| value),
        _ => fields.get(name),
    }
}

/// A text field of a message. `None` if the field is absent or not text.
pub(crate) fn text_field<'m>(fields: &'m Map<String, Value>, name: &str) -> Option<&'m str> {
    field(fields, name)?.as_str()
}

/// The texts in a list field of a message.
pub(crate) fn text_items<'m>(
    fields: &'m Map<String, Value>,
    name: &str,
) -> impl Iterator<Item = &'m str> {
    let items = field(fields, name).and_then(Value::as_array);
    items.into_iter().flatten().filter_map(Value::as_str)
}

/// Returns true if `to` has an address, or a value of a wrong type.
pub(super) fn has_to(fields: &Map<String, Value>) -> bool {
    field(fields, "to").is_some_and(|to| to.as_array().is_none_or(|to| !to.is_empty()))
}

/// Returns true for a handoff that offers claims. Without `claims` it is an ordinary message.
pub fn is_offer(fields: &Map<String, Value>) -> bool {
    text_field(fields, "type") == Some("handoff") && field(fields, "claims").is_some()
}

/// Returns true for a decision on an approval. Without `option` or `in_reply_to` it is an ordinary
/// message.
pub fn is_decision(fields: &Map<String, Value>) -> bool {
    let is_decision = text_field(fields, "type") == Some(DECISION);
    is_decision
        && ["option", "in_reply_to"]
            .iter()
            .all(|name| field(fields, name).is_some())
}

/// The sender's own fields, under one name for display.
pub fn unknown(fields: &Map<String, Value>) -> Option<Value> {
    let is_known = |name: &str| FIELDS.contains(&name) || ROUTERS_OWN.contains(&name);
    let own = fields.iter().filter(|(name, _)| !is_known(name));
    let own: Map<String, Value> = own
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    (!own.is_empty()).then_some(Value::Object(own))
}

/// The fields of an object, without fields that are null.
pub fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(mut fields) => {
            fields.retain(|_, value| !value.is_null());
            fields
        }
        _ => Map::new(),
    }
}

/// The texts of a value that is one text or a list.
pub fn texts(value: Option<&Value>) -> Vec<&str> {
    match value {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(many)) => many.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::hash::hex;

    fn message(json: &str) -> Message {
        Message::from_fields(serde_json::from_str(json).expect("JSON")).expect("a message")
    }

    #[test]
    fn the_digest_matches_python_s_sorted_compact_dump() {
        let m = message(
            r#"{"to":["b","é"],"id":"1","from":"a","type":"message","body":"\u0001\u0008\u000c\n\r\t\"\\\u007f/ é \ud83d\ude00",
               "z":{"b":1,"a":[true,false,null,12345678901234567890,1.5,-3]},"é":1,"😀":2,"ﬀ":3}"#,
        );
        assert_eq!(
            hex(&m.digest()),
            "c5a62c73f68e792910d6cfdb702a92345c75c829ddd2a512c290810ea4c671ab"
        );
    }

    #[test]
    fn the_digest_does_not_depend_on_the_order_of_fields() {
        let long = "x\n".repeat(5000);
        let text = serde_json::to_string(&long).expect("JSON");
        let a = message(&format!(
            r#"{{"id":"1","from":"a","type":"message","body":{text}}}"#
        ));
        let b = message(&format!(
            r#"{{"body":{text},"type":"message","from":"a","id":"1"}}"#
        ));
        let whole = format!(r#"{{"body":{text},"from":"a","id":"1","type":"message"}}"#);
        assert_eq!(a.digest(), b.digest());
        assert_eq!(a.digest(), hash(whole));
    }

    #[test]
    fn without_to_the_mentions_are_the_addresses_except_in_an_ack() {
        let m = message(r#"{"id":"1","from":"a","type":"message","to":[],"body":"@bob, look"}"#);
        assert_eq!(
            (m.addresses(), m.by_mention()),
            (&["@bob".to_owned()][..], true)
        );
        let m = message(r#"{"id":"1","from":"a","type":"ack","body":"@bob, look"}"#);
        assert_eq!((m.addresses().len(), m.is_for_router()), (0, true));
    }

    #[test]
    fn a_record_without_id_sender_or_type_is_not_a_message() {
        let fields = serde_json::from_str(r#"{"id":"1","from":"a","type":7}"#).expect("JSON");
        assert!(Message::from_fields(fields).is_none());
    }
}
