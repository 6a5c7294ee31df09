//! SHA-256 hashes, and their form in JSON.

use data_encoding::{HEXLOWER, HEXLOWER_PERMISSIVE};
use sha2::{Digest, Sha256};

/// A SHA-256 hash.
pub type Hash = [u8; 32];

/// The `prev` of the log's first line, and of a stream's first item.
pub const NO_HASH: Hash = [0; 32];

/// The hash of a line with its newline: `sed -n 5p log/00000001.ndjson | sha256sum`.
pub fn hash_line(line: &[u8]) -> Hash {
    Sha256::digest(line).into()
}

/// The hash in lower-case hexadecimal digits.
pub fn hex(hash: &Hash) -> String {
    HEXLOWER.encode(hash)
}

/// Reads the output of [`hex`].
pub fn unhex(text: &str) -> Option<Hash> {
    let mut hash = NO_HASH;
    let is_whole = text.len() == 2 * hash.len();
    is_whole.then(|| HEXLOWER_PERMISSIVE.decode_mut(text.as_bytes(), &mut hash))?.ok()?;
    Some(hash)
}

/// Is this the SHA-256 hash of these bytes, in hexadecimal digits of either case?
pub fn is_hash_of(text: &str, bytes: &[u8]) -> bool {
    unhex(text) == Some(hash_line(bytes))
}

pub(super) mod hex_hash {
    use super::{Hash, hex, unhex};
    use serde::{Deserialize, Deserializer, Serializer, de::Error};
    use std::borrow::Cow;

    pub(in crate::message) fn serialize<S: Serializer>(hash: &Hash, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&hex(hash))
    }

    pub(in crate::message) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Hash, D::Error> {
        let text = Cow::<'de, str>::deserialize(from)?;
        unhex(&text).ok_or_else(|| D::Error::custom("not 64 hexadecimal digits"))
    }
}

pub(super) mod hex_hash_option {
    use super::{Hash, hex_hash};
    use serde::{Deserialize, Deserializer, Serializer};

    pub(in crate::message) fn serialize<S: Serializer>(hash: &Option<Hash>, to: S) -> Result<S::Ok, S::Error> {
        match hash {
            Some(hash) => hex_hash::serialize(hash, to),
            None => to.serialize_none(),
        }
    }

    pub(in crate::message) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Hash>, D::Error> {
        #[derive(Deserialize)]
        struct Wrapped(#[serde(with = "hex_hash")] Hash);
        Ok(Option::<Wrapped>::deserialize(from)?.map(|wrapped| wrapped.0))
    }
}
