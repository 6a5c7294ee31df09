//! Answers, as records of the log have them.

use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The answers that a record makes or expects.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerChange {
    /// The record that it answers, if its sender received a copy of that message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<u64>,
    /// When answers to it are missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<AnswerTimes>,
    /// The message that a notice passes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub escalated: Option<AnswerEscalation>,
}

/// The time of the first notice about a missing reply: RFC 3339, UTC. It depends on the settings when the message is
/// accepted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerTimes {
    /// For a message that needs an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_by: Option<String>,
    /// For a message that needs only an acknowledgement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ack_by: Option<String>,
}

/// A notice about a message without a reply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerEscalation {
    /// The record of the message.
    pub seq: u64,
    /// The agents that have not replied.
    pub agents: Vec<Arc<str>>,
    /// Whether it is the last notice, which the human gets.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub last: bool,
}
