//! Checked values of the files that people write: `settings.toml` and `registry.json`.

/// Defines functions for `deserialize_with` that read a value and check it. The error describes a valid value after the
/// word `expected`.
macro_rules! checked {
    ($($name:ident: $kind:ty, $is_valid:expr, $wanted:expr;)*) => {$(
        pub(super) fn $name<'de, D: serde::Deserializer<'de>, T: From<$kind>>(
            deserializer: D,
        ) -> std::result::Result<T, D::Error> {
            let is_valid: fn(&$kind) -> bool = $is_valid;
            let value = <$kind as serde::Deserialize>::deserialize(deserializer);
            match value.ok().filter(is_valid) {
                Some(value) => Ok(T::from(value)),
                None => Err(serde::de::Error::custom(format!("expected {}", $wanted))),
            }
        }
    )*};
}
pub(super) use checked;

/// The valid values that serde's message about another value names.
pub(super) fn wanted(message: &str) -> String {
    let wanted = message.rsplit_once("expected ");
    let wanted = wanted.map_or(message, |(_, wanted)| wanted);
    wanted
        .replace("a boolean", "true or false")
        .replace('`', "\"")
}
