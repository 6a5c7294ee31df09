//! Dialects: other spellings of a message, and their conversion to the canonical form by the module `table`.
//!
//! If two fields have the same meaning and the same value, one is dropped. With different values
//! the message is rejected. A value without a canonical field is moved to `metadata`, so that no
//! part of the message is lost. `null` is an absent value in every known field, because many
//! programs write all fields of a record. The exception is `to_agent: null`, which means all
//! agents.

mod recipients;
mod table;
#[cfg(test)]
mod tests;
mod values;

pub use table::{PAYLOAD_FIELD, meant_field, published};

use crate::base::error::Problem;
use crate::base::text::quoted;
use crate::message::reference::Reference;
use crate::message::status::CopyStatus;
use crate::message::status_line::{self, ReportMessage, StatusLine};
use crate::message::table::{NameRejection, ValueConversion};
use crate::message::{FIELDS, ROUTERS_OWN};
use recipients::DialectRecipients;
use serde_json::{Map, Value, json};
use table::{CanonicalValue, NameMeaning, ROUTED};
use values::{canonical, is_other_attachment, is_same, is_text_block};

/// The code of a name that is not understood.
pub(super) const MISNAMED: &str = "misnamed_field";

/// A message in canonical form.
pub struct ConvertedMessage {
    /// Its fields in the sent order.
    pub fields: Map<String, Value>,
    /// Where the parts of the message were read, if that is another place.
    pub origins: FieldOrigins,
    /// Fields that contradict each other, names that are not understood, and values that no canonical field accepts.
    pub problems: Vec<Problem>,
    /// True if a problem is about the recipients.
    pub has_wrong_recipients: bool,
    /// True if a problem is about the content.
    pub has_wrong_content: bool,
}

/// JSON pointers into a message in canonical form, each with the pointer to the value that the sender wrote.
pub type FieldOrigins = Vec<(String, String)>;

/// Converts any dialect to the canonical form. A canonical message is returned unchanged.
pub fn spell(fields: Map<String, Value>) -> ConvertedMessage {
    if fields.iter().all(|(key, value)| is_canonical(key, value)) {
        return ConvertedMessage {
            fields,
            origins: Vec::new(),
            problems: Vec::new(),
            has_wrong_recipients: false,
            has_wrong_content: false,
        };
    }
    let word = type_word(&fields).unwrap_or_default().to_owned();
    let kind = table::value("type", &word)
        .map_or(&*word, |known| known.value)
        .to_owned();
    let mut conversion = MessageConversion {
        word,
        kind,
        ..MessageConversion::default()
    };
    for (key, value) in fields {
        conversion.convert(key, value);
    }
    conversion.add_report();
    conversion.add_recipients();
    conversion.merge_metadata();
    ConvertedMessage {
        fields: conversion.fields,
        origins: conversion.origins,
        problems: conversion.problems,
        has_wrong_recipients: conversion.has_wrong_recipients,
        has_wrong_content: conversion.has_wrong_content,
    }
}

/// The canonical field that a name means, for the fields that exist in messages of every type.
pub fn field_of(name: &str) -> Option<&'static str> {
    FIELDS
        .iter()
        .find(|field| **field == name)
        .copied()
        .or_else(|| table::field(name))
}

/// The canonical type of a message in any dialect.
pub fn type_of(message: &Value) -> Option<&str> {
    let word = type_word(message.as_object()?)?;
    Some(table::value("type", word).map_or(word, |known| known.value))
}

/// The word for the type, as it was sent.
fn type_word(fields: &Map<String, Value>) -> Option<&str> {
    let is_type = |key: &str| key == "type" || table::field(key) == Some("type");
    fields
        .iter()
        .find(|(key, value)| value.is_string() && is_type(key))?
        .1
        .as_str()
}

fn is_canonical(key: &str, value: &Value) -> bool {
    let is_spelled = || {
        value
            .as_str()
            .is_none_or(|word| table::value(key, word).is_none())
    };
    match key {
        key if value.is_null() && FIELDS.contains(&key) => false,
        "body" | "subject" => true,
        "to" => match value {
            Value::Array(items) => !items.is_empty() && items.iter().all(Value::is_string),
            other => !other.is_object(),
        },
        "from" => !value.is_object(),
        "type" | "priority" => is_spelled(),
        "status" => value.as_str().is_none_or(|word| {
            CopyStatus::of_ack(word).is_none_or(|status| status.as_str() == word)
        }),
        "in_reply_to" => !value.is_number(),
        "attachments" => !value
            .as_array()
            .is_some_and(|attachments| attachments.iter().any(is_other_attachment)),
        "refs" => match value {
            Value::Array(refs) => !refs.iter().any(Value::is_number),
            one => !one.is_string() && !one.is_number(),
        },
        key if FIELDS.contains(&key) => true,
        _ => {
            !ROUTERS_OWN.contains(&key)
                && !status_line::FIELDS.contains(&key)
                && !table::has_any_meaning(key)
        }
    }
}

