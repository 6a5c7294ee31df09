//! Bytes to a checked message, or to everything that is wrong with them: parse, spell, schema, rules.

mod not_json;
mod outputs;
mod parse;
mod parsed;
mod rules;
mod words;

pub use outputs::{OUTPUTS, output};
pub use parse::parse;
pub use parsed::{DEPTH, Parsed};

use crate::base::clock::Stamp;
use crate::base::error::Problem;
use crate::base::limits;
use crate::message::dialects::{Spelled, spell};
use crate::message::{Message, id};
use jsonschema::{Draft, PatternOptions, Validator};
use serde_json::{Map, Value, json};
use std::sync::LazyLock;

/// Checks what `sender` dropped: spelling, schema, rules. All problems are reported, up to [`limits::PROBLEMS`].
pub fn check(value: Value, sender: &str, now: Stamp) -> Result<Message, Vec<Problem>> {
    check_as(value, sender, &[], now)
}

/// As [`check`], where `from` may also be one of the sender's other names: its display name, whatever the case.
pub fn check_as(value: Value, sender: &str, also: &[&str], now: Stamp) -> Result<Message, Vec<Problem>> {
    let fields = match value {
        Value::Object(fields) => fields,
        other => return Err(vec![not_an_object(&other)]),
    };
    let Spelled { fields, origins, mut problems } = spell(fields);
    let value = Value::Object(fields);
    if !MESSAGE.is_valid(&value) {
        problems.extend(MESSAGE.iter_errors(&value).filter_map(|e| words::of_message(&e)));
    }
    let Value::Object(mut fields) = value else { unreachable!("it was put in as an object above") };
    rules::check(&fields, &rules::Sender { id: sender, also }, now, &mut problems);
    if problems.is_empty() {
        fill_in(&mut fields, sender);
        return Message::from_fields(fields).ok_or_else(|| vec![not_an_object(&Value::Null)]);
    }
    Err(in_the_senders_words(problems, &origins))
}

/// The text of the schema of a message.
pub fn message_schema() -> &'static str {
    include_str!("../../../schema/message.schema.json")
}

/// The text of the schema of `registry.json`.
pub fn registry_schema() -> &'static str {
    include_str!("../../../schema/registry.schema.json")
}

/// What is wrong with a registry by its schema; whether its names collide is not looked at here.
pub fn check_registry(value: &Value) -> Vec<Problem> {
    if REGISTRY.is_valid(value) {
        return Vec::new();
    }
    let problems = REGISTRY.iter_errors(value).map(|e| words::of_registry(&e)).collect();
    in_the_senders_words(problems, &[])
}

static MESSAGE: LazyLock<Validator> = LazyLock::new(|| compile(message_schema()));
static REGISTRY: LazyLock<Validator> = LazyLock::new(|| compile(registry_schema()));

fn compile(schema: &str) -> Validator {
    let schema: Value = serde_json::from_str(schema).expect("the schema is compiled in, and is JSON");
    // Every keyword used means the same in draft 7, whose own schema is so much smaller that a process which checks a
    // single message starts a third sooner. A test holds that they agree.
    jsonschema::options()
        .with_draft(Draft::Draft7)
        .with_pattern_options(PatternOptions::regex())
        .with_format("mailbag-time", |text: &str| Stamp::parse(text).is_some())
        .should_validate_formats(true)
        .build(&schema)
        .expect("the schema is compiled in, and a test builds it")
}

/// Puts what a sender may leave out in front, where a reader looks first.
fn fill_in(fields: &mut Map<String, Value>, sender: &str) {
    if !fields.contains_key("type") {
        fields.shift_insert(0, "type".to_owned(), Value::from("message"));
    }
    match fields.get_mut("from") {
        Some(from) => *from = Value::from(sender),
        None => drop(fields.shift_insert(0, "from".to_owned(), Value::from(sender))),
    }
    if !fields.contains_key("id") {
        fields.shift_insert(0, "id".to_owned(), Value::from(id::mint()));
    }
}

/// Problems in canonical fields, said of the fields that the sender wrote; each once, and not more than are of use.
pub(crate) fn in_the_senders_words(problems: Vec<Problem>, origins: &[(&'static str, String)]) -> Vec<Problem> {
    let mut told: Vec<Problem> = Vec::new();
    for mut problem in problems {
        let field = problem.place.strip_prefix('/').and_then(|p| p.split('/').next());
        if let Some((field, origin)) = origins.iter().find(|(f, _)| Some(*f) == field) {
            problem.place = format!("{origin}{}", &problem.place[field.len() + 1..]);
        }
        if told.len() < limits::PROBLEMS && !told.iter().any(|t| t.code == problem.code && t.place == problem.place) {
            told.push(problem);
        }
    }
    told
}

fn not_an_object(value: &Value) -> Problem {
    if let Value::Array(items) = value {
        let fix = "write every message of the list into a file of its own";
        let problem = Problem::new("not_one_message", "the file holds a list: one file is one message").fix(fix);
        let first = items.iter().find(|item| item.is_object());
        return problem.example(first.cloned().unwrap_or_else(not_json::least));
    }
    Problem::new("not_one_message", format!("the file holds {}, not an object", words::kind_of(value)))
        .fix("write one JSON object")
        .example(value.as_str().map_or_else(not_json::least, |text| json!({"to": "bob", "body": text})))
}
