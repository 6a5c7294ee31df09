//! Dialects: other spellings of a message, and their conversion to the canonical form by the table below.
//!
//! If two fields have the same meaning and the same value, one is dropped. With different values the message is
//! rejected. A value without a canonical field goes into `metadata`, so that nothing of the message is lost. `null` is
//! an absent value in every known field, because many programs write all fields of a record. The exception is
//! `to_agent: null`, which means all agents.

use crate::base::error::Problem;
use crate::message::reference::Reference;
use crate::message::{FIELDS, ROUTERS_OWN};
use serde_json::{Map, Value};

/// How the value of a field is converted.
#[derive(Clone, Copy)]
enum Reading {
    /// Unchanged, under the canonical name.
    Same,
    /// Unchanged, but `null` means all agents.
    Recipient,
    /// Text becomes the body. Of an object, `text` or `body` becomes the body, and the rest goes to `metadata.content`.
    /// Of a list of text blocks, the texts become the body; a list with other blocks is also kept in
    /// `metadata.content`.
    Content,
    /// Text becomes the body. Of an object, `text`, `body` or `content` becomes the body, `subject` the subject, and
    /// the rest goes into `metadata`. A list goes to `metadata.payload`.
    Payload,
    /// References, single or as `{id}`. If one item is not a reference, such as a URL, all items are also kept in
    /// `metadata.links`.
    Links,
    /// Canonical fields are moved out of an object. The rest of the object, or one of the words in [`ROUTES`], goes to
    /// `metadata.routing`.
    Routing,
}
use Reading::*;

/// The table: the field of a dialect, the canonical field, and the conversion of the value.
const TABLE: &[(&str, &str, Reading)] = &[
    // NDJSON
    ("t", "timestamp", Same),
    ("sender", "from", Same),
    ("addressed", "to", Same),
    ("content", "body", Content),
    // Envelope; its `content` is the same as above
    ("from_agent", "from", Same),
    ("to_agent", "to", Recipient),
    ("created_at", "timestamp", Same),
    ("conversation_id", "thread_id", Same),
    ("correlation_id", "in_reply_to", Same),
    ("routing", "to", Routing),
    // Event
    ("event_id", "id", Same),
    ("event_type", "type", Same),
    ("actor", "from", Same),
    ("payload", "body", Payload),
    ("links", "refs", Links),
];
/// Values of dialects, and the canonical values.
const VALUES: &[(&str, &str, &str)] = &[
    ("type", "msg", "message"),
    ("priority", "P0", "urgent"),
    ("priority", "P1", "high"),
    ("priority", "P2", "normal"),
    ("priority", "P3", "low"),
];
/// The valid words for `routing`. They repeat information that the recipients already give.
const ROUTES: &[&str] = &["direct", "role", "broadcast", "topic"];
/// The fields that `routing` can contain.
const ROUTED: &[&str] = &[
    "to",
    "channel",
    "priority",
    "thread_id",
    "in_reply_to",
    "project_id",
    "topic",
    "expires_at",
    "requires_response",
];

/// A message in canonical form.
pub struct Converted {
    /// Its fields in the order in which they were sent.
    pub fields: Map<String, Value>,
    /// The canonical fields that came from a dialect, and their original positions as JSON pointers.
    pub origins: Vec<(&'static str, String)>,
    /// Fields that contradict each other, and values that no canonical field accepts.
    pub problems: Vec<Problem>,
}

/// Converts any dialect to the canonical form. A canonical message is returned unchanged.
pub fn spell(fields: Map<String, Value>) -> Converted {
    if fields.iter().all(|(key, value)| is_canonical(key, value)) {
        return Converted { fields, origins: Vec::new(), problems: Vec::new() };
    }
    let mut spelling = Conversion::default();
    for (key, value) in fields {
        spelling.take(key, value);
    }
    spelling.merge_metadata();
    Converted { fields: spelling.fields, origins: spelling.origins, problems: spelling.problems }
}

fn is_canonical(key: &str, value: &Value) -> bool {
    match key {
        key if value.is_null() && FIELDS.contains(&key) => false,
        "body" | "subject" => true,
        "to" => match value {
            Value::Array(items) => !items.is_empty() && items.iter().all(Value::is_string),
            other => !other.is_object(),
        },
        "from" => !value.is_object(),
        "type" | "priority" => !VALUES.iter().any(|(field, word, _)| *field == key && value.as_str() == Some(word)),
        "in_reply_to" => !value.is_number(),
        "attachments" => !value.as_array().is_some_and(|attachments| attachments.iter().any(has_null)),
        "refs" => !value.as_array().is_some_and(|refs| refs.iter().any(Value::is_number)),
        _ => !ROUTERS_OWN.contains(&key) && !TABLE.iter().any(|(other, ..)| *other == key),
    }
}

#[derive(Default)]
struct Conversion {
    fields: Map<String, Value>,
    origins: Vec<(&'static str, String)>,
    problems: Vec<Problem>,
    metadata: Vec<(String, Value, String)>,
}

impl Conversion {
    fn take(&mut self, key: String, value: Value) {
        if ROUTERS_OWN.contains(&key.as_str()) {
            return;
        }
        let Some((other, field, reading)) = TABLE.iter().find(|(other, ..)| *other == key) else {
            return self.take_canonical(key, value);
        };
        let place = format!("/{other}");
        match (reading, value) {
            (Recipient, Value::Null) => self.put(field, Value::from("all"), place),
            (_, Value::Null) => {}
            (Same | Recipient, value) => self.put(field, value, place),
            (Content | Payload, Value::String(text)) => self.put("body", Value::String(text), place),
            (Content, Value::Object(map)) => self.content(map, &place),
            (Content, Value::Array(blocks)) => self.blocks(blocks, place),
            (Payload, Value::Object(map)) => self.payload(map, &place),
            (Payload, Value::Array(items)) => self.metadata.push((key, Value::Array(items), place)),
            (Links, links) => self.links(links, place),
            (Routing, Value::Object(map)) => self.routing(map, &place),
            (Routing, Value::String(word)) if ROUTES.contains(&word.as_str()) => {
                self.metadata.push((key, Value::String(word), place));
            }
            (Content | Payload, _) => self.reject(place, "text, an object or a list"),
            (Routing, _) => self.reject(place, &format!("an object, or one of the words {}", ROUTES.join(", "))),
        }
    }

