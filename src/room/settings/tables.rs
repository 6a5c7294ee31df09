//! The settings that are tables: `budget`, `answer_within` and `escalation`.

use super::values::{
    read_announcements, read_attempts, read_budget, read_supervisor, read_window, read_within,
    write_span,
};
use crate::base::{clock, limits};
use crate::message::Priority;
use serde::de::Error;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;
use std::time::Duration;

/// The limits of a sender's effects in a window. 0 means no limit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SenderBudget {
    /// The limit of messages per sender.
    #[serde(deserialize_with = "read_budget")]
    pub messages: u32,
    /// The limit of copies per sender.
    #[serde(deserialize_with = "read_budget")]
    pub copies: u32,
    /// The limit of replies to replies per conversation.
    #[serde(deserialize_with = "read_budget")]
    pub replies: u32,
    /// The window of the limits above.
    #[serde(serialize_with = "write_span", deserialize_with = "read_window")]
    pub window: Duration,
    /// The limit of lines about new mail that hooks show an agent in an hour. Further mail becomes a digest.
    #[serde(deserialize_with = "read_announcements")]
    pub announcements: u32,
}

const MESSAGES: u32 = 6_000;
const _: () = assert!(limits::LINES * 6 <= MESSAGES as usize);

impl Default for SenderBudget {
    fn default() -> SenderBudget {
        SenderBudget {
            messages: MESSAGES,
            copies: 60_000,
            replies: 30,
            window: Duration::from_secs(60),
            announcements: 30,
        }
    }
}

/// The time limits for answers, by [`Priority`]. Zero means no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnswerLimits([Duration; 4]);

impl AnswerLimits {
    /// The limit for this priority. `None` for no limit.
    pub fn of(&self, priority: Priority) -> Option<Duration> {
        Some(self.0[priority as usize]).filter(|within| !within.is_zero())
    }
}

impl Default for AnswerLimits {
    fn default() -> AnswerLimits {
        AnswerLimits([Duration::from_secs(30 * 60); 4])
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum AnswerLimitsValue {
    All(String),
    Each(BTreeMap<Priority, String>),
}

impl AnswerLimitsValue {
    fn read(&self) -> Option<AnswerLimits> {
        match self {
            AnswerLimitsValue::All(text) => Some(AnswerLimits([clock::span(text)?; 4])),
            AnswerLimitsValue::Each(spans) => {
                let mut within = AnswerLimits::default();
                for (priority, text) in spans {
                    within.0[*priority as usize] = clock::span(text)?;
                }
                Some(within)
            }
        }
    }
}

impl<'de> Deserialize<'de> for AnswerLimits {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<AnswerLimits, D::Error> {
        let value = AnswerLimitsValue::deserialize(deserializer);
        value.ok().and_then(|value| value.read()).ok_or_else(|| {
            D::Error::custom(
                "expected a duration such as \"30m\", or a table such as { urgent = \"5m\", low = \"0\" }",
            )
        })
    }
}

impl Serialize for AnswerLimits {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (priority, within) in Priority::WORDS.iter().zip(self.0) {
            map.serialize_entry(priority, &clock::span_text(within))?;
        }
        map.end()
    }
}

/// The treatment of proposals that meet objections, without a decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EscalationSettings {
    /// The rounds before the supervisor is asked.
    #[serde(deserialize_with = "read_attempts")]
    pub attempts: u32,
    /// The address of the supervisor. `None` to ask the human without delay.
    #[serde(deserialize_with = "read_supervisor")]
    pub supervisor: Option<String>,
    /// The time limit of the supervisor before the human is asked.
    #[serde(serialize_with = "write_span", deserialize_with = "read_within")]
    pub within: Duration,
}

impl Default for EscalationSettings {
    fn default() -> EscalationSettings {
        EscalationSettings {
            attempts: 2,
            supervisor: None,
            within: Duration::from_secs(30 * 60),
        }
    }
}
