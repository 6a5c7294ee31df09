//! Open questions: the only definition of them, for the digest, the status and the worklog.

use super::RoomState;
use crate::features;
use serde::Serialize;

/// A question without an answer, or an approval without a decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OpenQuestion {
    /// The number of its record.
    pub seq: u64,
    /// `question` or `approval`.
    pub kind: &'static str,
    /// When it was asked.
    pub at: String,
    /// The agent that asks.
    pub from: String,
    /// The agents that have not answered, or that can decide.
    pub waiting_for: Vec<String>,
    /// Its message, as `<sender>/<id>`.
    pub message: String,
    /// Its subject, or the first line of its body.
    pub text: String,
}

impl RoomState {
    /// All open questions, in the order of the log.
    pub fn questions(&self) -> Vec<OpenQuestion> {
        let all = features::ALL.iter();
        let mut all: Vec<OpenQuestion> = all.flat_map(|feature| feature.questions(self)).collect();
        all.sort_by_key(|question| question.seq);
        all
    }
}
