//! Gaps in the log that a person has accepted: records that the log once had and has lost.

use serde::{Deserialize, Serialize};

/// A range of numbers that the log gives to no other record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogGap {
    /// The first lost record.
    pub from: u64,
    /// The last lost record.
    pub to: u64,
    /// The files that showed the lost records, for people.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<String>,
}
