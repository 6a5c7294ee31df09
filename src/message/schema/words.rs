//! Readable descriptions of values that do not fit a schema. The words are in the schema, as notes.

use crate::base::error::{Problem, did_you_mean};
use crate::base::text::quoted;
use crate::message::table::{Fault, MESSAGE, Misfit, Place, Schema};
use serde_json::{Map, Value};

/// The fields of a message that is checked.
pub(crate) type CheckedFields = Map<String, Value>;

/// The problems of a value, in the order of the schema's fields.
pub(super) fn problems(schema: &Schema, value: &Value) -> Vec<Problem> {
    let mut problems = Vec::new();
    schema.check(value, &mut |place, misfit| {
        problems.extend(problem(place, &misfit));
    });
    problems
}

/// The problem of one value. `None` for missing content, which the rules report with a better hint.
fn problem(place: &Place<'_>, misfit: &Misfit<'_>) -> Option<Problem> {
    let Misfit {
        fault, value, note, ..
    } = *misfit;
    if matches!((place, fault), (Place::Root, Fault::Form)) {
        return None;
    }
    let field = note.name.as_deref().or(place.field()).unwrap_or("the file");
    let must = &note.must;
    let what = match fault {
        Fault::TooLong(limit) => format!("{field} is longer than {limit} characters"),
        Fault::TooFew(1) => format!("{field} is empty; it must be {must}"),
        Fault::TooFew(limit) => {
            format!("{field} has fewer than {limit} items; it must be {must}")
        }
        Fault::TooMany(limit) => format!("{field} has more than {limit} items"),
        Fault::Missing(name) => format!("{field} has no {name}"),
        Fault::Kind | Fault::Form => format!("{field} must be {must}, not {}", shown(value)),
    };
    let code = match fault {
        Fault::Kind => "wrong_type",
        Fault::Missing(_) => "missing_field",
        _ => note.code.as_deref().unwrap_or("bad_value"),
    };
    let place = match fault {
        Fault::Missing(name) => Place::Field(place, name).to_string(),
        _ => place.to_string(),
    };
    Some(Problem::new(code, what).at(place).fix(fix(field, misfit)))
}

fn fix(field: &str, misfit: &Misfit<'_>) -> String {
    let Misfit {
        fault,
        value,
        schema,
        note,
    } = misfit;
    let hint = match value {
        Value::String(word) if *fault == Fault::Form => did_you_mean(word, schema.words()),
        _ => None,
    };
    match (fault, value, &note.fix) {
        (Fault::Missing(name), ..) => format!("add {name}"),
        (Fault::TooMany(_), ..) => "name fewer, or write several messages".to_owned(),
        (_, Value::Null, _) => format!("omit {field} if it has no value"),
        (_, _, Some(fix)) => [hint, Some(fix.clone())]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join(" "),
        _ if hint.is_some() => hint.unwrap_or_default(),
        _ if note.optional => format!("correct it, or omit {field}"),
        _ => "correct it".to_owned(),
    }
}

/// Returns true if a message means the same without this field, or nearly.
pub(super) fn is_optional(field: &str) -> bool {
    MESSAGE
        .property(field)
        .is_some_and(|field| field.note.optional)
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

/// A hint at a field that looks like a misspelling of one of `wanted`. Such a field is valid as the sender's own, so
/// the hint is given only if a wanted field is missing.
pub(crate) fn hint_at_misspelling(fields: &CheckedFields, wanted: &[&str]) -> String {
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
