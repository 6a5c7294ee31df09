//! The recorded steps of a wake. The status of the mail is separate.

use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A step of a wake.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WakeStep {
    /// The router starts the program after this record. It never starts it before.
    Requested,
    /// The program runs.
    Started,
    /// The program ended with success.
    Succeeded,
    /// The program could not be started, or it failed.
    Failed,
    /// The agent did not read the mail for a long time, so it is announced again.
    Again,
}

impl WakeStep {
    /// The word in the log.
    pub fn as_str(self) -> &'static str {
        match self {
            WakeStep::Requested => "requested",
            WakeStep::Started => "started",
            WakeStep::Succeeded => "succeeded",
            WakeStep::Failed => "failed",
            WakeStep::Again => "again",
        }
    }
}

/// A step of a wake for several messages of one agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WakeUpdate {
    /// The step.
    pub step: WakeStep,
    /// The agent.
    pub agent: Arc<str>,
    /// The records of the messages, in order.
    pub seqs: Vec<u64>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_has_the_same_name_in_a_record_as_in_a_command() {
        use WakeStep::*;
        for step in [Requested, Started, Succeeded, Failed, Again] {
            assert_eq!(serde_json::to_value(step).expect("a word"), step.as_str());
        }
    }
}
