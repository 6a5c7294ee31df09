//! Checking a message: parse, convert dialects, apply the schema, apply the rules. The result is a message or a list of
//! problems.

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
use crate::message::dialects::{Converted, spell};
use crate::message::{Message, id};
use jsonschema::{Draft, PatternOptions, Validator};
use serde_json::{Map, Value, json};
use std::sync::LazyLock;

/// Checks a message of `sender`. All problems are reported, up to [`limits::PROBLEMS`].
pub fn check(value: Value, sender: &str, now: Stamp) -> Result<Message, Vec<Problem>> {
    check_as(value, sender, &[], now)
}

/// As [`check`], but `from` may also be another name of the sender, such as its display name, in any letter case.
pub fn check_as(value: Value, sender: &str, also: &[&str], now: Stamp) -> Result<Message, Vec<Problem>> {
    let fields = match value {
        Value::Object(fields) => fields,
        other => return Err(vec![not_an_object(&other)]),
    };
    let Converted { fields, origins, mut problems } = spell(fields);
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

/// The schema of messages, as text.
pub fn message_schema() -> &'static str {
    include_str!("../../../schema/message.schema.json")
}

/// The schema of `registry.json`, as text.
pub fn registry_schema() -> &'static str {
    include_str!("../../../schema/registry.schema.json")
}

/// The problems of a registry by its schema. Name conflicts are not checked here.
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
    // All keywords in use mean the same in draft 7. Its meta-schema is smaller, so a process that checks one message
    // starts a third faster. A test verifies that the two agree.
    jsonschema::options()
        .with_draft(Draft::Draft7)
        .with_pattern_options(PatternOptions::regex())
        .with_format("mailbag-time", |text: &str| Stamp::parse(text).is_some())
        .should_validate_formats(true)
        .build(&schema)
        .expect("the schema is compiled in, and a test builds it")
}

/// Adds missing fields at the front, where a reader looks first.
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

/// Translates problems of canonical fields to the fields that the sender wrote. Removes repeated problems and limits
/// their number.
pub(crate) fn in_the_senders_words(problems: Vec<Problem>, origins: &[(&'static str, String)]) -> Vec<Problem> {
    let mut reported: Vec<Problem> = Vec::new();
    for mut problem in problems {
        let field = problem.place.strip_prefix('/').and_then(|p| p.split('/').next());
        if let Some((field, origin)) = origins.iter().find(|(f, _)| Some(*f) == field) {
            problem.place = format!("{origin}{}", &problem.place[field.len() + 1..]);
        }
        if reported.len() < limits::PROBLEMS
            && !reported.iter().any(|t| t.code == problem.code && t.place == problem.place)
        {
            reported.push(problem);
        }
    }
    reported
}

fn not_an_object(value: &Value) -> Problem {
    if let Value::Array(items) = value {
        let fix = "write each message of the list to its own file";
        let problem =
            Problem::new("not_one_message", "the file contains a list, but a file must contain one message").fix(fix);
        let first = items.iter().find(|item| item.is_object());
        return problem.example(first.cloned().unwrap_or_else(not_json::least));
    }
    Problem::new("not_one_message", format!("the file contains {}, not an object", words::kind_of(value)))
        .fix("write one JSON object")
        .example(value.as_str().map_or_else(not_json::least, |text| json!({"to": "bob", "body": text})))
}
