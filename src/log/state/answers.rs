//! The message that a reply answers, and escalations that pass a message on until it is answered.

use super::{EXPIRED, MessageDeadline, OVERDUE, OVERDUE_AT_LAST, RoomState, UNREACHED, renames};
use crate::base::clock::Stamp;
use crate::message::answer::{AnswerableMessage, ConversationKeys, ReplyKey, ReplyReferences};
use crate::message::record::{RecipientGroup, Record};
use crate::message::status::CopyStatus;
use crate::message::{Message, id};
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
    /// The message of a deadline. The record of the escalation lists the agents that have not replied.
    pub(super) fn of(timed: &MessageDeadline, record: &Record) -> EscalatedMessage {
        EscalatedMessage {
            seq: timed.seq,
            from: timed.from.clone(),
            id: timed.id.clone(),
            shares: timed.shares.clone(),
            of: missing(record),
            answer: timed.wanted.as_ref().is_some_and(|wanted| wanted.answer),
            urgent: timed.urgent,
        }
    }

    /// The same message, for another escalation.
    pub(super) fn again(&self, record: &Record) -> EscalatedMessage {
        EscalatedMessage {
            of: missing(record),
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

/// The agents that an escalation of the router names.
fn missing(record: &Record) -> Vec<Arc<str>> {
    #[derive(Deserialize)]
    struct EscalationBody {
        metadata: EscalationMetadata,
    }
    #[derive(Deserialize)]
    struct EscalationMetadata {
        agents: Vec<Arc<str>>,
    }
    let body = record.message_as::<EscalationBody>();
    body.map(|body| body.metadata.agents).unwrap_or_default()
}

impl RoomState {
    /// Notes the subject of a notice, and updates the deadline of the message concerned.
    pub(super) fn note_notice(&mut self, about: &str, at: Stamp) {
        let (what, of) = about.split_once(' ').unwrap_or_default();
        match (what, of.parse().ok()) {
            (EXPIRED, Some(seq)) => self.timers.expired(seq),
            (OVERDUE, Some(seq)) => self.timers.notified(seq, at, false),
            (OVERDUE_AT_LAST, Some(seq)) => self.timers.notified(seq, at, true),
            (UNREACHED, _) => {}
            _ => {
                self.notices.insert(about.to_owned());
            }
        }
    }

    /// The message that a notice passes on, unless no reply to it is missing.
    pub(super) fn passed_on(&self, record: &Record) -> Option<EscalatedMessage> {
        let (what, seq) = record.about()?.split_once(' ')?;
        if ![OVERDUE, OVERDUE_AT_LAST].contains(&what) {
            return None;
        }
        let seq = seq.parse().ok()?;
        let timed = self
            .timers
            .get(seq)
            .map(|timed| EscalatedMessage::of(timed, record));
        timed.or_else(|| Some(self.items.passed_on(seq)?.again(record)))
    }

    /// The record of the message that another message to these recipients answers, if its sender owes a reply to it. A
    /// named message has precedence over messages that share a thread or reference with the reply. The oldest one counts.
    pub fn answered_by(&self, message: &Message, to: &[RecipientGroup]) -> Option<u64> {
        let reply = ReplyReferences::of(message)?;
        let named = self.first_owed(message.from(), &reply.names(), &|asked| {
            asked.is_named_by(&reply)
        });
        named.or_else(|| {
            self.first_owed(message.from(), &reply.shared_names(), &|asked| {
                let asker = self.holder(asked.from, asked.seq);
                let mut recipients = to.iter().flat_map(|group| &group.agents);
                asked.is_shared_by(&reply) && recipients.any(|to| id::answers_for(asker, to))
            })
        })
    }

    /// The first message with one of these names that the agent has to answer and that fulfils the condition.
    fn first_owed(
        &self,
        agent: &str,
        names: &[ReplyKey],
        is_meant: &dyn Fn(&AnswerableMessage<'_>) -> bool,
    ) -> Option<u64> {
        let timed = self.timers.first_owed(agent, names, is_meant);
        timed
            .into_iter()
            .chain(self.items.first_owed(agent, names, is_meant))
            .min()
    }
}
