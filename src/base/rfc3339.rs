//! A time in microseconds since 1970, written as RFC 3339 text: for `#[serde(with = …)]`.

use crate::base::clock::Stamp;
use serde::{Deserialize, Deserializer, Serializer, de::Error};
use std::borrow::Cow;

/// Writes it.
pub fn serialize<S: Serializer>(micros: &i64, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(&Stamp::from_micros(*micros))
}

/// Reads it.
pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<i64, D::Error> {
    let text = Cow::<'de, str>::deserialize(from)?;
    Stamp::parse(&text)
        .map(Stamp::micros)
        .ok_or_else(|| D::Error::custom("not an RFC 3339 time"))
}
