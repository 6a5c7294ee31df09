//! The schema as a table: everything about a field or a type of messages is one entry in `schema/message.schema.json`.
//!
//! The file is JSON Schema 2020-12, for every validator. The keywords `x-mailbag` and `x-mailbag-type` have the rest:
//! words for errors, other names of a field, and the behaviour of a type. [`Schema::check`] reads the keywords that the
//! file uses; a test compares it with a complete validator.

#[cfg(test)]
mod tests;

use crate::base::clock::Stamp;
use regex::Regex;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};
use std::fmt;
use std::sync::{LazyLock, OnceLock};

/// The schema of messages, as text.
pub fn message_schema() -> &'static str {
    include_str!("../../schema/message.schema.json")
}

/// The schema of `registry.json`, as text.
pub fn registry_schema() -> &'static str {
    include_str!("../../schema/registry.schema.json")
}

/// The table of messages.
pub(super) static MESSAGE: LazyLock<Schema> = LazyLock::new(|| Schema::read(message_schema()));

/// Every field of the protocol. A sender can add fields of its own.
pub static FIELDS: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let fields = MESSAGE.properties.iter();
    fields.map(|(name, _)| name.as_str()).collect()
});
/// Every valid type, besides custom types, which begin with `x-`.
pub static TYPES: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let kinds = MESSAGE.property("type");
    kinds.map(Schema::words).unwrap_or_default()
});

/// A schema: the keywords that the file uses, for one value.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Schema {
    #[serde(rename = "type", deserialize_with = "one_or_many")]
    kinds: Vec<String>,
    #[serde(rename = "const")]
    constant: Option<Value>,
    #[serde(rename = "enum")]
    options: Option<Vec<Value>>,
    min_length: usize,
    max_length: Option<usize>,
    pattern: Option<Pattern>,
    format: Option<String>,
    min_items: usize,
    max_items: Option<usize>,
    pub(super) items: Option<Box<Schema>>,
    required: Vec<String>,
    #[serde(deserialize_with = "entries")]
    pub(super) properties: Vec<(String, Schema)>,
    not: Option<Box<Schema>>,
    any_of: Vec<Schema>,
    one_of: Vec<Schema>,
    all_of: Vec<Schema>,
    #[serde(rename = "if")]
    condition: Option<Box<Schema>>,
    then: Option<Box<Schema>>,
    #[serde(rename = "x-mailbag")]
    pub(super) note: FieldNote,
    #[serde(rename = "x-mailbag-type")]
    behaviour: TypeBehaviour,
}

/// Everything about a field that JSON Schema has no keyword for.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct FieldNote {
    /// The name for an error, if it is not the name of the field.
    pub(super) name: Option<String>,
    /// The valid values, in words.
    pub(super) must: String,
    /// The code of an invalid value.
    pub(super) code: Option<String>,
    /// The correction of an invalid value.
    pub(super) fix: Option<String>,
    /// True if a message means the same without this field, or nearly.
    pub(super) optional: bool,
    /// The only types of messages that give the field a meaning. Empty for all types.
    pub(super) types: Vec<String>,
    /// Other names.
    pub(super) names: Vec<OtherNames>,
    /// Other words for values.
    pub(super) values: Vec<OtherWords>,
}

/// Names that other formats use.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct OtherNames {
    pub(super) names: Vec<String>,
    /// The conversion of the value.
    pub(super) read: ValueConversion,
    /// More about the value, for the published table.
    pub(super) note: String,
    /// Set if the names could mean several things.
    pub(super) rejected: Option<NameRejection>,
}

/// The problem of a name that is not read.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct NameRejection {
    /// The field that was probably meant, if it is not the field with this note.
    pub(super) field: Option<String>,
    pub(super) code: Option<String>,
    pub(super) what: Option<String>,
    pub(super) fix: String,
}

/// Words that other formats use for a value.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct OtherWords {
    pub(super) words: Vec<String>,
    pub(super) value: String,
    /// True if the word says more than the value, and is kept in `metadata`.
    pub(super) kept: bool,
}

/// The conversion of the value of a field with another name.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum ValueConversion {
    /// Unchanged, under the canonical name.
    #[default]
    Same,
    /// A list, or one item.
    List,
    /// Unchanged, but `null` means all agents.
    Recipient,
    /// Further recipients.
    Copies,
    /// Text becomes the body. In an object, `text` or `body` becomes the body, and the rest becomes `metadata.content`.
    /// In a list of text blocks, the texts become the body; a list with other blocks is also kept in
    /// `metadata.content`.
    Content,
    /// Text becomes the body. Of an object, `text`, `body` or `content` becomes the body, `subject` the subject, and
    /// the rest is moved into `metadata`, with the field of the body in `payload_field`. A list becomes
    /// `metadata.payload`.
    Payload,
    /// References, single or as `{id}`. If one item is not a reference, such as a URL, all items are also kept in
    /// `metadata.links`.
    Links,
    /// Canonical fields are moved out of an object. The rest of the object, or a word, is kept in `metadata.routing`.
    Routing,
}

