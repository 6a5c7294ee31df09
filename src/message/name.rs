//! The names of messages in records.

use crate::base::hash::Hash;
use crate::base::hex_hash;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The name of a recorded message, and its digest.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct MessageName {
    /// The sender of the message.
    pub from: Arc<str>,
    /// The message's id.
    pub id: String,
    /// SHA-256 of the message, from [`crate::message::Message::digest`].
    #[serde(with = "hex_hash")]
    pub digest: Hash,
}
