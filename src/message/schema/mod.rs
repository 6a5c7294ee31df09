//! Checking a message: parse, convert dialects, apply the schema, apply the rules. The result is a message or a list of
//! problems.

mod correct;
mod not_json;
mod parse;
mod parsed;
mod rules;
#[cfg(test)]
pub(super) mod tests;
mod words;

pub use correct::{corrected, keep_example};
pub use parse::parse;
pub use parsed::ParsedFile;
pub use rules::EXPIRED_ALREADY;
pub(crate) use words::{CheckedFields, hint_at_misspelling};

pub use super::table::{message_schema, registry_schema};

use crate::base::clock::Stamp;
use crate::base::error::Problem;
use crate::base::limits;
use crate::message::checked::{has_to, text_field};
use crate::message::dialects::{ConvertedMessage, spell};
use crate::message::table::MESSAGE;
use crate::message::{Message, behaviour, id};
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
        has_wrong_recipients,
        has_wrong_content,
    } = spell(fields);
    let value = Value::Object(fields);
    problems.extend(words::problems(&MESSAGE, &value));
    let Value::Object(mut fields) = value else {
        unreachable!("it was put in as an object above")
    };
    let sender_names = rules::SenderNames { id: sender, also };
    rules::check(&fields, &sender_names, now, &mut problems);
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

/// The code of a message that names no recipient.
pub(super) const NO_RECIPIENT: &str = "no_recipient";
/// The code of a message without content.
pub(super) const NO_CONTENT: &str = "no_content";

/// Adds missing fields at the front, where a reader looks first.
fn fill_in(fields: &mut Map<String, Value>, sender: &str) {
    if !fields.contains_key("type") {
        fields.shift_insert(0, "type".to_owned(), Value::from("message"));
    }
    if !has_to(fields) && text_field(fields, "type").is_some_and(|kind| behaviour(kind).to_all) {
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
    if let Some(message) = value.as_str().and_then(not_json::object) {
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
