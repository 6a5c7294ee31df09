//! Hashes in JSON: hexadecimal digits.

use super::hash::{Hash, hex, unhex};
use serde::{Deserialize, Deserializer, Serializer, de::Error};
use std::borrow::Cow;

/// Writes a hash, for `serde`.
pub fn serialize<S: Serializer>(hash: &Hash, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&hex(hash))
}

/// Reads a hash, for `serde`.
pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Hash, D::Error> {
    let text = Cow::<'de, str>::deserialize(from)?;
    unhex(&text).ok_or_else(|| D::Error::custom("not 64 hexadecimal digits"))
}
