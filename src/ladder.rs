//! The ladder that each copy of a message climbs: accepted, delivered, announced, seen, acknowledged, actioned, closed.

use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// How far one recipient's copy has come. What is claimed was observed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Rung {
    /// In the log: it will be delivered whatever happens.
    Accepted,
    /// It stands, or stood, in the inbox.
    Delivered,
    /// A hook or a view has told its reader of it.
    Announced,
    /// It left the inbox: moved to `seen/`, moved elsewhere, or deleted.
    Seen,
    /// Its reader says that it has it.
    Acknowledged,
    /// Its reader says that it acted on it.
    Actioned,
    /// Closed: done with.
    Resolved,
    /// Closed: something newer took its place.
    Superseded,
    /// Closed: its sender took it back.
    Withdrawn,
    /// Closed: nobody will do it.
    Abandoned,
    /// Closed: its time passed while it was unread.
    Expired,
}

impl Rung {
    /// What an `ack` may say.
    pub const ACKS: [Rung; 6] =
        [Rung::Acknowledged, Rung::Actioned, Rung::Resolved, Rung::Superseded, Rung::Withdrawn, Rung::Abandoned];

    /// The rung of an ack's `status`; `None` for one that no ack may claim.
    pub fn of_ack(status: &str) -> Option<Rung> {
        Rung::ACKS.into_iter().find(|rung| rung.as_str() == status)
    }

    /// The word in the log.
    pub fn as_str(self) -> &'static str {
        match self {
            Rung::Accepted => "accepted",
            Rung::Delivered => "delivered",
            Rung::Announced => "announced",
            Rung::Seen => "seen",
            Rung::Acknowledged => "acknowledged",
            Rung::Actioned => "actioned",
            Rung::Resolved => "resolved",
            Rung::Superseded => "superseded",
            Rung::Withdrawn => "withdrawn",
            Rung::Abandoned => "abandoned",
            Rung::Expired => "expired",
        }
    }

    /// How high it is, from 0: all ways of being closed are equally high.
    pub fn height(self) -> u8 {
        match self {
            Rung::Accepted => 0,
            Rung::Delivered => 1,
            Rung::Announced => 2,
            Rung::Seen => 3,
            Rung::Acknowledged => 4,
            Rung::Actioned => 5,
            _ => 6,
        }
    }

    /// Is a message on it done with?
    pub fn is_closed(self) -> bool {
        self.height() == 6
    }

    /// May this come after `before`? A step back may not, nor one way of being closed after another.
    pub fn may_follow(self, before: Rung) -> bool {
        self == before || self.height() > before.height()
    }
}

/// Copies of one agent that reached a rung together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Climb {
    /// The rung.
    pub rung: Rung,
    /// Whose copies.
    pub agent: Arc<str>,
    /// The records of the messages, in order.
    pub seqs: Vec<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_back_may_not_follow_and_a_step_up_may() {
        assert!(Rung::Actioned.may_follow(Rung::Seen));
        assert!(Rung::Actioned.may_follow(Rung::Actioned));
        assert!(!Rung::Acknowledged.may_follow(Rung::Actioned));
        assert!(!Rung::Resolved.may_follow(Rung::Withdrawn));
    }

    #[test]
    fn an_ack_can_not_claim_what_the_router_observes() {
        assert_eq!(Rung::of_ack("actioned"), Some(Rung::Actioned));
        assert_eq!(Rung::of_ack("seen"), None);
    }
}
