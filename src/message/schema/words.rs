//! Readable descriptions of schema errors.

use super::correct::is_optional;
use crate::base::error::{Problem, did_you_mean, nearest};
use crate::base::text::quoted;
use crate::message::TYPES;
use crate::message::checked::text_field;
use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind as Kind;
use serde_json::{Map, Value};

/// The fields of a message that is checked.
pub(super) type CheckedFields = Map<String, Value>;

/// The problem for an error of the message schema. `None` if another error describes it better.
pub(super) fn of_message(error: &ValidationError) -> Option<Problem> {
    let place = error.instance_path().to_string();
    let value = error.instance().as_ref();
    let field = field_of(&place);
    let problem = match (field, value, error.kind()) {
        ("type", Value::String(kind), _) => wrong_kind(kind),
        (
            "attachments",
            Value::Object(_),
            Kind::OneOfNotValid { .. } | Kind::OneOfMultipleValid { .. },
        ) => attachment(error),
        // The rules report missing content, with a better hint.
        ("", _, Kind::AnyOf { .. }) => return None,
        // `not` also fails for a value of another type; the error about the type is better.
        (_, value, Kind::Not { .. }) if !value.is_string() => return None,
        (_, _, Kind::OneOfNotValid { .. } | Kind::OneOfMultipleValid { .. }) => return None,
        (_, _, Kind::Required { property }) => return Some(missing(&text_of(property), &place)),
        _ => of_field(field, value, error, message_field(field)),
    };
    Some(problem.at(place))
}

/// The problem of a type of message that needs this field.
fn missing(name: &str, above: &str) -> Problem {
    let must = message_field(name);
    Problem::new("missing_field", format!("{name} is missing"))
        .at(format!("{above}/{name}"))
        .fix(format!("add {name}; it must be {must}"))
}

/// The problem for an error of the registry schema.
pub(super) fn of_registry(error: &ValidationError) -> Problem {
    let mut place = error.instance_path().to_string();
    let is_of_agent = place.starts_with("/agents/");
    if is_of_agent && let Some(at) = place.find("/wake") {
        place.truncate(at + "/wake".len());
    }
    let value = error.instance().as_ref();
    let field = field_of(&place).to_owned();
    let mut problem = match error.kind() {
        Kind::Required { property } if is_of_agent => {
            let what = format!("this agent has no {}", text_of(property));
            Problem::new("missing_field", what).fix("add it")
        }
        Kind::Required { property } => {
            place = format!("/{}", text_of(property));
            let what = format!("the registry has no {}", text_of(property));
            let fix = "write \"agents\": [] if there are none";
            Problem::new("missing_field", what).fix(fix)
        }
        // Then the value is the name.
        _ if error.schema_path().to_string().contains("/propertyNames/") => {
            let alias = text_of(error.instance());
            place = format!("/aliases/{}", alias.replace('~', "~0").replace('/', "~1"));
            let must = registry_field("alias");
            let what = format!(
                "the name of an alias must be {must}, not {}",
                quoted(&alias)
            );
            Problem::new("bad_name", what).fix("rename it")
        }
        Kind::Enum { options } if field == "status" && value.is_string() => {
            wrong_status(&text_of(value), options)
        }
        Kind::Constant { .. } if field == "version" && value.is_number() => other_version(value),
        _ if place.starts_with("/aliases/") => {
            let must = "an address, or a list of addresses";
            of_field("an alias", value, error, must)
        }
        _ => of_field(&field, value, error, registry_field(&field)),
    };
    // Programs know these codes from before the schema was used.
    match &*field {
        "version" => problem.code = "bad_version".into(),
        _ if problem.code == "bad_id" => problem.code = "bad_name".into(),
        _ if problem.code == "bad_value" => problem.code = "wrong_type".into(),
        _ => {}
    }
    problem.at(place)
}

fn other_version(version: &Value) -> Problem {
    let what = format!(
        "registry.json has the format version {}, and this mailbag understands version 1",
        shown(version)
    );
    Problem::new("bad_value", what)
        .fix("use the release of mailbag that wrote it, or restore the file from a backup")
}

fn wrong_status(word: &str, options: &Value) -> Problem {
    let words: Vec<&str> = options
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let fix = did_you_mean(word, words.iter().copied())
        .unwrap_or_else(|| format!("use one of {}", words.join(", ")));
    Problem::new("bad_status", format!("unknown status {}", quoted(word))).fix(fix)
}

/// The last part of a JSON pointer that is a name, not an index.
fn field_of(place: &str) -> &str {
    place
        .rsplit('/')
        .find(|part| !part.bytes().all(|b| b.is_ascii_digit()))
        .unwrap_or_default()
}

fn of_field(field: &str, value: &Value, error: &ValidationError, must: &str) -> Problem {
    let field = if field.is_empty() { "the file" } else { field };
    let what = match error.kind() {
        Kind::MaxLength { limit } if field != "sha256" => {
            format!("{field} is longer than {limit} characters")
        }
        Kind::MinLength { limit: 1 } | Kind::MinItems { limit: 1 } => {
            format!("{field} is empty; it must be {must}")
        }
        Kind::MinItems { limit } => {
            format!("{field} has fewer than {limit} items; it must be {must}")
        }
        Kind::MaxItems { limit } => format!("{field} has more than {limit} items"),
        _ => format!("{field} must be {must}, not {}", shown(value)),
    };
    let fix = match value {
        _ if matches!(error.kind(), Kind::MaxItems { .. }) => {
            "name fewer, or write several messages".to_owned()
        }
        Value::Null => format!("omit {field} if it has no value"),
        _ if is_optional(field) => format!("correct it, or omit {field}"),
        _ => "correct it".to_owned(),
    };
    Problem::new(code(field, value, error), what).fix(fix)
}