#[derive(Default)]
struct MessageConversion {
    /// The type as it was sent, and the canonical type.
    word: String,
    kind: String,
    fields: Map<String, Value>,
    origins: FieldOrigins,
    problems: Vec<Problem>,
    metadata: Vec<(String, Value, String)>,
    /// The fields of a status line.
    line: Map<String, Value>,
    recipients: DialectRecipients,
    has_wrong_recipients: bool,
    has_wrong_content: bool,
}

impl MessageConversion {
    fn convert(&mut self, key: String, value: Value) {
        let place = format!("/{}", pointer_segment(&key));
        if ROUTERS_OWN.contains(&key.as_str()) {
            return;
        }
        if let Some(field) = FIELDS.iter().find(|field| **field == key) {
            if !value.is_null() {
                self.put(field, value, place);
            }
            return;
        }
        if status_line::takes(&self.word, &self.kind, &key) {
            return drop(self.line.insert(key, value));
        }
        let Some(NameMeaning { field, spelling }) = table::meaning(&key, &self.kind) else {
            return drop(self.fields.insert(key, value));
        };
        match &spelling.rejected {
            None => self.read(spelling.read, field, value, place),
            Some(_) if value.is_null() => drop(self.fields.insert(key, value)),
            Some(rejected) => self.reject_name(&key, field, rejected),
        }
    }

    fn read(&mut self, reading: ValueConversion, field: &'static str, value: Value, place: String) {
        match (reading, value) {
            (ValueConversion::Recipient, Value::Null) => self.recipients.nobody = Some(place),
            (_, Value::Null) => {}
            (ValueConversion::Same | ValueConversion::Recipient, value) => {
                self.put(field, value, place)
            }
            (ValueConversion::List, value @ Value::Array(_)) => self.put(field, value, place),
            (ValueConversion::List, value) => self.put(field, json!([value]), place),
            (ValueConversion::Copies, value) => {
                let problem = self.recipients.copy(value, place);
                self.has_wrong_recipients |= problem.is_some();
                self.problems.extend(problem);
            }
            (ValueConversion::Content | ValueConversion::Payload, Value::String(text)) => {
                self.put("body", Value::String(text), place)
            }
            (ValueConversion::Content, Value::Object(map)) => self.content(map, &place),
            (ValueConversion::Content, Value::Array(blocks)) => self.blocks(blocks, place),
            (ValueConversion::Payload, Value::Object(map)) => self.payload(map, &place),
            (ValueConversion::Payload, items @ Value::Array(_)) => {
                self.metadata.push(("payload".into(), items, place))
            }
            (ValueConversion::Links, links) => self.links(links, place),
            (ValueConversion::Routing, Value::Object(map)) => self.routing(map, &place),
            (ValueConversion::Routing, Value::String(word)) => {
                self.recipients.route = Some((word.to_ascii_lowercase(), place.clone()));
                self.metadata
                    .push(("routing".into(), Value::String(word), place));
            }
            (ValueConversion::Content | ValueConversion::Payload, _) => {
                self.reject(place, "text, an object or a list")
            }
            (ValueConversion::Routing, _) => self.reject(place, "an object or a word"),
        }
    }

    /// Sets a canonical field. If the field has a different value already, this is a problem.
    fn put(&mut self, field: &'static str, value: Value, place: String) {
        let value = self.canonical(field, value);
        // An empty list of recipients is the same as no field.
        if field == "to" && value.as_array().is_some_and(Vec::is_empty) {
            return;
        }
        let Some(before) = self.fields.get(field) else {
            self.fields.insert(field.to_owned(), value);
            return self.origins.push((format!("/{field}"), place));
        };
        if !is_same(field, before, &value) {
            let first = self.origin(format!("/{field}"));
            self.problems.push(conflict(&first, &place));
        }
    }

    /// Where the sender wrote the value at this place.
    fn origin(&self, place: String) -> String {
        let mut origins = self.origins.iter();
        let known = origins.find(|(canonical, _)| *canonical == place);
        known.map_or(place, |(_, origin)| origin.clone())
    }

    /// The canonical form of a field's value.
    fn canonical(&mut self, field: &str, value: Value) -> Value {
        let Some(word) = value.as_str() else {
            return canonical(field, value);
        };
        match field {
            "type" | "priority" => match table::value(field, word) {
                None => value,
                Some(CanonicalValue { value: known, kept }) => {
                    if kept {
                        self.metadata
                            .push((field.to_owned(), value, format!("/{field}")));
                    }
                    Value::from(known)
                }
            },
            "status" if self.kind == "ack" => {
                CopyStatus::of_ack(word).map_or(value, |status| status.as_str().into())
            }
            _ => canonical(field, value),
        }
    }

    fn content(&mut self, mut map: Map<String, Value>, place: &str) {
        self.put_texts(&mut map, &["text", "body"], place);
        if !map.is_empty() {
            self.metadata
                .push(("content".to_owned(), Value::Object(map), place.to_owned()));
        }
    }

