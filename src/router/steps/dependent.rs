//! Messages that answer or acknowledge a message of the same batch, or that follow a subscription in it.
//!
//! The state and the registry do not have the changes of the batch. The batch ends before such a message, so that its effect
//! is the same in one pass as in two.

use super::ack;
use super::batch_message::{BatchMessage, CheckedContent};
use crate::log::state::RoomState;
use crate::message::Message;
use crate::message::answer::{AnswerableMessage, ConversationKeys, ReplyReferences};
use crate::message::record::MessageHead;
use crate::message::reference::Reference;
use crate::router::parts::{MailIntake, PostponedLines, RoomConfig, copies_of};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Leaves the first message that depends on an earlier one of the batch, and all messages after it, for the next batch.
pub(super) fn leave_dependent(
    letters: &mut Vec<BatchMessage<CheckedContent>>,
    intake: &mut MailIntake,
    config: &RoomConfig,
    state: &RoomState,
) {
    let start = first_dependent(letters).unwrap_or(letters.len());
    // A letter without a file cannot wait.
    if letters[start..].iter().any(|letter| letter.claim.is_none()) {
        return;
    }
    let mut late: Vec<PostponedLines> = Vec::new();
    let left = letters.split_off(start);
    let last = letters.last_mut();
    let begun = last.filter(|last| left.first().is_some_and(|next| last.claim == next.claim));
    if let Some(source) = begun.and_then(|last| last.source.as_mut()) {
        source.more = true;
    }
    let begun = letters.last().and_then(|last| last.claim.as_deref());
    for letter in left {
        let copies = message(&letter).map_or(1, |message| {
            copies_of(config.registry(), &letter.agent, message)
        });
        let Some(claim) = letter.claim else {
            continue;
        };
        if letter.source.is_none() {
            intake.queue_claims([claim]);
        } else if !PostponedLines::add_line(&mut late, &claim, copies) {
            late.push(PostponedLines {
                agent: letter.agent,
                begun: begun == Some(claim.as_str()),
                claim,
                lines: 1,
                copies,
            });
        }
    }
    intake.leave(late, config.settings(), state);
}

/// The index of the first letter that depends on an earlier one. Only a file with lines is divided.
fn first_dependent(letters: &[BatchMessage<CheckedContent>]) -> Option<usize> {
    let (mut ids, mut questions) = (BTreeSet::new(), Vec::new());
    let (mut start, mut has_subscriptions) = (0, false);
    for (n, letter) in letters.iter().enumerate() {
        if letter.source.is_some() || n > 0 && letters[n - 1].claim != letter.claim {
            start = n;
        }
        let Some(message) = message(letter) else {
            continue;
        };
        if is_ack_of(message, &ids)
            || is_answer_to(message, &questions)
            || has_subscriptions && !is_subscription(message)
        {
            return Some(start);
        }
        ids.insert(message.id());
        questions.extend(BatchQuestion::of(message));
        has_subscriptions |= is_subscription(message);
    }
    None
}

fn message(letter: &BatchMessage<CheckedContent>) -> Option<&Message> {
    let (message, _) = letter.content.as_ref().ok()?.as_ref()?;
    Some(message)
}

fn is_subscription(message: &Message) -> bool {
    matches!(message.kind(), "subscribe" | "unsubscribe")
}

/// Whether an ack names a message by its id.
fn is_ack_of(message: &Message, ids: &BTreeSet<&str>) -> bool {
    message.kind() == "ack"
        && message
            .references()
            .chain(ack::superseded_by(message))
            .filter_map(Reference::parse)
            .any(|reference| reference.id().is_some_and(|id| ids.contains(id)))
}

fn is_answer_to(message: &Message, questions: &[BatchQuestion<'_>]) -> bool {
    if questions.is_empty() {
        return false;
    }
    ReplyReferences::of(message).is_some_and(|reply| {
        questions
            .iter()
            .any(|question| *question.from != *message.from() && question.is_answered_by(&reply))
    })
}

/// A message of the batch that expects an answer.
struct BatchQuestion<'a> {
    from: Arc<str>,
    id: &'a str,
    shares: ConversationKeys,
}

impl BatchQuestion<'_> {
    fn of(message: &Message) -> Option<BatchQuestion<'_>> {
        message.wants_answer().then(|| BatchQuestion {
            from: message.from().into(),
            id: message.id(),
            shares: MessageHead::of(message).shares(),
        })
    }

    fn is_answered_by(&self, reply: &ReplyReferences<'_>) -> bool {
        let asked = AnswerableMessage {
            // The message has no number yet, so no reply names it by its number.
            seq: 0,
            from: &self.from,
            id: self.id,
            shares: &self.shares,
        };
        asked.is_named_by(reply) || asked.is_shared_by(reply)
    }
}
