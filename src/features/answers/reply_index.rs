//! An index of the messages that want a reply.

use super::reply::{AnswerableMessage, ReplyKey};
use crate::message::id;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// Finds messages that want a reply by the names that replies use.
#[derive(Debug, Clone, Default)]
pub(super) struct ReplyIndex(HashMap<ReplyKey, BTreeSet<u64>>);

impl ReplyIndex {
    /// Adds a message.
    pub(super) fn add(&mut self, asked: AnswerableMessage<'_>) {
        for name in asked.names() {
            self.0.entry(name).or_default().insert(asked.seq);
        }
    }

    /// Removes a message.
    pub(super) fn remove(&mut self, asked: AnswerableMessage<'_>) {
        for name in asked.names() {
            if let Some(seqs) = self.0.get_mut(&name) {
                seqs.remove(&asked.seq);
                if seqs.is_empty() {
                    self.0.remove(&name);
                }
            }
        }
    }

    /// The first message with one of these names that fulfils the condition.
    pub(super) fn first(&self, names: &[ReplyKey], holds: impl Fn(u64) -> bool) -> Option<u64> {
        let seqs = names.iter().filter_map(|name| self.0.get(name));
        seqs.filter_map(|seqs| seqs.iter().copied().find(|seq| holds(*seq)))
            .min()
    }
}

/// Returns true if the agent answers for one of `of`.
pub(super) fn owes(of: &[Arc<str>], agent: &str) -> bool {
    of.iter().any(|of| id::answers_for(agent, of))
}
