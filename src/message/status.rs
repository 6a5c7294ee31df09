//! The statuses of a copy: accepted, delivered, announced, seen, acknowledged, actioned, closed.

use super::id;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The status of one recipient's copy. The router records only a status that it observed or that an ack set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CopyStatus {
    /// The message is in the log, and will be delivered.
    Accepted,
    /// The copy is or was in the inbox.
    Delivered,
    /// A hook or a view has announced it to its reader.
    Announced,
    /// It left the inbox: moved to `seen/`, moved elsewhere, or deleted.
    Seen,
    /// The reader confirmed that it received the message.
    Acknowledged,
    /// The reader confirmed that it acted on the message.
    Actioned,
    /// Closed: the matter is resolved.
    Resolved,
    /// Closed: a newer message replaces it.
    Superseded,
    /// Closed: the sender withdrew it.
    Withdrawn,
    /// Closed: it will not be acted on.
    Abandoned,
    /// Closed: it expired unread.
    Expired,
}

impl CopyStatus {
    /// The statuses that an `ack` may set.
    pub const ACKS: [CopyStatus; 7] = [
        CopyStatus::Seen,
        CopyStatus::Acknowledged,
        CopyStatus::Actioned,
        CopyStatus::Resolved,
        CopyStatus::Superseded,
        CopyStatus::Withdrawn,
        CopyStatus::Abandoned,
    ];

    /// Other words for a status in an ack.
    pub const OTHER_WORDS: [(&str, CopyStatus); 2] = [
        ("acked", CopyStatus::Acknowledged),
        ("closed", CopyStatus::Resolved),
    ];

    /// The status in an ack, in any letter case. `None` for a status that an ack may not set.
    pub fn of_ack(word: &str) -> Option<CopyStatus> {
        let known = CopyStatus::ACKS
            .into_iter()
            .map(|status| (status.as_str(), status));
        let mut words = known.chain(CopyStatus::OTHER_WORDS);
        words
            .find(|(known, _)| known.eq_ignore_ascii_case(word))
            .map(|(_, status)| status)
    }

    /// The word in the log.
    pub fn as_str(self) -> &'static str {
        match self {
            CopyStatus::Accepted => "accepted",
            CopyStatus::Delivered => "delivered",
            CopyStatus::Announced => "announced",
            CopyStatus::Seen => "seen",
            CopyStatus::Acknowledged => "acknowledged",
            CopyStatus::Actioned => "actioned",
            CopyStatus::Resolved => "resolved",
            CopyStatus::Superseded => "superseded",
            CopyStatus::Withdrawn => "withdrawn",
            CopyStatus::Abandoned => "abandoned",
            CopyStatus::Expired => "expired",
        }
    }

    /// The position in the order of statuses, from 0. All closed statuses have the same position.
    pub fn rank(self) -> u8 {
        match self {
            CopyStatus::Accepted => 0,
            CopyStatus::Delivered => 1,
            CopyStatus::Announced => 2,
            CopyStatus::Seen => 3,
            CopyStatus::Acknowledged => 4,
            CopyStatus::Actioned => 5,
            _ => 6,
        }
    }

    /// Returns true if a copy with this status is closed.
    pub fn is_closed(self) -> bool {
        self.rank() == 6
    }

    /// Returns true for a status that the sender of a message may set.
    pub fn is_set_by_sender(self) -> bool {
        matches!(self, CopyStatus::Withdrawn | CopyStatus::Superseded)
    }

    /// Returns true if an ack with this status moves an unread copy out of its inbox.
    pub fn leaves_inbox(self) -> bool {
        matches!(
            self,
            CopyStatus::Seen | CopyStatus::Withdrawn | CopyStatus::Superseded
        )
    }

    /// Returns true if a recipient with a copy in this status no longer owes a reply. A message that wants an answer is
    /// settled when the copy is closed, another one when it is acknowledged. Urgent mail is not settled by its expiry.
    pub fn settles(self, wants_answer: bool, urgent: bool) -> bool {
        let least = if wants_answer {
            CopyStatus::Resolved
        } else {
            CopyStatus::Acknowledged
        };
        self.rank() >= least.rank() && !(urgent && self == CopyStatus::Expired)
    }

    /// Returns true if this status of a copy of `by` counts for the recipient `of`. An ack of another room's agent counts for
    /// the address in that room, as an answer does. An expiry counts for its own copy only.
    pub fn counts_for(self, by: &str, of: &str) -> bool {
        by == of || self != CopyStatus::Expired && id::answers_for(by, of)
    }

    /// May a copy change from `before` to this status? It may not go back, nor change from one closed status to
    /// another.
    pub fn may_follow(self, before: CopyStatus) -> bool {
        self == before || self.rank() > before.rank()
    }
}

/// A status that several copies of one agent reached together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// The status.
    pub status: CopyStatus,
    /// The agent.
    pub agent: Arc<str>,
    /// The records of the messages, in order.
    pub seqs: Vec<u64>,
    /// When each of them was announced, in microseconds since 1970, for the status `announced`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub times: Vec<i64>,
    /// The record of the message that supersedes them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_can_only_be_followed_by_a_later_one() {
        assert!(CopyStatus::Actioned.may_follow(CopyStatus::Seen));
        assert!(CopyStatus::Actioned.may_follow(CopyStatus::Actioned));
        assert!(!CopyStatus::Acknowledged.may_follow(CopyStatus::Actioned));
        assert!(!CopyStatus::Resolved.may_follow(CopyStatus::Withdrawn));
    }

    #[test]
    fn an_ack_cannot_set_a_status_that_the_router_observes() {
        assert_eq!(CopyStatus::of_ack("actioned"), Some(CopyStatus::Actioned));
        assert_eq!(CopyStatus::of_ack("announced"), None);
        assert_eq!(CopyStatus::of_ack("expired"), None);
    }
}
