//! The parts of a record about links to other rooms.

use super::status::CopyStatus;
use crate::base::hash::Hash;
use crate::base::hex_hash;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// In a record: an item that it sends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutgoingItem {
    /// The tag of the other room.
    pub link: Arc<str>,
    /// The id of the stream.
    pub stream: Arc<str>,
    /// The item's number in the stream, from 1.
    pub n: u64,
    /// The digest of the item before; zeros for the first.
    #[serde(with = "hex_hash")]
    pub prev: Hash,
    /// The digest of the item.
    #[serde(with = "hex_hash")]
    pub digest: Hash,
    /// Status changes of the other room's messages, by their numbers there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub receipts: Vec<RemoteReceipt>,
    /// True if the item has only receipts, because there are too many for one item.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub alone: bool,
}

/// In a record: the item that brought its message or its receipts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IncomingItem {
    /// The tag of the other room.
    pub link: Arc<str>,
    /// The id of the stream.
    pub stream: Arc<str>,
    /// The item's number in the stream.
    pub n: u64,
    /// The digest of the item.
    #[serde(with = "hex_hash")]
    pub digest: Hash,
    /// The number of the message's record in the other room.
    pub seq: u64,
    /// Status changes of this room's messages, by their numbers here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub receipts: Vec<RemoteReceipt>,
}

/// In a record: the position that the other room has committed in the outgoing stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamAcknowledgement {
    /// The tag of the other room.
    pub link: Arc<str>,
    /// The id of the stream.
    pub stream: Arc<str>,
    /// All items up to this number are committed there.
    pub n: u64,
}

/// A status change of messages that arrived by a link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemoteReceipt {
    /// The status of the copies.
    pub status: CopyStatus,
    /// Their recipient, as an id of the room that sends the receipt.
    pub agent: Arc<str>,
    /// The numbers of the messages in the room that sent them.
    pub seqs: Vec<u64>,
}

/// In a record: a person changed a link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LinkChange {
    /// The link is removed, with its unconfirmed items.
    Removed {
        /// The tag of the other room.
        link: Arc<str>,
    },
}
