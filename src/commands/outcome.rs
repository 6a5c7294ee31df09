//! The outcome of an approval, as commands and faces show it.

use crate::features::approvals::decision;
use crate::features::approvals::signature;
use crate::message::record::Record;
use serde::Serialize;

/// The outcome of an approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ApprovalOutcome {
    /// The approval, as `<sender>/<id>`.
    pub approval: String,
    /// `decided`, `denied` or `withdrawn`.
    pub status: &'static str,
    /// The chosen option. `None` if it was denied at its deadline, or withdrawn.
    pub option: Option<String>,
    /// The agent that decided or withdrew it. `None` for the deadline.
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

    /// The option, or the word for a denial or a withdrawal.
    pub fn word(&self) -> &str {
        self.option.as_deref().unwrap_or(self.status)
    }

    pub(super) fn new(
        approval: &str,
        option: Option<&String>,
        by: Option<&str>,
        record: &Record,
    ) -> ApprovalOutcome {
        ApprovalOutcome {
            approval: approval.to_owned(),
            status: match (option, by) {
                (Some(_), _) => "decided",
                (None, Some(_)) => decision::WITHDRAWN,
                (None, None) => decision::DENIED,
            },
            option: option.cloned(),
            by: by.map(str::to_owned),
            at: record.at.clone(),
            seq: record.seq,
            pinned: None,
        }
    }
}
