//! The claims and approvals that agents wait for.

use super::RoomState;
use super::claims::WaitingClaim;
use crate::message::subject::{ClaimSubject, ComparisonBudget};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// A reason why an agent waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitReason {
    /// The agents that have to act. Empty if no other claim conflicts.
    pub of: Vec<Arc<str>>,
    /// The subjects of a claim, or the title of an approval.
    pub what: String,
}

impl fmt::Display for WaitReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.of.is_empty() {
            return f.write_str(&self.what);
        }
        write!(f, "{}: {}", self.of.join(", "), self.what)
    }
}

impl RoomState {
    /// The reasons of each agent: claims in the order of the log, then approvals.
    pub fn waits(&self) -> BTreeMap<Arc<str>, Vec<WaitReason>> {
        let mut waits: BTreeMap<Arc<str>, Vec<WaitReason>> = BTreeMap::new();
        for (place, one) in self.claims.waiting().iter().enumerate() {
            waits
                .entry(one.agent.clone())
                .or_default()
                .push(self.claim(place, one));
        }
        for open in self.approvals.open() {
            let wait = WaitReason {
                of: open.to.clone(),
                what: open.terms.title.clone(),
            };
            waits.entry(open.from.clone()).or_default().push(wait);
        }
        waits
    }

    fn claim(&self, place: usize, one: &WaitingClaim) -> WaitReason {
        let steps = ComparisonBudget::of_message();
        let first = self
            .claims
            .in_the_way(&one.agent, &one.subjects, place, &steps)
            .next();
        let wanted: Vec<String> = one.subjects.iter().map(ClaimSubject::to_string).collect();
        WaitReason {
            of: first.map(|first| first.agent.into()).into_iter().collect(),
            what: wanted.join(", "),
        }
    }
}
