//! Many numbers as one text in JSON, which is read fast.

use data_encoding::BASE64_NOPAD;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
use std::borrow::Cow;

/// Numbers, written as base64 of eight bytes each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PackedNumbers(pub Vec<u64>);

impl Serialize for PackedNumbers {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let bytes: Vec<u8> = self.0.iter().flat_map(|n| n.to_le_bytes()).collect();
        to.serialize_str(&BASE64_NOPAD.encode(&bytes))
    }
}

impl<'de> Deserialize<'de> for PackedNumbers {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<PackedNumbers, D::Error> {
        let text = Cow::<'de, str>::deserialize(from)?;
        let bytes = BASE64_NOPAD
            .decode(text.as_bytes())
            .map_err(D::Error::custom)?;
        let (numbers, rest) = bytes.as_chunks::<8>();
        if !rest.is_empty() {
            return Err(D::Error::custom("not eight bytes for each number"));
        }
        let numbers = numbers.iter().map(|&number| u64::from_le_bytes(number));
        Ok(PackedNumbers(numbers.collect()))
    }
}
