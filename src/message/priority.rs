//! The priority of a message.

use super::checked::PRIORITIES;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The priority of a message, lowest first.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Priority {
    /// `low`
    Low,
    /// `normal`
    #[default]
    Normal,
    /// `high`
    High,
    /// `urgent`
    Urgent,
}

impl Priority {
    /// The priority that a canonical word means.
    pub fn from_word(word: &str) -> Priority {
        let all = [
            Priority::Low,
            Priority::Normal,
            Priority::High,
            Priority::Urgent,
        ];
        let named = all.into_iter().find(|one| one.as_str() == word);
        named.unwrap_or_default()
    }

    /// The canonical word.
    pub fn as_str(self) -> &'static str {
        PRIORITIES[self as usize]
    }

    /// Returns true for the default.
    pub fn is_normal(&self) -> bool {
        *self == Priority::Normal
    }
}
