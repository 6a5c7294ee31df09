//! The number of messages in the log and in each channel.

use serde::{Deserialize, Serialize};

/// The number of messages in the log, by result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct MessageCounts {
    /// Accepted messages.
    pub accepted: u64,
    /// Copies of accepted messages.
    pub copies: u64,
    /// Rejected files.
    pub rejected: u64,
    /// Duplicate messages.
    pub duplicates: u64,
    /// Decisions.
    pub decisions: u64,
}

/// The messages of a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ChannelCounts {
    /// Their number.
    pub messages: u64,
    /// The record of the last one.
    pub last: u64,
    /// Its accept time, in microseconds.
    pub last_at: i64,
}
