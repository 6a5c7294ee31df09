//! Gaps in the log that a person has accepted: records that the log once had and has lost.

use super::name::MessageName;
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
    /// The lost messages that the room still has. They are not accepted again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<LostMessage>,
}

/// A message that was delivered, and that the log has lost.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LostMessage {
    /// The number of its record.
    pub seq: u64,
    /// Its name.
    #[serde(flatten)]
    pub name: MessageName,
}

impl LogGap {
    /// Returns true if a lost record had this number.
    pub fn contains(&self, seq: u64) -> bool {
        (self.from..=self.to).contains(&seq)
    }

    /// The lost message with this sender and id.
    pub fn message(&self, from: &str, id: &str) -> Option<&LostMessage> {
        self.messages
            .iter()
            .find(|lost| &*lost.name.from == from && lost.name.id == id)
    }
}
