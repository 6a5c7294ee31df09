//! The number of messages in the log.

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
}