    fn blocks(&mut self, blocks: Vec<Value>, place: String) {
        let texts: Vec<&str> = blocks
            .iter()
            .filter_map(|block| block.as_str().or_else(|| block.get("text")?.as_str()))
            .collect();
        if !texts.is_empty() {
            self.put("body", Value::String(texts.join("\n")), place.clone());
        }
        if !blocks
            .iter()
            .all(|block| block.is_string() || block.as_object().is_some_and(is_text_block))
        {
            self.metadata
                .push(("content".to_owned(), Value::Array(blocks), place));
        }
    }

    fn payload(&mut self, mut map: Map<String, Value>, place: &str) {
        let other = ["text", "content"]
            .into_iter()
            .find(|field| map.get(*field).is_some_and(Value::is_string));
        if !map.contains_key("body")
            && let Some(field) = other
        {
            self.metadata.push((
                PAYLOAD_FIELD.to_owned(),
                field.into(),
                format!("{place}/{field}"),
            ));
        }
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
            text.filter(|text| Reference::parse(text).is_some())
                .map(|text| Value::from(text.to_owned()))
        };
        let refs: Vec<Value> = items.iter().filter_map(reference).collect();
        if refs.len() < items.len()
            || !items
                .iter()
                .all(|link| link.is_string() || link.as_object().is_some_and(|o| o.len() == 1))
        {
            self.metadata
                .push(("links".to_owned(), links, place.clone()));
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
            self.metadata
                .push(("routing".to_owned(), Value::Object(map), place.to_owned()));
        }
    }

    /// Adds the fields of a status line.
    fn add_report(&mut self) {
        if self.line.is_empty() && !status_line::is_line(&self.word) {
            return;
        }
        let line = std::mem::take(&mut self.line);
        let report = StatusLine::parse(&self.word, line.clone()).map(StatusLine::report);
        let report = report.unwrap_or_else(|problem| {
            self.has_wrong_content = true;
            self.problems.push(problem);
            ReportMessage {
                metadata: line,
                ..ReportMessage::default()
            }
        });
        let ReportMessage {
            subject,
            body,
            more,
            metadata,
        } = report;
        let has_text = self.fields.contains_key("subject") || self.fields.contains_key("body");
        if !has_text && let Some(subject) = subject {
            self.put("subject", subject.into(), "/message".into());
        }
        if let Some(body) = body {
            self.put("body", body.into(), "/message".into());
        }
        for (field, value) in more {
            self.fields.entry(field).or_insert(value);
        }
        self.metadata
            .extend(metadata.into_iter().map(|(key, value)| {
                let place = format!("/{}", pointer_segment(&key));
                (key, value, place)
            }));
    }

    fn add_recipients(&mut self) {
        let recipients = std::mem::take(&mut self.recipients);
        let before = self.fields.get("to");
        let body = self
            .fields
            .get("body")
            .and_then(Value::as_str)
            .unwrap_or_default();
        if let Some((to, place)) = recipients.merge(before, body, &self.kind) {
            self.fields.insert("to".to_owned(), to);
            if !self.origins.iter().any(|(field, _)| field == "/to") {
                self.origins.push(("/to".to_owned(), place));
            }
        }
    }

    fn reject_name(&mut self, key: &str, field: &str, rejected: &NameRejection) {
        self.has_wrong_recipients |= field == "to";
        let code = rejected.code.as_deref().unwrap_or(MISNAMED);
        let what = rejected
            .what
            .as_deref()
            .unwrap_or("is not a field of a message");
        let problem = Problem::new(code, format!("{} {what}", quoted(key)));
        self.problems.push(
            problem
                .at(format!("/{}", pointer_segment(key)))
                .fix(rejected.fix.clone()),
        );
    }

    fn reject(&mut self, place: String, wanted: &str) {
        self.has_wrong_content = true;
        let problem =
            Problem::new("wrong_type", format!("{} must be {wanted}", &place[1..])).at(place);
        self.problems
            .push(problem.fix("put the text in body and the data in metadata"));
    }

    /// Adds values without a canonical field to `metadata`. If `metadata` is not an object, the schema rejects it
    /// later.
    fn merge_metadata(&mut self) {
        if self.metadata.is_empty() {
            return;
        }
        let metadata = self
            .fields
            .entry("metadata")
            .or_insert_with(|| Value::Object(Map::new()));
        let Value::Object(metadata) = metadata else {
            return;
        };
        let mut origins = FieldOrigins::new();
        for (key, value, place) in self.metadata.drain(..) {
            let here = format!("/metadata/{}", pointer_segment(&key));
            match metadata.get(&key) {
                None => {
                    metadata.insert(key, value);
                    origins.push((here, place));
                }
                Some(before) if *before == value => {}
                Some(_) => {
                    let first = origins.iter().find(|(canonical, _)| *canonical == here);
                    let first = first.map_or(&here, |(_, origin)| origin);
                    self.problems.push(conflict(first, &place));
                }
            }
        }
        self.origins.append(&mut origins);
    }
}

fn conflict(first: &str, second: &str) -> Problem {
    let [a, b] = [first, second].map(|place| place[1..].replace('/', "."));
    Problem::new(
        "conflicting_fields",
        format!("{a} and {b} have the same meaning but different values"),
    )
    .at(second)
    .fix(format!("keep either {a} or {b}"))
}

pub(super) fn pointer_segment(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}
