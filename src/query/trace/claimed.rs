//! What a traced message changed about claims, and what is left of it.

use crate::log::state::Claims;
use crate::message::claim::{self, Change};
use serde::Serialize;

/// What a message about claims changed, and what became of it.
#[derive(Debug, Serialize)]
pub struct Claimed {
    /// The change, in few words.
    pub what: String,
    /// What is left of a claim or an offer.
    pub now: Option<Now>,
}

/// What is left of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
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
    pub(super) fn of(
        change: &Change,
        (from, id): (&str, &str),
        claims: &Claims,
    ) -> Option<Claimed> {
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
