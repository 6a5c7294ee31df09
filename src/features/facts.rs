//! The facts of the features in a record.

use super::answers::change::AnswerChange;
use super::approvals::decision::ApprovalChange;
use crate::features::claims::change::ClaimChange;
use crate::message::carried::LinkChange;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The changes that a record makes beside its event, one for each feature. A reader skips the facts of a feature that
/// it does not know.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// Answers to earlier messages, and to this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<AnswerChange>,
    /// A change of claims.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claims: Option<ClaimChange>,
    /// A change of approvals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approvals: Option<ApprovalChange>,
    /// A change of a link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub links: Option<LinkChange>,
}

impl Facts {
    /// Returns true if no feature makes a change.
    pub fn is_empty(&self) -> bool {
        *self == Facts::default()
    }

    /// The renaming of an agent. `twice` are the records with an unread copy for both names.
    pub(crate) fn rename(of: Arc<str>, to: Arc<str>, twice: Vec<u64>) -> Facts {
        Facts::from(ClaimChange::Rename { of, to, twice })
    }

    /// The changes of claims, or the outcome of an approval, in few words.
    pub fn summary(&self) -> Option<String> {
        let of_claims = self.claims.as_ref().and_then(ClaimChange::summary);
        of_claims.or_else(|| self.approvals.as_ref()?.summary())
    }

    /// Returns true if it offers claims to another agent.
    pub fn is_offer(&self) -> bool {
        self.claims.as_ref().is_some_and(ClaimChange::is_offer)
    }

    /// The record that its message answers.
    pub fn answered(&self) -> Option<u64> {
        self.answers.as_ref()?.to
    }

    /// The question of the approval that it decides, in one line.
    pub fn question(&self) -> Option<&str> {
        self.approvals.as_ref()?.question()
    }
}

impl From<AnswerChange> for Facts {
    fn from(change: AnswerChange) -> Facts {
        Facts {
            answers: Some(change),
            ..Facts::default()
        }
    }
}

impl From<ClaimChange> for Facts {
    fn from(change: ClaimChange) -> Facts {
        Facts {
            claims: Some(change),
            ..Facts::default()
        }
    }
}

impl From<ApprovalChange> for Facts {
    fn from(change: ApprovalChange) -> Facts {
        Facts {
            approvals: Some(change),
            ..Facts::default()
        }
    }
}

impl From<LinkChange> for Facts {
    fn from(change: LinkChange) -> Facts {
        Facts {
            links: Some(change),
            ..Facts::default()
        }
    }
}
