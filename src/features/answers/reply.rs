//! Answers to messages. This is the only definition: the router records the result, and deadlines, the list of open items,
//! threads and `mailbag ask` use the record.

use crate::message::reference::Reference;
use crate::message::{Answered, ConversationKeys, Message, behaviour};
use std::sync::Arc;

/// The identification of a message for its answers.
#[derive(Debug, Clone, Copy)]
pub(super) struct AnswerableMessage<'a> {
    /// Its record.
    pub(super) seq: u64,
    /// Its sender.
    pub(super) from: &'a Arc<str>,
    /// Its id.
    pub(super) id: &'a str,
    /// The thread and the reference that its answers can share.
    pub(super) shares: &'a ConversationKeys,
}

/// A text or a number that connects a reply to a message.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum ReplyKey {
    /// An id, a thread or a correlation id.
    Text(String),
    /// The number of a record.
    Seq(u64),
}

/// The connections of a reply.
pub(super) struct ReplyReferences<'a> {
    names: Option<Reference>,
    thread: Option<&'a str>,
    correlation: Option<&'a str>,
    refs: Vec<Reference>,
}

impl<'a> ReplyReferences<'a> {
    /// The connections of a message. `None` if it can answer no other one. An ack is not an answer.
    pub(super) fn of(message: &'a Message) -> Option<ReplyReferences<'a>> {
        let behaviour = behaviour(message.kind());
        if behaviour.acted_on_by.is_some() {
            return None;
        }
        let answered = message.text("in_reply_to");
        let names = answered.and_then(Reference::parse);
        if message.wants_answer() || behaviour.answers == Answered::Named {
            return names.map(|names| ReplyReferences {
                names: Some(names),
                thread: None,
                correlation: None,
                refs: Vec::new(),
            });
        }
        let thread = message.text("thread_id");
        let correlation = if behaviour.answers == Answered::Correlated {
            answered
        } else {
            None
        };
        let refs: Vec<Reference> = message.references().filter_map(Reference::parse).collect();
        let is_connected =
            names.is_some() || thread.is_some() || correlation.is_some() || !refs.is_empty();
        is_connected.then_some(ReplyReferences {
            names,
            thread,
            correlation,
            refs,
        })
    }

    /// The names of the messages that it can answer by `in_reply_to`.
    pub(super) fn names(&self) -> Vec<ReplyKey> {
        self.names.iter().flat_map(names_of).collect()
    }

    /// The names of the messages that it can answer because it shares something with them.
    pub(super) fn shared_names(&self) -> Vec<ReplyKey> {
        let texts = self
            .thread
            .into_iter()
            .chain(self.correlation)
            .map(|text| ReplyKey::Text(text.to_owned()));
        texts.chain(self.refs.iter().flat_map(names_of)).collect()
    }
}

fn names_of(reference: &Reference) -> impl Iterator<Item = ReplyKey> {
    let id = reference.id().map(|id| ReplyKey::Text(id.to_owned()));
    id.into_iter().chain(reference.seq().map(ReplyKey::Seq))
}

impl AnswerableMessage<'_> {
    /// The names that its answers can use.
    pub(super) fn names(&self) -> impl Iterator<Item = ReplyKey> {
        let ConversationKeys {
            thread,
            correlation,
        } = self.shares;
        let texts = [Some(self.id), thread.as_deref(), correlation.as_deref()];
        let texts = texts
            .into_iter()
            .flatten()
            .map(|text| ReplyKey::Text(text.to_owned()));
        texts.chain([ReplyKey::Seq(self.seq)])
    }

    /// Returns true if a reply names this message in `in_reply_to`.
    pub(super) fn is_named_by(&self, reply: &ReplyReferences<'_>) -> bool {
        reply.names.as_ref().is_some_and(|name| self.has_name(name))
    }

    /// Returns true if a reply shares the thread or the correlation id of this message, or names it in `refs`. This counts
    /// only for a reply to the sender of this message.
    pub(super) fn is_shared_by(&self, reply: &ReplyReferences<'_>) -> bool {
        let ConversationKeys {
            thread,
            correlation,
        } = self.shares;
        reply
            .thread
            .is_some_and(|name| name == self.id || thread.as_deref() == Some(name))
            || reply.correlation.is_some() && reply.correlation == correlation.as_deref()
            || reply.refs.iter().any(|name| self.has_name(name))
    }

    fn has_name(&self, name: &Reference) -> bool {
        name.is_of(self.from, self.id, Some(self.seq))
    }
}
