//! Strict parsing of JSON: one pass, no duplicate keys, numbers kept as written, limited depth.

use super::not_json;
use super::parsed::{DEPTH, ParseRejection, ParsedFile};
use serde::de::{DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::map::Entry;
use serde_json::{Map, Number, Value};
use std::cell::RefCell;
use std::fmt;

/// Reads the bytes of a message file.
pub fn parse(bytes: &[u8]) -> ParsedFile {
    if let Some(early) = not_json::before_parsing(bytes) {
        return early;
    }
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(e) => return not_json::invalid_utf8(bytes, e),
    };
    let rejection = RefCell::new(None);
    let mut json = serde_json::Deserializer::from_str(text);
    let value = StrictJsonReader {
        rejection: &rejection,
        depth: 0,
    }
    .deserialize(&mut json);
    match value.and_then(|value| json.end().map(|()| value)) {
        Ok(value) => ParsedFile::Value(value),
        Err(e) => match rejection.into_inner() {
            Some(rejection) => ParsedFile::Bad(not_json::rejected(rejection, &e)),
            None => not_json::explain(text, &e),
        },
    }
}

/// Reads one value. A serde error can contain only text, so the reason of a rejection is stored separately.
struct StrictJsonReader<'a> {
    rejection: &'a RefCell<Option<ParseRejection>>,
    depth: usize,
}

impl StrictJsonReader<'_> {
    fn reject<E: serde::de::Error>(&self, rejection: ParseRejection) -> E {
        *self.rejection.borrow_mut() = Some(rejection);
        E::custom("refused")
    }

    fn deeper<E: serde::de::Error>(&self) -> Result<StrictJsonReader<'_>, E> {
        if self.depth == DEPTH {
            return Err(self.reject(ParseRejection::Depth));
        }
        Ok(StrictJsonReader {
            rejection: self.rejection,
            depth: self.depth + 1,
        })
    }
}

/// The key that serde_json uses to pass a number unchanged to a visitor. A sender's object with
/// this key would be read as a number from the log, so it is rejected at any depth.
const PRIVATE: &str = "$serde_json::private::";

impl<'de> DeserializeSeed<'de> for StrictJsonReader<'_> {
    type Value = Value;
    fn deserialize<D: serde::Deserializer<'de>>(self, json: D) -> Result<Value, D::Error> {
        json.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for StrictJsonReader<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    // Numbers that fit a machine word arrive here; all others arrive through `visit_map`.
    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(Value::from(number))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(Value::from(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::String(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element_seed(self.deeper()?)? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            if key.starts_with(PRIVATE) {
                return self.number(key, entries);
            }
            let inner = self.deeper()?;
            match map.entry(key) {
                Entry::Occupied(twice) => {
                    return Err(self.reject(ParseRejection::Duplicate(twice.key().clone())));
                }
                Entry::Vacant(free) => free.insert(entries.next_value_seed(inner)?),
            };
        }
        Ok(Value::Object(map))
    }
}

impl StrictJsonReader<'_> {
    /// A number, or an object that looks like one. serde_json passes the text of a number as an owned string, and never
    /// does so for a value in the JSON. A test verifies this.
    fn number<'de, A: MapAccess<'de>>(
        self,
        key: String,
        mut entries: A,
    ) -> Result<Value, A::Error> {
        let Ok(text) = entries.next_value_seed(OwnedStringReader) else {
            return Err(self.reject(ParseRejection::Key(key)));
        };
        let number: Number = text.parse().map_err(A::Error::custom)?;
        // A number of digits only can also be too large for a double, for example 400 digits.
        if number.as_f64().is_none() {
            return Err(self.reject(ParseRejection::Number(text)));
        }
        Ok(Value::Number(number))
    }
}

/// Accepts only an owned string.
struct OwnedStringReader;

impl<'de> DeserializeSeed<'de> for OwnedStringReader {
    type Value = String;
    fn deserialize<D: serde::Deserializer<'de>>(self, json: D) -> Result<String, D::Error> {
        json.deserialize_any(self)
    }
}

impl Visitor<'_> for OwnedStringReader {
    type Value = String;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number")
    }
    fn visit_str<E: serde::de::Error>(self, _: &str) -> Result<String, E> {
        Err(E::custom("not a number"))
    }
    fn visit_string<E>(self, text: String) -> Result<String, E> {
        Ok(text)
    }
}
