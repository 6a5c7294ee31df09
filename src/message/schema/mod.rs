//! Checking a message: parse, convert dialects, apply the schema, apply the rules. The result is a message or a list of
//! problems.

mod approvals;
mod claims;
mod correct;
mod links;
mod not_json;
mod parse;
mod parsed;
mod repair;
mod rules;
#[cfg(test)]
mod tests;
mod words;

pub use approvals::check_options;
pub use correct::{corrected, keep_example};
pub use parse::parse;
pub use parsed::ParsedFile;
pub use rules::EXPIRED_ALREADY;

use crate::base::clock::Stamp;
use crate::base::error::Problem;
use crate::base::limits;
use crate::message::checked::{has_to, text_field};
use crate::message::dialects::{ConvertedMessage, CorrectedNames, spell};
use crate::message::{Message, goes_to_all, id};
use serde_json::{Map, Value};

/// Checks a message of `sender`. All problems are reported, up to [`limits::PROBLEMS`].
pub fn check(value: Value, sender: &str, now: Stamp) -> Result<Message, Vec<Problem>> {
    check_as(value, sender, &[], now)
}

/// As [`check`], but `from` may also be another name of the sender, such as its display name, in any letter case.
pub fn check_as(
    value: Value,
    sender: &str,
    also: &[&str],
    now: Stamp,
) -> Result<Message, Vec<Problem>> {
    let fields = match value {
        Value::Object(fields) => fields,
        other => return Err(vec![not_an_object(&other)]),
    };
    let ConvertedMessage {
        fields,
        origins,
        mut problems,
        corrected,
        has_wrong_recipients,
        has_wrong_content,
    } = spell(fields);
    if let Some(corrected) = corrected
        && problems.iter().any(|problem| problem.code == MISNAMED)
    {
        // A field that is missing because its name is wrong is not another problem.
        problems.retain(|problem| problem.code == MISNAMED);
        let CorrectedNames { message, moved } = corrected;
        let rest = check_as(message, sender, also, now).err();
        let rest = rest.unwrap_or_default();
        for other in in_the_senders_words(rest, &moved) {
            match problems.iter_mut().find(|one| one.place == other.place) {
                // The value of the misnamed field is also wrong.
                Some(one) => one.fix = format!("{}; {}", one.fix, other.fix),
                None => problems.push(other),
            }
        }
        problems.truncate(limits::PROBLEMS);
        return Err(problems);
    }
    let value = Value::Object(fields);
    if !MessageValidator::is_valid(&value) {
        let found = MessageValidator::iter_errors(&value)
            .filter_map(|e| words::of_message(&e))
            .collect();
        problems.extend(in_the_order_of(message_schema(), found));
    }
    let Value::Object(mut fields) = value else {
        unreachable!("it was put in as an object above")
    };
    let sender_names = rules::SenderNames { id: sender, also };
    let mut broken_rules = Vec::new();
    rules::check(&fields, &sender_names, now, &mut broken_rules);
    if let Some(kind) = words::nearest_type(&fields) {
        // A problem that the probably meant type does not have follows from the wrong type.
        let mut meant = fields.clone();
        meant.insert("type".to_owned(), Value::from(kind));
        let mut problems_of_meant = Vec::new();
        rules::check(&meant, &sender_names, now, &mut problems_of_meant);
        broken_rules.retain(|problem| is_listed(problem, &problems_of_meant));
    }
    problems.extend(broken_rules);
    problems.retain(|problem| match &*problem.code {
        NO_RECIPIENT => !has_wrong_recipients,
        NO_CONTENT => !has_wrong_content,
        _ => true,
    });
    if problems.is_empty() {
        fill_in(&mut fields, sender);
        return Message::from_fields(fields).ok_or_else(|| vec![not_an_object(&Value::Null)]);
    }
    Err(in_the_senders_words(problems, &origins))
}

