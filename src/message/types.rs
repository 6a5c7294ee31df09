//! The types of messages and their requirements.

use super::Priority;

/// Every valid type, besides custom types, which begin with `x-`.
pub const TYPES: &[&str] = &[
    "message",
    "request",
    "response",
    "task",
    "handoff",
    "status",
    "progress",
    "completed",
    "blocked",
    "agent_complete",
    "error",
    "question",
    "answer",
    "review",
    "feedback",
    "proposal",
    "objection",
    "approval",
    "decision",
    "escalation",
    "announcement",
    "milestone",
    "alert",
    "notification",
    "broadcast",
    "user",
    "agent",
    "agent_message",
    "relay",
    "thinking",
    "tool_call",
    "tool_result",
    "ack",
    "subscribe",
    "unsubscribe",
    "link",
    "claim",
    "release",
    "accept",
    "decline",
    "task.claimed",
    "task.completed",
    "handoff.posted",
    "proposal.created",
    "proposal.amended",
    "objection.raised",
    "decision.recorded",
    "escalation.requested",
];
/// Types of reports about an agent's work.
pub const REPORTS: [&str; 5] = [
    "status",
    "progress",
    "blocked",
    "completed",
    "agent_complete",
];
/// Types that the router acts on.
pub const ROUTER_TYPES: &[&str] = &["ack", "subscribe", "unsubscribe", LINK];
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
/// Types that change the ownership of work. A `handoff` with `claims` also does.
pub const CLAIM_TYPES: &[&str] = &["claim", "release", "accept", "decline"];
/// The value of `claims` in a `release` or `handoff` of everything that the agent owns.
pub const ALL_CLAIMS: &str = "all";
/// The type that announces a result to all agents.
pub const MILESTONE: &str = "milestone";
/// Types that need no recipient, because a channel suffices. The same holds for session events
/// (types with a dot).
const CHANNEL_TYPES: &[&str] = &[
    "status",
    "progress",
    "completed",
    "blocked",
    "thinking",
    "tool_call",
    "tool_result",
    "user",
    "agent",
    "agent_complete",
];

/// Types that act on the room, its events or its lists, or look like mail of its router or its person.
const OF_ONE_ROOM: &[&str] = &["error", "user", APPROVAL, DECISION, ESCALATION, MILESTONE];

/// The senders that may use a type. The router itself may use every type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TypeSenders {
    /// Agents of this room and of linked rooms, and the human.
    Everyone,
    /// Agents of this room and the human.
    OneRoom,
    /// The human.
    Human,
}

/// The senders that may use this type. This one table holds for every way into a room.
pub fn senders_of_type(kind: &str) -> TypeSenders {
    if kind == LINK {
        TypeSenders::Human
    } else if OF_ONE_ROOM.contains(&kind) || is_acted_on(kind) || is_session_event(kind) {
        TypeSenders::OneRoom
    } else {
        TypeSenders::Everyone
    }
}

/// Returns true if the router acts on messages of this type. They need neither a recipient nor
/// content.
pub fn is_acted_on(kind: &str) -> bool {
    ROUTER_TYPES.contains(&kind) || CLAIM_TYPES.contains(&kind)
}

/// Returns true if a message of this type without `to` is for all agents.
pub fn goes_to_all(kind: &str) -> bool {
    [MILESTONE, "announcement", "broadcast"].contains(&kind)
}

/// Returns true if a message of this type needs no recipient, because a channel suffices.
pub fn may_go_to_channel_alone(kind: &str) -> bool {
    CHANNEL_TYPES.contains(&kind) || is_session_event(kind)
}

/// Returns true for the type of a session event.
pub(super) fn is_session_event(kind: &str) -> bool {
    kind.contains('.') && TYPES.contains(&kind)
}

/// Returns true if hooks announce unread mail of this type and priority, from another agent.
pub fn is_announced(kind: &str, priority: Priority) -> bool {
    kind != "ack" && priority != Priority::Low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_that_act_on_a_room_do_not_cross_a_link() {
        // P207
        let plain = [
            "message",
            "request",
            "response",
            "task",
            "handoff",
            "status",
            "progress",
            "completed",
            "blocked",
            "agent_complete",
            "question",
            "answer",
            "review",
            "feedback",
            "proposal",
            "objection",
            "announcement",
            "alert",
            "notification",
            "broadcast",
            "agent",
            "agent_message",
            "relay",
            "thinking",
            "tool_call",
            "tool_result",
        ];
        for kind in TYPES {
            let crosses = senders_of_type(kind) == TypeSenders::Everyone;
            assert_eq!(
                crosses,
                plain.contains(kind),
                "{kind}: decide whether a new type may cross a link"
            );
        }
        assert_eq!(senders_of_type("x-mine"), TypeSenders::Everyone);
        assert_eq!(senders_of_type(LINK), TypeSenders::Human);
    }

    #[test]
    fn status_and_session_events_may_go_to_a_channel_alone() {
        for kind in ["status", "task.claimed", "agent_complete"] {
            assert!(may_go_to_channel_alone(kind), "{kind}");
        }
        for kind in ["message", "x-mine", "x-my.own", "ack"] {
            assert!(!may_go_to_channel_alone(kind), "{kind}");
        }
    }
}
