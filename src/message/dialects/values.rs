//! Other forms of the values of canonical fields.

use super::recipients::identity;
use super::table::attachment_field;
use serde_json::{Map, Value, json};

/// The canonical form of a value that is not a word of a table.
pub(super) fn canonical(field: &str, value: Value) -> Value {
    match (field, value) {
        ("from", value) => identity(value, false),
        ("to", Value::Array(items)) => items.into_iter().map(|item| identity(item, true)).collect(),
        ("to", value) => identity(value, true),
        ("in_reply_to", value) => reference(value),
        ("refs", Value::Array(items)) => items.into_iter().map(reference).collect(),
        ("refs", one @ (Value::String(_) | Value::Number(_))) => json!([reference(one)]),
        ("attachments", Value::Array(items)) => items.into_iter().map(attachment).collect(),
        (_, value) => value,
    }
}

/// A sequence number can be a JSON number, as in a delivered message.
fn reference(value: Value) -> Value {
    match value {
        Value::Number(seq) if seq.is_u64() => Value::String(seq.to_string()),
        other => other,
    }
}

/// Returns true if an attachment has a field that is null or has another name.
pub(super) fn is_other_attachment(value: &Value) -> bool {
    let mut fields = value.as_object().into_iter().flatten();
    fields.any(|(name, value)| value.is_null() || attachment_field(name).is_some())
}

fn attachment(value: Value) -> Value {
    let Value::Object(fields) = value else {
        return value;
    };
    let mut attachment = Map::new();
    for (name, value) in &fields {
        let field = attachment_field(name).filter(|field| !fields.contains_key(*field));
        if !value.is_null() {
            attachment.insert(field.unwrap_or(name).to_owned(), value.clone());
        }
    }
    Value::Object(attachment)
}

/// Returns true if two values of a field mean the same.
pub(super) fn is_same(field: &str, a: &Value, b: &Value) -> bool {
    let bare = |value: &Value| {
        value
            .as_str()
            .map(|text| text.trim_start_matches('@').to_owned())
    };
    match (field, a, b) {
        ("from", a, b) => a == b || bare(a).is_some() && bare(a) == bare(b),
        ("to", Value::Array(list), one @ Value::String(_))
        | ("to", one @ Value::String(_), Value::Array(list)) => {
            list.as_slice() == std::slice::from_ref(one)
        }
        (_, a, b) => a == b,
    }
}

/// Returns true for a block of content that is only a text.
pub(super) fn is_text_block(block: &Map<String, Value>) -> bool {
    block.get("text").is_some_and(Value::is_string)
        && block.keys().all(|key| key == "text" || key == "type")
}
