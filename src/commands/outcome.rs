//! The outcome of an approval, as commands and faces show it.

use crate::message::decision;
use crate::message::record::Record;
use crate::room::signature;
use schemars::JsonSchema;
use serde::Serialize;

/// The outcome of an approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ApprovalOutcome {
    /// The approval, as `<sender>/<id>`.
    pub approval: String,
    /// `decided` or `denied`.
    pub status: &'static str,
    /// The chosen option. `None` if it was denied at its deadline.
    pub option: Option<String>,
    /// The agent that decided. `None` for the deadline.
    pub by: Option<String>,
    /// The accept time of the decision.
    pub at: String,
    /// The record of the decision.
    pub seq: u64,
    /// The public decision key, if the decision pinned it in the room.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pinned: Option<String>,
}

impl ApprovalOutcome {
    /// A sentence about the decision on an approval with this name.
    pub fn sentence(&self, name: &str) -> String {
        let pinned = self.pinned.as_deref().map(|key| {
            format!(
                "; your decision key {} is now pinned in this room, and signed decisions need it",
                signature::short(key)
            )
        });
        format!(
            "decided {name}: {}{}",
            self.word(),
            pinned.unwrap_or_default()
        )
    }

    /// The option, or the word for a denial.
    pub fn word(&self) -> &str {
        self.option.as_deref().unwrap_or(decision::DENIED)
    }

    pub(super) fn new(
        approval: &str,
        option: Option<&String>,
        by: Option<&str>,
        record: &Record,
    ) -> ApprovalOutcome {
        ApprovalOutcome {
            approval: approval.to_owned(),
            status: if option.is_some() {
                "decided"
            } else {
                decision::DENIED
            },
            option: option.cloned(),
            by: by.map(str::to_owned),
            at: record.at.clone(),
            seq: record.seq,
            pinned: None,
        }
    }
}
