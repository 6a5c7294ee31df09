//! How hashes are written in JSON.

pub(super) mod hex_hash {
    use crate::base::hash::{Hash, hex, unhex};
    use serde::{Deserialize, Deserializer, Serializer, de::Error};
    use std::borrow::Cow;

    pub(in crate::message) fn serialize<S: Serializer>(
        hash: &Hash,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.serialize_str(&hex(hash))
    }

    pub(in crate::message) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Hash, D::Error> {
        let text = Cow::<'de, str>::deserialize(from)?;
        unhex(&text).ok_or_else(|| D::Error::custom("not 64 hexadecimal digits"))
    }
}

pub(super) mod hex_hash_option {
    use super::hex_hash;
    use crate::base::hash::Hash;
    use serde::{Deserialize, Deserializer};

    pub(in crate::message) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Hash>, D::Error> {
        #[derive(Deserialize)]
        struct HexHash(#[serde(with = "hex_hash")] Hash);
        Ok(Option::<HexHash>::deserialize(from)?.map(|wrapped| wrapped.0))
    }
}
