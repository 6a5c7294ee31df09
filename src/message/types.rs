//! The names of types that have a meaning in the program. The schema has the list, with the behaviour of each type.

use super::Priority;
use super::table::TYPES;

/// The message type that changes a link to another room.
pub const LINK: &str = "link";
/// The type of a message that asks for a decision.
pub const APPROVAL: &str = "approval";
/// The type of a message that asks.
pub const QUESTION: &str = "question";
/// The type of a message to a person or agent that can decide.
pub const ESCALATION: &str = "escalation";
/// The type of a message that decides.
pub const DECISION: &str = "decision";
/// The value of `claims` in a `release` or `handoff` of everything that the agent owns.
pub const ALL_CLAIMS: &str = "all";
/// The type that announces a result to all agents.
pub const MILESTONE: &str = "milestone";

/// Returns true for a type of the protocol and for a custom type.
pub(super) fn is_valid_type(kind: &str) -> bool {
    kind.starts_with("x-") || TYPES.contains(&kind)
}

/// Returns true for the type of a session event.
pub(crate) fn is_session_event(kind: &str) -> bool {
    kind.contains('.') && TYPES.contains(&kind)
}

/// Returns true if hooks announce unread mail of this type and priority, from another agent.
pub fn is_announced(kind: &str, priority: Priority) -> bool {
    kind != "ack" && priority != Priority::Low
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{TypeSenders, behaviour};

    #[test]
    fn types_that_act_on_a_room_do_not_cross_a_link() {
        // P207
        let crossing = TYPES
            .iter()
            .filter(|kind| behaviour(kind).senders == TypeSenders::Everyone);
        assert_eq!(
            crossing.copied().collect::<Vec<_>>().join(" "),
            "message request response task handoff status progress completed blocked agent_complete question answer \
             review feedback proposal objection announcement alert notification broadcast agent agent_message relay \
             thinking tool_call tool_result",
            "decide whether a new type may cross a link"
        );
        assert_eq!(behaviour("x-mine").senders, TypeSenders::Everyone);
        assert_eq!(behaviour(LINK).senders, TypeSenders::Human);
    }

    #[test]
    fn status_and_session_events_may_go_to_a_channel_alone() {
        for kind in ["status", "task.claimed", "agent_complete"] {
            assert!(behaviour(kind).channel, "{kind}");
        }
        for kind in ["message", "x-mine", "x-my.own", "ack"] {
            assert!(!behaviour(kind).channel, "{kind}");
        }
    }
}