    fn take_canonical(&mut self, key: String, value: Value) {
        if value.is_null() && FIELDS.contains(&key.as_str()) {
            return;
        }
        let place = format!("/{key}");
        let known = TABLE.iter().map(|(_, field, _)| *field).chain(ROUTED.iter().copied()).chain(["subject"]);
        match known.into_iter().find(|field| *field == key) {
            Some(field) => self.put(field, value, place),
            None => {
                let value = canonical(&key, value);
                self.fields.insert(key, value);
            }
        }
    }

    /// Sets a canonical field. If the field has a different value already, this is a problem.
    fn put(&mut self, field: &'static str, value: Value, place: String) {
        let value = canonical(field, value);
        // An empty list of recipients is the same as no field.
        if field == "to" && value.as_array().is_some_and(Vec::is_empty) {
            return;
        }
        let Some(before) = self.fields.get(field) else {
            self.fields.insert(field.to_owned(), value);
            return self.origins.push((field, place));
        };
        if !is_same(field, before, &value) {
            let first = self.origins.iter().find(|(f, _)| *f == field).map_or("", |(_, place)| place);
            self.problems.push(conflict(first, &place));
        }
    }

    fn content(&mut self, mut map: Map<String, Value>, place: &str) {
        self.put_texts(&mut map, &["text", "body"], place);
        if !map.is_empty() {
            self.metadata.push(("content".to_owned(), Value::Object(map), place.to_owned()));
        }
    }

    fn blocks(&mut self, blocks: Vec<Value>, place: String) {
        let text = |block: &Value| block.as_str().or_else(|| block.get("text")?.as_str()).map(str::to_owned);
        let texts: Vec<String> = blocks.iter().filter_map(text).collect();
        let is_plain = |block: &Value| block.is_string() || block.as_object().is_some_and(is_text_block);
        if !texts.is_empty() {
            self.put("body", Value::String(texts.join("\n")), place.clone());
        }
        if !blocks.iter().all(is_plain) {
            self.metadata.push(("content".to_owned(), Value::Array(blocks), place));
        }
    }

    fn payload(&mut self, mut map: Map<String, Value>, place: &str) {
        self.put_texts(&mut map, &["text", "body", "content"], place);
        for (key, value) in map {
            let inner = format!("{place}/{}", pointer_segment(&key));
            self.metadata.push((key, value, inner));
        }
    }