/// The code of a name that is not understood.
pub const MISNAMED: &str = "misnamed_field";
/// The code of a message that names no recipient.
pub(super) const NO_RECIPIENT: &str = "no_recipient";
/// The code of a message without content.
pub(super) const NO_CONTENT: &str = "no_content";

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
    if RegistryValidator::is_valid(value) {
        return Vec::new();
    }
    let problems = RegistryValidator::iter_errors(value)
        .map(|e| words::of_registry(&e))
        .collect();
    in_the_senders_words(in_the_order_of(registry_schema(), problems), &[])
}

/// The problems in the order of the schema's fields. Generated code has the order of the alphabet.
fn in_the_order_of(schema: &str, mut problems: Vec<Problem>) -> Vec<Problem> {
    let schema: Value =
        serde_json::from_str(schema).expect("the schema is compiled in, and is JSON");
    let fields: Vec<&String> = schema["properties"]
        .as_object()
        .into_iter()
        .flat_map(Map::keys)
        .collect();
    problems.sort_by_key(|problem| {
        let field = problem.place.split('/').nth(1).unwrap_or_default();
        fields.iter().position(|name| **name == field)
    });
    problems
}

/// The schema of messages as generated code: a process that checks one message does not spend a millisecond on reading a
/// schema, and the program has no code for schemas in general.
#[jsonschema::validator(
    path = "schema/message.schema.json",
    draft = Draft202012,
    formats = { "mailbag-time" => crate::message::schema::is_time },
    validate_formats = true,
    pattern_options = { engine = regex },
    methods = { validate = false }
)]
struct MessageValidator;

/// Likewise for `registry.json`, which every command reads.
#[jsonschema::validator(
    path = "schema/registry.schema.json",
    draft = Draft202012,
    formats = { "mailbag-time" => crate::message::schema::is_time },
    validate_formats = true,
    pattern_options = { engine = regex },
    methods = { validate = false }
)]
struct RegistryValidator;

fn is_time(text: &str) -> bool {
    Stamp::parse(text).is_some()
}

/// Adds missing fields at the front, where a reader looks first.
fn fill_in(fields: &mut Map<String, Value>, sender: &str) {
    if !fields.contains_key("type") {
        fields.shift_insert(0, "type".to_owned(), Value::from("message"));
    }
    if !has_to(fields) && text_field(fields, "type").is_some_and(goes_to_all) {
        fields.shift_remove("to");
        fields.shift_insert(0, "to".to_owned(), Value::from("all"));
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
pub(crate) fn in_the_senders_words(
    problems: Vec<Problem>,
    origins: &[(String, String)],
) -> Vec<Problem> {
    let mut reported: Vec<Problem> = Vec::new();
    for mut problem in problems {
        let written = origins.iter().filter_map(|(canonical, origin)| {
            let below = problem.place.strip_prefix(&**canonical)?;
            let is_below = below.is_empty() || below.starts_with('/');
            is_below.then(|| (canonical.len(), format!("{origin}{below}")))
        });
        if let Some((_, place)) = written.max_by_key(|(length, _)| *length) {
            problem.place = place;
        }
        if reported.len() < limits::PROBLEMS && !is_listed(&problem, &reported) {
            reported.push(problem);
        }
    }
    reported
}

/// Returns true if the list has a problem with the same code at the same place.
fn is_listed(problem: &Problem, problems: &[Problem]) -> bool {
    problems
        .iter()
        .any(|other| other.code == problem.code && other.place == problem.place)
}

fn not_an_object(value: &Value) -> Problem {
    if let Value::Array(items) = value {
        let fix = "write each message of the list to its own file";
        let problem = Problem::new(
            "not_one_message",
            "the file contains a list, but a file must contain one message",
        )
        .fix(fix);
        return match items.as_slice() {
            [only] => problem.example(only.clone()),
            _ => problem,
        };
    }
    if let Some(message) = value.as_str().and_then(repair::object) {
        let problem = Problem::new(
            "not_one_message",
            "the file contains a message inside of a string",
        );
        let fix = "write the object itself, without quotes around it and without backslashes before its quotes";
        return problem.fix(fix).example(message);
    }
    Problem::new(
        "not_one_message",
        format!("the file contains {}, not an object", words::kind_of(value)),
    )
    .fix("write one JSON object")
}
