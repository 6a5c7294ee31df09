//! The ladder that each copy of a message climbs: accepted, delivered, announced, seen, acknowledged, actioned, closed.

use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// How far one recipient's copy has come. What is claimed was observed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
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

impl Status {
    /// What an `ack` may say.
    pub const ACKS: [Status; 6] = [
        Status::Acknowledged,
        Status::Actioned,
        Status::Resolved,
        Status::Superseded,
        Status::Withdrawn,
        Status::Abandoned,
    ];

    /// The status of an ack's `status`; `None` for one that no ack may claim.
    pub fn of_ack(word: &str) -> Option<Status> {
        Status::ACKS.into_iter().find(|status| status.as_str() == word)
    }

    /// The word in the log.
    pub fn as_str(self) -> &'static str {
        match self {
            Status::Accepted => "accepted",
            Status::Delivered => "delivered",
            Status::Announced => "announced",
            Status::Seen => "seen",
            Status::Acknowledged => "acknowledged",
            Status::Actioned => "actioned",
            Status::Resolved => "resolved",
            Status::Superseded => "superseded",
            Status::Withdrawn => "withdrawn",
            Status::Abandoned => "abandoned",
            Status::Expired => "expired",
        }
    }

    /// How high it is, from 0: all ways of being closed are equally high.
    pub fn height(self) -> u8 {
        match self {
            Status::Accepted => 0,
            Status::Delivered => 1,
            Status::Announced => 2,
            Status::Seen => 3,
            Status::Acknowledged => 4,
            Status::Actioned => 5,
            _ => 6,
        }
    }

    /// Is a message on it done with?
    pub fn is_closed(self) -> bool {
        self.height() == 6
    }

    /// May this come after `before`? A step back may not, nor one way of being closed after another.
    pub fn may_follow(self, before: Status) -> bool {
        self == before || self.height() > before.height()
    }
}

/// Copies of one agent that reached a status together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Climb {
    /// The status.
    #[serde(rename = "rung")]
    pub status: Status,
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
        assert!(Status::Actioned.may_follow(Status::Seen));
        assert!(Status::Actioned.may_follow(Status::Actioned));
        assert!(!Status::Acknowledged.may_follow(Status::Actioned));
        assert!(!Status::Resolved.may_follow(Status::Withdrawn));
    }

    #[test]
    fn an_ack_can_not_claim_what_the_router_observes() {
        assert_eq!(Status::of_ack("actioned"), Some(Status::Actioned));
        assert_eq!(Status::of_ack("seen"), None);
    }
}
