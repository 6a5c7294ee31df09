//! Messages that an escalation passes on until they are answered.

use super::missing::UnansweredMessage;
use super::reply::AnswerableMessage;
use crate::log::state::renames;
use crate::message::status::CopyStatus;
use crate::message::{ConversationKeys, id};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A message that an escalation passes on, until no reply to it is missing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EscalatedMessage {
    /// Its record.
    pub seq: u64,
    pub(super) from: Arc<str>,
    id: String,
    shares: ConversationKeys,
    /// The agents that have not replied.
    pub of: Vec<Arc<str>>,
    answer: bool,
    urgent: bool,
}

impl EscalatedMessage {
    /// The message of a deadline, and the agents that have not replied.
    pub(super) fn of(message: &UnansweredMessage, agents: &[Arc<str>]) -> EscalatedMessage {
        EscalatedMessage {
            seq: message.seq,
            from: message.from.clone(),
            id: message.id.clone(),
            shares: message.shares.clone(),
            of: agents.to_vec(),
            answer: message.answer,
            urgent: message.urgent,
        }
    }

    /// The same message, for another escalation about these agents.
    pub(super) fn again(&self, agents: &[Arc<str>]) -> EscalatedMessage {
        EscalatedMessage {
            of: agents.to_vec(),
            ..self.clone()
        }
    }

    /// The message's identification.
    pub(super) fn asked(&self) -> AnswerableMessage<'_> {
        AnswerableMessage {
            seq: self.seq,
            from: &self.from,
            id: &self.id,
            shares: &self.shares,
        }
    }

    /// Records a reply, or a status of a copy.
    pub(super) fn settle(&mut self, by: &str, status: Option<CopyStatus>) -> bool {
        let before = self.of.len();
        self.of.retain(|of| match status {
            None => !id::answers_for(by, of),
            Some(status) => {
                !(status.settles(self.answer, self.urgent) && status.counts_for(by, of))
            }
        });
        self.of.len() < before
    }

    pub(super) fn rename(&mut self, of: &str, to: &Arc<str>) {
        renames::replace(&mut self.of, of, to);
    }
}