    /// Moves the body and the subject out of an object, if they are text.
    fn put_texts(&mut self, map: &mut Map<String, Value>, bodies: &[&'static str], place: &str) {
        for key in bodies.iter().chain(&["subject"]) {
            if map.get(*key).is_some_and(Value::is_string) {
                let field = if *key == "subject" { "subject" } else { "body" };
                let value = map.shift_remove(*key).unwrap_or_default();
                self.put(field, value, format!("{place}/{key}"));
            }
        }
    }

    fn links(&mut self, links: Value, place: String) {
        let items = match &links {
            Value::Array(items) => items.clone(),
            other => vec![other.clone()],
        };
        let reference = |link: &Value| {
            let text = link.as_str().or_else(|| link.get("id")?.as_str());
            text.filter(|text| is_reference(text)).map(|text| Value::from(text.to_owned()))
        };
        let refs: Vec<Value> = items.iter().filter_map(reference).collect();
        let is_plain = |link: &Value| link.is_string() || link.as_object().is_some_and(|o| o.len() == 1);
        if refs.len() < items.len() || !items.iter().all(is_plain) {
            self.metadata.push(("links".to_owned(), links, place.clone()));
        }
        if !refs.is_empty() {
            self.put("refs", Value::Array(refs), place);
        }
    }

    fn routing(&mut self, mut map: Map<String, Value>, place: &str) {
        for field in ROUTED {
            match map.shift_remove(*field) {
                None | Some(Value::Null) => {}
                Some(value) => self.put(field, value, format!("{place}/{field}")),
            }
        }
        if !map.is_empty() {
            self.metadata.push(("routing".to_owned(), Value::Object(map), place.to_owned()));
        }
    }

    fn reject(&mut self, place: String, wanted: &str) {
        let problem = Problem::new("wrong_type", format!("{} must be {wanted}", &place[1..])).at(place);
        self.problems.push(problem.fix("put the text in body and the data in metadata"));
    }

    /// Adds values without a canonical field to `metadata`. If `metadata` is not an object, the schema rejects it
    /// later.
    fn merge_metadata(&mut self) {
        if self.metadata.is_empty() {
            return;
        }
        let metadata = self.fields.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
        let Value::Object(metadata) = metadata else { return };
        for (key, value, place) in self.metadata.drain(..) {
            match metadata.get(&key) {
                None => drop(metadata.insert(key, value)),
                Some(before) if *before == value => {}
                Some(_) => self.problems.push(conflict(&format!("/metadata/{}", pointer_segment(&key)), &place)),
            }
        }
    }
}

fn conflict(first: &str, second: &str) -> Problem {
    let [a, b] = [first, second].map(|place| place[1..].replace('/', "."));
    Problem::new("conflicting_fields", format!("{a} and {b} have the same meaning but different values"))
        .at(second)
        .fix(format!("keep either {a} or {b}"))
}

/// The canonical form of a field's value.
fn canonical(field: &str, value: Value) -> Value {
    match (field, value) {
        ("from", value) => name(value),
        ("to", Value::Array(items)) => Value::Array(items.into_iter().map(name).collect()),
        ("to", value) => name(value),
        ("in_reply_to", value) => reference(value),
        ("refs", Value::Array(items)) => Value::Array(items.into_iter().map(reference).collect()),
        ("attachments", Value::Array(items)) => Value::Array(items.into_iter().map(without_nulls).collect()),
        (field, Value::String(text)) => {
            let known = VALUES.iter().find(|(f, word, _)| *f == field && *word == text);
            known.map_or(Value::String(text), |(_, _, value)| Value::from(*value))
        }
        (_, value) => value,
    }
}

/// The object of an agent is replaced by its id.
fn name(value: Value) -> Value {
    match value {
        Value::Object(mut agent) if agent.get("id").is_some_and(Value::is_string) => {
            agent.remove("id").unwrap_or_default()
        }
        other => other,
    }
}

/// A sequence number can be a JSON number, as in a delivered message.
fn reference(value: Value) -> Value {
    match value {
        Value::Number(seq) if seq.is_u64() => Value::String(seq.to_string()),
        other => other,
    }
}

fn has_null(value: &Value) -> bool {
    value.as_object().is_some_and(|fields| fields.values().any(Value::is_null))
}

fn without_nulls(mut value: Value) -> Value {
    if let Value::Object(fields) = &mut value {
        fields.retain(|_, value| !value.is_null());
    }
    value
}

fn is_same(field: &str, a: &Value, b: &Value) -> bool {
    let bare = |value: &Value| value.as_str().map(|text| text.trim_start_matches('@').to_owned());
    match (field, a, b) {
        ("from", a, b) => a == b || bare(a).is_some() && bare(a) == bare(b),
        ("to", Value::Array(list), one @ Value::String(_)) | ("to", one @ Value::String(_), Value::Array(list)) => {
            list.as_slice() == std::slice::from_ref(one)
        }
        (_, a, b) => a == b,
    }
}

fn is_text_block(block: &Map<String, Value>) -> bool {
    block.get("text").is_some_and(Value::is_string) && block.keys().all(|key| key == "text" || key == "type")
}

/// Can this be a reference to a message?
fn is_reference(text: &str) -> bool {
    Reference::parse(text).is_some()
}

fn pointer_segment(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

/// Common wrong names of canonical fields, besides the table. They are not read, but suggested in the explanation.
pub const OFTEN_MEANT: &[(&str, &str)] = &[
    ("recipient", "to"),
    ("recipients", "to"),
    ("receiver", "to"),
    ("target", "to"),
    ("targets", "to"),
    ("message", "body"),
    ("text", "body"),
    ("msg", "body"),
    ("title", "subject"),
    ("ref", "refs"),
    ("references", "refs"),
    ("state", "status"),
];
