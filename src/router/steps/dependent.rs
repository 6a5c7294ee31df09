//! Messages that answer or acknowledge a message of the same batch.
//!
//! The state shows which messages are open, and it does not have the messages of the batch. The batch ends before such a
//! message, so that its effect is the same in one pass as in two.

use super::batch_message::{BatchMessage, CheckedContent};
use crate::log::state::RoomState;
use crate::message::Message;
use crate::message::answer::{AnswerableMessage, ConversationKeys, ReplyReferences};
use crate::message::record::MessageHead;
use crate::message::reference::Reference;
use crate::router::parts::{MailIntake, PostponedLines, RoomConfig};
use std::collections::HashSet;
use std::sync::Arc;

/// Leaves the first file that depends on an earlier file of the batch, and all files after it, for the next batch.
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
    for letter in letters.split_off(start) {
        let Some(claim) = letter.claim else {
            continue;
        };
        if letter.source.is_none() {
            intake.queue_claims([claim]);
        } else if !PostponedLines::add_line(&mut late, &claim, 0) {
            late.push(PostponedLines {
                agent: letter.agent,
                claim,
                lines: 1,
                copies: 0,
                begun: false,
            });
        }
    }
    intake.leave(late, config.settings(), state);
}

/// The index of the first letter of the first file that depends on an earlier file.
fn first_dependent(letters: &[BatchMessage<CheckedContent>]) -> Option<usize> {
    let (mut ids, mut questions) = (HashSet::new(), Vec::new());
    let mut start = 0;
    // A file is added after its last line: its lines do not depend on each other here.
    for file in letters.chunk_by(|one, next| one.claim == next.claim) {
        let messages: Vec<&Message> = file.iter().filter_map(message).collect();
        if messages
            .iter()
            .any(|message| is_ack_of(message, &ids) || is_answer_to(message, &questions))
        {
            return Some(start);
        }
        for message in messages {
            ids.insert(message.id());
            questions.extend(BatchQuestion::of(message));
        }
        start += file.len();
    }
    None
}

fn message(letter: &BatchMessage<CheckedContent>) -> Option<&Message> {
    let (message, _) = letter.content.as_ref().ok()?.as_ref()?;
    Some(message)
}

fn is_ack_of(message: &Message, ids: &HashSet<&str>) -> bool {
    message.kind() == "ack"
        && !ids.is_empty()
        && message.references().any(|reference| {
            let reference = Reference::parse(reference);
            reference.is_some_and(|reference| reference.id().is_some_and(|id| ids.contains(id)))
        })
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