/// The behaviour of messages of one type. The default holds for custom types.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct TypeBehaviour {
    /// The senders that may use the type.
    pub senders: TypeSenders,
    /// The part of the router that acts on the message. Such a message needs neither a recipient nor content.
    pub acted_on_by: Option<MessageActor>,
    /// True if a message without `to` is for all agents.
    pub to_all: bool,
    /// True if the message needs no recipient, because a channel suffices.
    pub channel: bool,
    /// True for a report about an agent's work.
    pub report: bool,
    /// The messages that it can answer.
    pub answers: Answered,
    /// True if the message is an event that the worklog shows.
    pub event: bool,
}

/// The senders that may use a type. The router itself may use every type.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TypeSenders {
    /// Agents of this room and of linked rooms, and the human.
    #[default]
    Everyone,
    /// Agents of this room and the human. The type acts on the room, its events or its lists, or looks like mail of
    /// its router or its person.
    Room,
    /// The human.
    Human,
}

/// The part of the router that acts on a type of message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MessageActor {
    /// Plain mail. No conversation shows the message.
    Router,
    /// The ownership of work.
    Claims,
}

/// The messages that a message can answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Answered {
    /// Any that it is connected with.
    #[default]
    Connected,
    /// The message that `in_reply_to` names. The message reports, announces or asks.
    Named,
    /// Also a request with the same correlation id.
    Correlated,
}

/// The behaviour of messages of this type.
pub fn behaviour(kind: &str) -> &'static TypeBehaviour {
    static CUSTOM: LazyLock<TypeBehaviour> = LazyLock::new(TypeBehaviour::default);
    let kinds = MESSAGE.property("type").map(|kinds| &kinds.any_of);
    let mut kinds = kinds.into_iter().flatten();
    kinds
        .find(|one| one.constant.as_ref().and_then(Value::as_str) == Some(kind))
        .map_or(&CUSTOM, |one| &one.behaviour)
}

/// A pattern, compiled when a value first needs it.
#[derive(Debug, Deserialize)]
#[serde(from = "String")]
struct Pattern {
    text: String,
    regex: OnceLock<Regex>,
}

impl From<String> for Pattern {
    fn from(text: String) -> Pattern {
        let regex = OnceLock::new();
        Pattern { text, regex }
    }
}

impl Pattern {
    fn is_match(&self, text: &str) -> bool {
        let compile = || Regex::new(&self.text).expect("the patterns of the schema are valid");
        self.regex.get_or_init(compile).is_match(text)
    }
}

/// A place in a checked value, printed as a JSON pointer.
pub(super) enum Place<'a> {
    Root,
    Field(&'a Place<'a>, &'a str),
    Item(&'a Place<'a>, usize),
}

impl<'a> Place<'a> {
    /// The name of the field that the place is in.
    pub(super) fn field(&self) -> Option<&'a str> {
        match self {
            Place::Root => None,
            Place::Field(_, name) => Some(name),
            Place::Item(above, _) => above.field(),
        }
    }
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Root => Ok(()),
            Place::Field(above, name) => {
                write!(f, "{above}/{}", name.replace('~', "~0").replace('/', "~1"))
            }
            Place::Item(above, n) => write!(f, "{above}/{n}"),
        }
    }
}

/// The reason why a value does not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault<'s> {
    /// A value of another JSON type.
    Kind,
    /// A text, list or object in another form.
    Form,
    TooLong(usize),
    TooFew(usize),
    TooMany(usize),
    Missing(&'s str),
}

/// A fault of one value, with the schema that it does not fit and the note that describes it.
pub(super) struct Misfit<'a> {
    pub(super) fault: Fault<'a>,
    pub(super) value: &'a Value,
    pub(super) schema: &'a Schema,
    pub(super) note: &'a FieldNote,
}

/// Receives each fault and its place.
type Report<'r> = &'r mut dyn FnMut(&Place<'_>, Misfit<'_>);

impl Schema {
    fn read(text: &str) -> Schema {
        let mut schema: Schema =
            serde_json::from_str(text).expect("the schema is compiled in, and is valid");
        let mut branches = std::mem::take(&mut schema.all_of);
        let rules = branches
            .iter_mut()
            .filter_map(|branch| branch.then.as_mut());
        for (name, rule) in rules.flat_map(|then| &mut then.properties) {
            rule.note = schema
                .property(name)
                .map(|one| one.note.clone())
                .unwrap_or_default();
        }
        schema.all_of = branches;
        schema
    }

    /// The schema of a field.
    pub(super) fn property(&self, name: &str) -> Option<&Schema> {
        let mut fields = self.properties.iter();
        fields
            .find(|(field, _)| field == name)
            .map(|(_, schema)| schema)
    }

    /// The words that are valid values.
    pub(super) fn words(&self) -> Vec<&str> {
        let constants = self.any_of.iter().filter_map(|one| one.constant.as_ref());
        let options = self.options.iter().flatten().chain(constants);
        options.filter_map(Value::as_str).collect()
    }

