//! The change of claims by a traced message, and its present state.

use crate::log::state::Claims;
use crate::message::claim::{self, Change};
use schemars::JsonSchema;
use serde::Serialize;

/// The change by a message about claims.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Claimed {
    /// The change, in few words.
    pub what: String,
    /// The present state of the claim or offer.
    pub now: Option<Now>,
}

/// The present state of a claim or an offer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Now {
    /// The sender owns the subjects.
    Owned,
    /// The claim waits.
    Waiting,
    /// The offer is open.
    Open,
    /// Nothing: the work was released or handed over, the claim withdrawn, the offer closed.
    Ended,
}

impl Claimed {
    pub(super) fn of(change: &Change, from: &str, id: &str, claims: &Claims) -> Option<Claimed> {
        let name = claim::name(from, id);
        let owns = |owner: &str, subjects: &[String]| {
            subjects
                .iter()
                .all(|text| claims.of(owner).any(|held| held.subject.as_str() == text))
        };
        let now = match change {
            Change::Queue(_) if claims.waiting().iter().any(|one| one.claim == name) => {
                Some(Now::Waiting)
            }
            Change::Grant(terms) | Change::Queue(terms) if owns(from, &terms.claims) => {
                Some(Now::Owned)
            }
            Change::Offer { .. } if claims.offered().iter().any(|one| one.offer == name) => {
                Some(Now::Open)
            }
            Change::Grant(_) | Change::Queue(_) | Change::Offer { .. } => Some(Now::Ended),
            _ => None,
        };
        Some(Claimed {
            what: change.summary()?,
            now,
        })
    }
}
