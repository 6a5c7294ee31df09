//! The signature of the person under a decision. The key lies outside of all rooms and repositories, so that a program that
//! can write into the room cannot sign.

use crate::base::error::{Error, Result};
use crate::base::limits;
use crate::disk::{UserDirectory, layout};
use data_encoding::{HEXLOWER, HEXLOWER_PERMISSIVE};
use ring::hmac;
use std::path::PathBuf;

/// What is signed.
#[derive(Debug, Clone, Copy)]
pub struct Signed<'a> {
    /// The room's id.
    pub room: &'a str,
    /// The approval, as `<sender>/<id>`.
    pub approval: &'a str,
    /// The record of the approval.
    pub seq: u64,
    /// The chosen option.
    pub option: &'a str,
}

/// The key of the person.
pub struct Key([u8; limits::KEY]);

impl Key {
    /// Reads the key. `None` if there is none.
    pub fn read() -> Result<Option<Key>> {
        match UserDirectory::open(&directory()?)? {
            Some(own) => Key::in_directory(&own),
            None => Ok(None),
        }
    }

    /// Reads the key, and makes it if there is none. Durable after it returns.
    pub fn make() -> Result<Key> {
        let own = UserDirectory::make(&directory()?)?;
        let _held = own.hold(layout::TRUST_LOCK)?;
        if let Some(key) = Key::in_directory(&own)? {
            return Ok(key);
        }
        let mut key = [0; limits::KEY];
        let (first, second) = key.split_at_mut(limits::KEY / 2);
        first.copy_from_slice(uuid::Uuid::new_v4().as_bytes());
        second.copy_from_slice(uuid::Uuid::new_v4().as_bytes());
        own.replace(layout::KEY, format!("{}\n", HEXLOWER.encode(&key)).as_bytes())?;
        Ok(Key(key))
    }

    /// Signs a decision.
    pub fn sign(&self, what: &Signed<'_>) -> String {
        HEXLOWER.encode(hmac::sign(&self.key(), &text(what)).as_ref())
    }

    /// Is this the signature of the decision?
    pub fn verifies(&self, signature: &str, what: &Signed<'_>) -> bool {
        let bytes = HEXLOWER_PERMISSIVE.decode(signature.as_bytes());
        bytes.is_ok_and(|bytes| hmac::verify(&self.key(), &text(what), &bytes).is_ok())
    }

    fn in_directory(own: &UserDirectory) -> Result<Option<Key>> {
        let Some(bytes) = own.read(layout::KEY, limits::LEASE_BYTES)? else { return Ok(None) };
        let key = HEXLOWER_PERMISSIVE.decode(bytes.trim_ascii()).ok().and_then(|key| key.try_into().ok());
        key.map(|key| Some(Key(key))).ok_or_else(|| Error::State {
            path: path().unwrap_or_default(),
            line: None,
            what: format!("is not a key of {} bytes in hexadecimal", limits::KEY),
            cure: "remove it; `mailbag decide` makes a new one".into(),
        })
    }

    fn key(&self) -> hmac::Key {
        hmac::Key::new(hmac::HMAC_SHA256, &self.0)
    }
}

// The length in front of each part keeps two decisions from having the same text.
fn text(what: &Signed<'_>) -> Vec<u8> {
    let parts = [what.room, what.approval, &what.seq.to_string(), what.option];
    parts.iter().flat_map(|part| [&(part.len() as u64).to_be_bytes(), part.as_bytes()].concat()).collect()
}

/// The path of the key.
pub fn path() -> Result<PathBuf> {
    Ok(layout::key_file(&directory()?))
}

/// Can other users read the key?
pub fn is_readable_by_others() -> Result<bool> {
    UserDirectory::open(&directory()?)?.map_or(Ok(false), |own| own.is_readable_by_others(layout::KEY))
}

fn directory() -> Result<PathBuf> {
    layout::trust_directory().ok_or_else(|| Error::Usage {
        what: "there is no directory for the key of the person".into(),
        cure: format!("set HOME, or {} to an absolute path", layout::TRUST_DIRECTORY),
    })
}