    /// Returns true if a value fits.
    pub(super) fn fits(&self, value: &Value) -> bool {
        let mut fits = true;
        self.check(value, &mut |_, _| fits = false);
        fits
    }

    /// Reports the faults of a value in the order of the fields. A value has at most one fault of its own.
    pub(super) fn check(&self, value: &Value, report: Report<'_>) {
        self.check_at(value, &Place::Root, &self.note, report);
    }

    fn check_at(&self, value: &Value, place: &Place<'_>, note: &FieldNote, report: Report<'_>) {
        let note = if self.note.must.is_empty() {
            note
        } else {
            &self.note
        };
        if let Some(fault) = self.fault(value) {
            let schema = self;
            report(
                place,
                Misfit {
                    fault,
                    value,
                    schema,
                    note,
                },
            );
            if fault == Fault::Kind {
                return;
            }
        }
        match value {
            Value::Array(items) => {
                for (n, item) in items.iter().enumerate() {
                    if let Some(schema) = &self.items {
                        schema.check_at(item, &Place::Item(place, n), note, report);
                    }
                }
            }
            Value::Object(fields) => self.check_fields(fields, place, note, report),
            _ => {}
        }
        for branch in &self.all_of {
            branch.check_at(value, place, note, report);
        }
        if let (Some(condition), Some(then)) = (&self.condition, &self.then)
            && condition.fits(value)
        {
            then.check_at(value, place, note, report);
        }
    }

    fn check_fields(
        &self,
        fields: &Map<String, Value>,
        place: &Place<'_>,
        note: &FieldNote,
        report: Report<'_>,
    ) {
        for (name, schema) in &self.properties {
            if let Some(value) = fields.get(name) {
                schema.check_at(value, &Place::Field(place, name), note, report);
            }
        }
    }

    /// The fault of the value itself, without its fields and items.
    fn fault<'s>(&'s self, value: &Value) -> Option<Fault<'s>> {
        if !self.kinds.is_empty() && !self.kinds.iter().any(|kind| is_kind(value, kind)) {
            return Some(Fault::Kind);
        }
        let by_size = match value {
            Value::String(text) => self.fault_of_text(text),
            Value::Array(items) => self.fault_of_list(items.len()),
            Value::Object(fields) => {
                let mut required = self.required.iter();
                let missing = required.find(|name| !fields.contains_key(*name));
                missing.map(|name| Fault::Missing(name))
            }
            _ => None,
        };
        let is_option = self
            .options
            .as_ref()
            .is_none_or(|options| options.contains(value))
            && self
                .constant
                .as_ref()
                .is_none_or(|constant| constant == value);
        let fits_choice = (self.any_of.is_empty() || self.any_of.iter().any(|one| one.fits(value)))
            && (self.one_of.is_empty()
                || self.one_of.iter().filter(|one| one.fits(value)).count() == 1)
            && self.not.as_ref().is_none_or(|not| !not.fits(value));
        by_size.or((!is_option || !fits_choice).then_some(Fault::Form))
    }

    fn fault_of_text(&self, text: &str) -> Option<Fault<'static>> {
        let has_more_than = |limit| text.len() > limit && text.chars().count() > limit;
        let is_time = self.format.is_none() || Stamp::parse(text).is_some();
        let has_form = self
            .pattern
            .as_ref()
            .is_none_or(|pattern| pattern.is_match(text));
        if let Some(limit) = self.max_length.filter(|limit| has_more_than(*limit)) {
            Some(Fault::TooLong(limit))
        } else if text.chars().take(self.min_length).count() < self.min_length {
            Some(Fault::TooFew(self.min_length))
        } else if !is_time || !has_form {
            Some(Fault::Form)
        } else {
            None
        }
    }

    fn fault_of_list(&self, count: usize) -> Option<Fault<'static>> {
        if count < self.min_items {
            return Some(Fault::TooFew(self.min_items));
        }
        let limit = self.max_items.filter(|limit| count > *limit);
        limit.map(Fault::TooMany)
    }
}

fn is_kind(value: &Value, kind: &str) -> bool {
    match kind {
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "boolean" => value.is_boolean(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        other => unreachable!("no schema has the type {other}"),
    }
}

/// One text or a list of texts.
fn one_or_many<'de, D: Deserializer<'de>>(json: D) -> Result<Vec<String>, D::Error> {
    match Value::deserialize(json)? {
        Value::String(one) => Ok(vec![one]),
        many => serde_json::from_value(many).map_err(serde::de::Error::custom),
    }
}

/// The fields of an object in their order.
fn entries<'de, D: Deserializer<'de>>(json: D) -> Result<Vec<(String, Schema)>, D::Error> {
    let fields = Map::<String, Value>::deserialize(json)?;
    let read = |(name, field)| Ok((name, serde_json::from_value(field)?));
    let read: Result<_, serde_json::Error> = fields.into_iter().map(read).collect();
    read.map_err(serde::de::Error::custom)
}