fn code(field: &str, value: &Value, error: &ValidationError) -> &'static str {
    // The schema gives no type for an enumeration.
    let is_wrong_type = match error.kind() {
        Kind::Type { .. } => true,
        Kind::Enum { .. } => !value.is_string(),
        Kind::Constant { .. } => !value.is_number(),
        _ => false,
    };
    match field {
        _ if is_wrong_type => "wrong_type",
        "id" => "bad_id",
        "timestamp" | "expires_at" => "bad_time",
        "in_reply_to" | "refs" => "bad_reference",
        "path" => "bad_path",
        "claims" => "bad_claim",
        "channel" | "topic" | "role" | "name" | "supervisor" | "capabilities" | "topics" => {
            "bad_name"
        }
        _ => "bad_value",
    }
}

/// The known type that is the most similar to an unknown one. `None` for a known type, and without a similar type.
pub(super) fn nearest_type(fields: &CheckedFields) -> Option<&'static str> {
    let kind = text_field(fields, "type")?;
    if TYPES.contains(&kind) || kind.starts_with("x-") {
        return None;
    }
    nearest(kind, TYPES.iter().copied()).first().copied()
}

fn wrong_kind(kind: &str) -> Problem {
    let near = nearest(kind, TYPES.iter().copied());
    let mut fix = "a custom type begins with x-; the default type is message".to_owned();
    if let Some(hint) = did_you_mean(kind, near.iter().copied()) {
        fix = format!("{hint} {fix}");
    }
    Problem::new("unknown_type", format!("unknown type {}", quoted(kind))).fix(fix)
}

fn attachment(error: &ValidationError) -> Problem {
    let what = match error.kind() {
        Kind::OneOfMultipleValid { .. } => {
            "an attachment is either a path or a name with content, not both"
        }
        _ => "an attachment needs a path, or a name and its content",
    };
    Problem::new("bad_attachment", what)
        .fix("give the path of a file in the context directory, or a short text as content")
}

const NAME: &str = "1 to 64 characters of A-Z a-z 0-9 . _ - (a letter or digit first)";
const TIME: &str = "an RFC 3339 time such as 2026-11-21T10:30:00Z, or an ISO 8601 time without a zone (read as UTC)";
const REFERENCE: &str = "a reference: <id>, <sender>/<id>, or a number as #12 or 12";

fn message_field(field: &str) -> &'static str {
    match field {
        "id" => "1 to 128 characters of A-Z a-z 0-9 . _ - (a letter or digit first)",
        "timestamp" | "expires_at" => TIME,
        "from" => "the id of the outbox's agent",
        "to" => "an address, or a list of addresses",
        "type" => "text: the name of a type",
        "channel" => NAME,
        "topic" => NAME,
        "thread_id" | "project_id" => "text of 1 to 256 characters in one line",
        "in_reply_to" => REFERENCE,
        "refs" => {
            "a list of messages, each <id>, <sender>/<id> or #12, or of other things in one line"
        }
        "context" => "an object",
        "metadata" => "an object",
        "attachments" => "a list of objects",
        "path" => "a relative path inside the context directory, with /, without ..",
        "sha256" => "64 hexadecimal digits",
        "media_type" => "a media type",
        "name" => "a file name without a directory",
        "priority" => "one of low, normal, high, urgent (or P0 to P3)",
        "requires_response" => "true or false",
        "claims" => "a list of paths, globs, task:<name> or lane:<name>",
        "lease" => "a duration such as 2h",
        "wait" => "true or false",
        "of" => "the id of the owner of the released claims",
        "options" => "a list of 2 to 20 texts",
        "deadline" => "a duration, or a time",
        "on_deadline" => "an option other than the first, deny or escalate",
        "option" => "one of the options",
        "digest" => "64 hexadecimal digits in lower case",
        "signature" => "text: required in an approval, otherwise a signature",
        "link" => "the tag of the other room",
        "body" => "text",
        "subject" => "text",
        _ => "text",
    }
}

fn registry_field(field: &str) -> &'static str {
    match field {
        "" => "an object with the list agents",
        "version" => "the number 1",
        "agents" => "a list of objects",
        "name" => "1 to 12 ASCII letters",
        "instance" => "text or a whole number",
        "status" => "one of online, offline, idle, busy, retired",
        "aliases" => "an object that maps names to addresses",
        "alias" => NAME,
        "capabilities" => "a list of names, each of the characters A-Z a-z 0-9 . _ -",
        "topics" => "a list of names, each of the characters A-Z a-z 0-9 . _ -",
        "description" => "text",
        "role" => NAME,
        _ => NAME,
    }
}

/// The type of a value, for an error message.
pub(super) fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// The most digits of a number in an error message.
const NUMBER_DIGITS: usize = 20;

/// A value for an error message.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) if number.as_str().len() <= NUMBER_DIGITS => number.to_string(),
        other => kind_of(other).to_owned(),
    }
}

fn text_of(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

/// A hint at a field that looks like a misspelling of one of `wanted`. Such a field is valid as the sender's own, so
/// the hint is given only if a wanted field is missing.
pub(super) fn hint_at_misspelling(fields: &CheckedFields, wanted: &[&str]) -> String {
    let slip = |key: &String| {
        let lower = key.to_ascii_lowercase();
        let field = wanted
            .iter()
            .find(|field| {
                strsim::osa_distance(&lower, field) <= if field.len() <= 3 { 1 } else { 2 }
            })
            .copied()?;
        (field != key).then(|| format!("; did you mean {field} instead of {}?", quoted(key)))
    };
    fields.keys().find_map(slip).unwrap_or_default()
}
