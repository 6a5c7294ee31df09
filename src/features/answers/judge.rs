//! Determines the message that another one answers, and when answers to it are missing.

use super::State;
use super::change::AnswerTimes;
use super::reply::{AnswerableMessage, ReplyKey, ReplyReferences};
use crate::base::clock::Stamp;
use crate::log::state::RoomState;
use crate::message::record::RecipientGroup;
use crate::message::{Message, Priority, id};
use crate::room::registry::{AddressKind, Registry};
use crate::room::settings::Settings;

/// The record of the message that another message to these recipients answers, if its sender owes a reply to it. A
/// named message has precedence over messages that share a thread or reference with the reply. The oldest one counts.
pub(super) fn answered_by(
    state: &RoomState,
    message: &Message,
    to: &[RecipientGroup],
) -> Option<u64> {
    let (answers, reply) = (super::of(state), ReplyReferences::of(message)?);
    let named = first_owed(answers, message.from(), &reply.names(), &|asked| {
        asked.is_named_by(&reply)
    });
    named.or_else(|| {
        first_owed(answers, message.from(), &reply.shared_names(), &|asked| {
            let asker = state.holder(asked.from, asked.seq);
            let mut recipients = to.iter().flat_map(|group| &group.agents);
            asked.is_shared_by(&reply) && recipients.any(|to| id::answers_for(asker, to))
        })
    })
}

/// The first message with one of these names that the agent has to answer and that fulfils the condition.
fn first_owed(
    answers: &State,
    agent: &str,
    names: &[ReplyKey],
    is_meant: &dyn Fn(&AnswerableMessage<'_>) -> bool,
) -> Option<u64> {
    let missing = answers.missing.first_owed(agent, names, is_meant);
    let items = answers.items.first_owed(agent, names, is_meant);
    missing.into_iter().chain(items).min()
}

/// When answers to this message are missing, if it is accepted at this time.
pub(super) fn times_of(
    settings: &Settings,
    registry: &Registry,
    message: &Message,
    time: Stamp,
) -> Option<AnswerTimes> {
    // The link may not allow mail to the human, such as an escalation. The other room has the same deadline.
    if message.kind() == "ack" || is_kept_from_human(registry, message.from()) {
        return None;
    }
    let within = settings.answer_within.of(message.priority());
    let by = within.map(|within| time.after(within).to_string());
    let is_urgent = message.priority() == Priority::Urgent;
    // Without a time, only the expiry of urgent mail needs a notice.
    if by.is_none() && !(is_urgent && message.text("expires_at").is_some()) {
        return None;
    }
    let (answer_by, ack_by) = if message.wants_answer() {
        (by, None)
    } else if is_urgent {
        (None, by)
    } else {
        return None;
    };
    Some(AnswerTimes { answer_by, ack_by })
}

/// Returns true for a sender of another room that may not write to the human here.
fn is_kept_from_human(registry: &Registry, from: &str) -> bool {
    let Some(tag) = id::tag_of(from) else {
        return false;
    };
    let accept = registry.rooms().get(tag);
    accept.is_none_or(|accept| !accept.contains(&AddressKind::Human))
}
