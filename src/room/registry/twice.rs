//! Duplicate keys in one object. JSON allows them and parsers silently keep one, so an agent could disappear unnoticed.

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use std::collections::HashSet;
use std::fmt;

/// The error of a duplicate key. The JSON library adds the position.
pub(super) const DUPLICATE_KEY: &str = "occurs twice in one object";

/// JSON without duplicate keys.
pub(super) struct NoKeyTwice;

impl<'de> Deserialize<'de> for NoKeyTwice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<NoKeyTwice, D::Error> {
        deserializer.deserialize_any(NoKeyTwice)
    }
}

impl<'de> Visitor<'de> for NoKeyTwice {
    type Value = NoKeyTwice;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<NoKeyTwice, A::Error> {
        let mut seen: HashSet<String> = HashSet::new();
        while let Some(key) = map.next_key::<String>()? {
            if seen.contains(&key) {
                return Err(A::Error::custom(format_args!(
                    "{} {DUPLICATE_KEY}",
                    crate::message::address::quoted(&key)
                )));
            }
            seen.insert(key);
            map.next_value::<NoKeyTwice>()?;
        }
        Ok(NoKeyTwice)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<NoKeyTwice, A::Error> {
        while seq.next_element::<NoKeyTwice>()?.is_some() {}
        Ok(NoKeyTwice)
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<NoKeyTwice, E> {
        Ok(NoKeyTwice)
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<NoKeyTwice, E> {
        Ok(NoKeyTwice)
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<NoKeyTwice, E> {
        Ok(NoKeyTwice)
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<NoKeyTwice, E> {
        Ok(NoKeyTwice)
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<NoKeyTwice, E> {
        Ok(NoKeyTwice)
    }

    fn visit_unit<E: Error>(self) -> Result<NoKeyTwice, E> {
        Ok(NoKeyTwice)
    }
}
