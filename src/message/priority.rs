//! The priority of a message.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The priority of a message, lowest first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
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
    /// Every priority, from the lowest.
    pub const ALL: [Priority; 4] = [
        Priority::Low,
        Priority::Normal,
        Priority::High,
        Priority::Urgent,
    ];

    /// The canonical word of each priority, from the lowest.
    pub const WORDS: [&str; 4] = ["low", "normal", "high", "urgent"];

    /// The priority that a canonical word means; for another word, the default.
    pub fn from_word(word: &str) -> Priority {
        let named = Priority::ALL.into_iter().find(|one| one.as_str() == word);
        named.unwrap_or_default()
    }

    /// The priority in the field of a message.
    pub fn from_field(field: Option<&Value>) -> Priority {
        let word = field.and_then(Value::as_str);
        word.map(Priority::from_word).unwrap_or_default()
    }

    /// The canonical word.
    pub fn as_str(self) -> &'static str {
        Priority::WORDS[self as usize]
    }

    /// Returns true for the default.
    pub fn is_normal(&self) -> bool {
        *self == Priority::Normal
    }
}
