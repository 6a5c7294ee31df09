//! The decision key of the person: an Ed25519 key pair.
//!
//! The private half is in the person's home directory, outside of all rooms and repositories, so that a program that can
//! only write into the room cannot sign. The first signed decision pins the public half in the room.

use crate::base::error::{Error, Result};
use crate::base::limits;
use crate::disk::{UserDirectory, layout, machine};
use crate::room::Room;
use data_encoding::{HEXLOWER, HEXLOWER_PERMISSIVE};
use ring::rand::{SecureRandom, SystemRandom};
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use std::path::PathBuf;

/// The length of the key that signs decisions.
const KEY: usize = 32;

/// A decision on an approval, as the decision key signs it.
#[derive(Debug, Clone, Copy)]
pub struct SignedDecision<'a> {
    /// The room, from [`place`].
    pub place: &'a str,
    /// The approval, as `<sender>/<id>`.
    pub approval: &'a str,
    /// The record of the approval.
    pub seq: u64,
    /// The digest of the text that was displayed.
    pub digest: &'a str,
    /// The chosen option.
    pub option: &'a str,
}

/// The key pair of a person.
pub struct DecisionKey(Ed25519KeyPair);

impl DecisionKey {
    /// Reads this user's own key, the key of the person of all rooms that this user may open. `None` if there is none.
    pub fn own() -> Result<Option<DecisionKey>> {
        match UserDirectory::open(&directory()?)? {
            Some(own) => in_directory(&own),
            None => Ok(None),
        }
    }

    /// Reads this user's own key, and makes it if there is none. Durable after it returns.
    pub fn make() -> Result<DecisionKey> {
        let own = UserDirectory::make(&directory()?)?;
        let _held = own.hold(layout::TRUST_LOCK)?;
        if let Some(key) = in_directory(&own)? {
            return Ok(key);
        }
        let mut seed = [0; KEY];
        SystemRandom::new()
            .fill(&mut seed)
            .map_err(|_| broken("cannot be made: the system has no randomness"))?;
        own.replace(
            layout::KEY,
            format!("{}\n", HEXLOWER.encode(&seed)).as_bytes(),
        )?;
        pair(&seed)
    }

    /// The public half, in hexadecimal.
    pub fn public(&self) -> String {
        HEXLOWER.encode(self.0.public_key().as_ref())
    }

    /// Signs a decision.
    pub fn sign(&self, decision: SignedDecision<'_>) -> String {
        HEXLOWER.encode(self.0.sign(&decision.bytes()).as_ref())
    }
}

impl SignedDecision<'_> {
    /// Returns true if the signature is from the private half of this public key.
    pub fn is_signed_by(self, key: &str, signature: &str) -> bool {
        let [Ok(key), Ok(signature)] =
            [key, signature].map(|text| HEXLOWER_PERMISSIVE.decode(text.as_bytes()))
        else {
            return false;
        };
        UnparsedPublicKey::new(&ED25519, key)
            .verify(&self.bytes(), &signature)
            .is_ok()
    }

    // The length before each part keeps two texts from having the same bytes.
    fn bytes(self) -> Vec<u8> {
        let seq = self.seq.to_string();
        [
            "mailbag decision",
            self.place,
            self.approval,
            &seq,
            self.digest,
            self.option,
        ]
        .iter()
        .flat_map(|part| [&(part.len() as u64).to_be_bytes(), part.as_bytes()].concat())
        .collect()
    }
}

/// The identity of a room for signatures: its id, and the adoption that made it a room of its own. `None` for a copy that
/// was not adopted, so that a signature for the original is worth nothing there.
pub fn place(room: &Room) -> Result<Option<String>> {
    if room.copied()?.is_some() {
        return Ok(None);
    }
    let id = room.id()?.unwrap_or_default();
    Ok(Some(room.adoption()?.map_or_else(
        || id.clone(),
        |adoption| format!("{id} {adoption}"),
    )))
}

/// The beginning of a public key, for people.
pub fn short(key: &str) -> &str {
    key.get(..16).unwrap_or(key)
}

/// The path of this user's own key.
pub fn path() -> Result<PathBuf> {
    Ok(layout::key_file(&directory()?))
}

/// Returns true if other users can read this user's own key.
pub fn is_readable_by_others() -> Result<bool> {
    let own = UserDirectory::open(&directory()?)?;
    own.map_or(Ok(false), |own| own.is_readable_by_others(layout::KEY))
}

fn directory() -> Result<PathBuf> {
    let user = machine::real_user();
    machine::home_of(user)
        .map(|home| layout::key_directory(&home))
        .ok_or_else(|| {
            Error::usage(
                format!(
                    "{} has no home directory in the user database for a decision key",
                    machine::user(user)
                ),
                "run it as a user with a home directory",
            )
        })
}

fn in_directory(own: &UserDirectory) -> Result<Option<DecisionKey>> {
    let Some(bytes) = own.read(layout::KEY, limits::LEASE_BYTES)? else {
        return Ok(None);
    };
    let seed = HEXLOWER_PERMISSIVE
        .decode(bytes.trim_ascii())
        .unwrap_or_default();
    pair(&seed).map(Some)
}

fn pair(seed: &[u8]) -> Result<DecisionKey> {
    let what = format!("is not a key of {} bytes in hexadecimal", KEY);
    Ed25519KeyPair::from_seed_unchecked(seed)
        .map(DecisionKey)
        .map_err(|_| broken(&what))
}

fn broken(what: &str) -> Error {
    Error::state(
        directory()
            .map(|directory| layout::key_file(&directory))
            .unwrap_or_default(),
        what.to_owned(),
        "restore it; if it is lost, move it away and run `mailbag init --adopt` in each room that needs signatures",
    )
}
