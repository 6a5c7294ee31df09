//! The change of claims by a traced message, and its present state.

use crate::features::claims::{self, change::ClaimChange};
use crate::log::lookup::LoggedMessage;
use crate::log::state::RoomState;
use serde::Serialize;

/// The change by a message about claims.
#[derive(Debug, Serialize)]
pub struct ClaimTrace {
    /// The change, in few words.
    pub change: String,
    /// The present state of the claim or offer.
    pub state: Option<ClaimState>,
}

/// The present state of a claim or an offer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ClaimState {
    /// The sender owns the subjects.
    Owned,
    /// The offer is open.
    Open,
    /// Nothing: the work was released or handed over, the offer closed.
    Ended,
}

impl ClaimTrace {
    pub(super) fn of(
        change: &ClaimChange,
        message: &LoggedMessage,
        state: &RoomState,
    ) -> Option<ClaimTrace> {
        let claims = claims::of(state);
        // The claims of a renamed agent have its present name.
        let owner = state.holder(&message.from, message.seq);
        let owns = |subjects: &[String]| {
            subjects
                .iter()
                .all(|text| claims.of(owner).any(|held| held.subject.as_str() == text))
        };
        let now = match change {
            ClaimChange::Grant(terms) if owns(&terms.claims) => Some(ClaimState::Owned),
            ClaimChange::Offer { .. } if claims.is_open_offer(message.seq) => {
                Some(ClaimState::Open)
            }
            ClaimChange::Grant(_) | ClaimChange::Offer { .. } => Some(ClaimState::Ended),
            _ => None,
        };
        Some(ClaimTrace {
            change: change.summary()?,
            state: now,
        })
    }
}
