//! Values of `settings.toml`: reading with checks, and writing as TOML.

use super::nats::{REPLICAS_MOST, is_file};
use super::{MESSAGE_BYTES_LEAST, WorklogValue, are_absolute, are_names, is_context};
use crate::base::{clock, limits};
use crate::room::checked::checked;
use serde::de::{DeserializeOwned, IntoDeserializer};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use std::ops::RangeInclusive;
use std::time::Duration;

/// Durations from a second to a day.
const WINDOW: RangeInclusive<Duration> = Duration::from_secs(1)..=limits::BUDGET_WINDOW_MOST;

/// The allowed time for the human's decision on a permission request.
const PERMISSION_WITHIN: RangeInclusive<Duration> =
    Duration::from_secs(1)..=Duration::from_secs(10 * 60);

/// The largest number of rounds before a supervisor is asked.
const ATTEMPTS_MOST: u32 = 100;

/// A duration such as `10m`.
#[derive(Deserialize)]
#[serde(try_from = "String")]
pub(super) struct SpanValue(Duration);

impl TryFrom<String> for SpanValue {
    type Error = &'static str;

    fn try_from(text: String) -> Result<SpanValue, &'static str> {
        clock::span(&text).map(SpanValue).ok_or("no duration")
    }
}

impl From<SpanValue> for Duration {
    fn from(span: SpanValue) -> Duration {
        span.0
    }
}

checked! {
    read_context: String, |path| is_context(path), "a path, not one of the room's own directories";
    read_attach_from: Vec<String>, |paths| are_absolute(paths), "an array of absolute paths, none of them \"/\"";
    read_message_bytes: u64, |bytes| (MESSAGE_BYTES_LEAST..=limits::MESSAGE_BYTES_MOST).contains(bytes), format!(
        "a whole number of bytes from {MESSAGE_BYTES_LEAST} to {}", limits::MESSAGE_BYTES_MOST
    );
    read_names: Vec<String>, |names| are_names(names), format!(
        "an array of different names, each of 1 to {} ASCII letters, none reserved", limits::DISPLAY_NAME
    );
    read_stale_after: SpanValue, |_| true, "a duration such as \"6h\", or \"0\" for never";
    read_window: SpanValue, |span| WINDOW.contains(&span.0), "a duration from 1s to 24h";
    read_permission_within: SpanValue, |span| PERMISSION_WITHIN.contains(&span.0), "a duration from 1s to 10m";
    read_within: SpanValue, |span| !span.0.is_zero() && span.0 <= limits::DEADLINE_MOST, "a duration such as \"30m\"";
    read_worklog: WorklogValue, WorklogValue::is_valid, "true, false, or a relative path that ends in \".md\", \
        without .. and without names that begin with a dot";
    read_budget: u32, |n| *n <= limits::BUDGET_MOST, format!(
        "a whole number from 0 (no limit) to {}", limits::BUDGET_MOST
    );
    read_announcements: u32, |n| *n <= limits::BUDGET_MOST, format!(
        "a whole number from 0 (digests only) to {}", limits::BUDGET_MOST
    );
    read_attempts: u32, |n| (1..=ATTEMPTS_MOST).contains(n), format!("a whole number from 1 to {ATTEMPTS_MOST}");
    read_supervisor: String, |text| !text.is_empty(), "an address such as \"lead\"";
    read_file: String, |path| is_file(path), "a path that begins with \"/\" or \"~/\"";
    read_replicas: u8, |n| (1..=REPLICAS_MOST).contains(n), format!("a whole number from 1 to {REPLICAS_MOST}");
}

/// Reads one word of an enum. The error lists the words, even for a value that is not text.
pub(super) fn read_word<'de, D: Deserializer<'de>, T: DeserializeOwned>(
    deserializer: D,
) -> Result<T, D::Error> {
    let word = String::deserialize(deserializer).unwrap_or_default();
    T::deserialize(word.into_deserializer())
}

/// Writes a duration such as `10m`.
pub(super) fn write_span<S: Serializer>(span: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&clock::span_text(*span))
}

/// The TOML of a value on one line. Empty without a value.
pub(super) fn to_toml(value: &impl Serialize) -> String {
    json_to_toml(&serde_json::to_value(value).unwrap_or_default())
}

fn json_to_toml(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(json_to_toml).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(fields) if fields.is_empty() => "{}".into(),
        Value::Object(fields) => {
            let is_given = |(_, value): &(&String, &Value)| !value.is_null();
            let fields: Vec<String> = fields
                .iter()
                .filter(is_given)
                .map(|(key, value)| format!("{} = {}", toml_key(key), json_to_toml(value)))
                .collect();
            format!("{{ {} }}", fields.join(", "))
        }
        // Numbers, booleans and strings of JSON are valid in TOML, except for one control character.
        plain => plain.to_string().replace('\u{7f}', "\\u007f"),
    }
}

fn toml_key(key: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
    if !key.is_empty() && key.chars().all(is_bare) {
        key.to_owned()
    } else {
        Value::from(key).to_string()
    }
}
