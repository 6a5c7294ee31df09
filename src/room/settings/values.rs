//! Values of TOML: how they are read and shown.

use toml::de::DeValue;

/// A whole number. `None` if it is none, or negative.
pub(super) fn integer(value: &DeValue<'_>) -> Option<u64> {
    let integer = value.as_integer()?;
    u64::from_str_radix(integer.as_str(), integer.radix()).ok()
}

/// A text as TOML.
pub(super) fn shown(text: &str) -> String {
    // A JSON string is also a TOML string.
    serde_json::to_string(text).unwrap_or_default()
}
