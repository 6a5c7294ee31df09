//! Values of `settings.toml`: reading with checks, and writing as TOML.

use crate::base::clock;
use crate::base::limits;
use serde::de::{DeserializeOwned, Error, IntoDeserializer};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use std::ops::RangeInclusive;
use std::time::Duration;

/// The shortest budget window that the settings may set.
const BUDGET_WINDOW_LEAST: Duration = Duration::from_secs(1);

/// Reads a value that passes a check. The error describes a valid value after the word `expected`.
pub(super) fn read_checked<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
    is_valid: impl Fn(&T) -> bool,
    wanted: &str,
) -> Result<T, D::Error> {
    T::deserialize(deserializer)
        .ok()
        .filter(is_valid)
        .ok_or_else(|| D::Error::custom(format_args!("expected {wanted}")))
}

/// Reads one word of an enum. The error lists the words, even for a value that is not text.
pub(super) fn read_word<'de, D: Deserializer<'de>, T: DeserializeOwned>(
    deserializer: D,
) -> Result<T, D::Error> {
    T::deserialize(
        String::deserialize(deserializer)
            .unwrap_or_default()
            .into_deserializer(),
    )
}

/// Reads a duration such as `10m`.
pub(super) fn read_span<'de, D: Deserializer<'de>>(
    deserializer: D,
    allowed: RangeInclusive<Duration>,
    wanted: &str,
) -> Result<Duration, D::Error> {
    let is_allowed = |text: &String| clock::span(text).is_some_and(|span| allowed.contains(&span));
    read_checked(deserializer, is_allowed, wanted)
        .map(|text| clock::span(&text).unwrap_or_default())
}

/// Reads a duration from a second to a day.
pub(super) fn read_window<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Duration, D::Error> {
    let allowed = BUDGET_WINDOW_LEAST..=limits::BUDGET_WINDOW_MOST;
    read_span(deserializer, allowed, "a duration from 1s to 24h")
}

/// Reads a number of messages or copies.
pub(super) fn read_budget<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    let wanted = format!(
        "a whole number from 0 (no limit) to {}",
        limits::BUDGET_MOST
    );
    read_checked(deserializer, |n| *n <= limits::BUDGET_MOST, &wanted)
}

/// As [`read_budget`], for a key that may be missing.
pub(super) fn read_own_budget<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<u32>, D::Error> {
    read_budget(deserializer).map(Some)
}

/// Writes a duration such as `10m`.
pub(super) fn write_span<S: Serializer>(span: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&clock::span_text(*span))
}

/// The TOML of a value on one line. Empty without a value.
pub(super) fn to_toml(value: &impl Serialize) -> String {
    serde_json::to_value(value)
        .map(|value| json_to_toml(&value))
        .unwrap_or_default()
}

fn json_to_toml(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(json_to_toml).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(fields) => {
            let fields: Vec<String> = fields
                .iter()
                .filter(|(_, value)| !value.is_null())
                .map(|(key, value)| format!("{} = {}", toml_key(key), json_to_toml(value)))
                .collect();
            if fields.is_empty() {
                "{}".into()
            } else {
                format!("{{ {} }}", fields.join(", "))
            }
        }
        // Numbers, booleans and strings of JSON are valid in TOML, except for one control character.
        plain => plain.to_string().replace('\u{7f}', "\\u007f"),
    }
}

fn toml_key(key: &str) -> String {
    let is_bare = !key.is_empty()
        && key
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "_-".contains(c));
    if is_bare {
        key.to_owned()
    } else {
        Value::from(key).to_string()
    }
}
