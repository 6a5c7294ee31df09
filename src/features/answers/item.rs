//! An open item: a message that needs an action of an agent.

use super::escalated::EscalatedMessage;
use super::reply::AnswerableMessage;
use crate::base::clock::Stamp;
use crate::base::rfc3339;
use crate::base::{limits, sanitize};
use crate::disk::layout;
use crate::message::record::{EventKind, MessageHead, MessageName, Record};
use crate::message::status::CopyStatus;
use crate::message::{self, APPROVAL, ConversationKeys, ESCALATION, Priority};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::sync::Arc;

/// A message is listed for at most this many recipients.
const ITEM_RECIPIENTS: usize = 1000;

/// The kind of an open item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OpenItemKind {
    /// The sender expects an answer.
    Question,
    /// A question or a disagreement was passed on.
    Escalation,
    /// A message of this agent was rejected.
    Rejection,
}

/// A message that needs an action.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenItem {
    /// Its record.
    pub seq: u64,
    /// The kind of the item.
    pub kind: OpenItemKind,
    /// The sender.
    pub from: Arc<str>,
    /// Its id.
    pub id: String,
    /// The agents that have not acted yet.
    pub of: Vec<Arc<str>>,
    /// Its accept time, in microseconds since 1970.
    #[serde(with = "rfc3339")]
    pub since: i64,
    /// The title.
    pub title: String,
    /// The priority of the message.
    #[serde(default, skip_serializing_if = "Priority::is_normal")]
    pub priority: Priority,
    /// The thread and the reference that its answers can share.
    pub shares: ConversationKeys,
    /// The message that it passes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<EscalatedMessage>,
    /// The rejected file and its message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rejected: Option<RejectedName>,
    /// True if the list has too many newer items of the same cause. Then it has no title.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) is_older: bool,
}

/// The names of a rejected file and of its message, for the comparison with later files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RejectedName {
    /// The picked-up file.
    claim: String,
    /// The id of the rejected message, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<String>,
}

impl RejectedName {
    fn of(record: &Record) -> Option<RejectedName> {
        #[derive(Deserialize)]
        struct Bounce {
            #[serde(default)]
            in_reply_to: Option<String>,
        }
        let claim = record.claim()?.to_owned();
        let bounce = record.message()?.get();
        let bounce: Option<Bounce> = serde_json::from_str(bounce).ok();
        Some(RejectedName {
            claim,
            id: bounce.and_then(|bounce| bounce.in_reply_to),
        })
    }

    /// Returns true if this file replaces the rejected one: it is another file with the same name, or its message has the same id.
    pub(super) fn is_corrected_by(&self, claim: &str, id: &str) -> bool {
        let stem = |claim| {
            let claim = layout::read_claim(claim)?;
            Some(layout::message_stem(claim.original))
        };
        let has_same_name = self.claim != claim && stem(&self.claim) == stem(claim);
        has_same_name || self.id.as_deref() == Some(id)
    }
}

impl OpenItem {
    /// The item that a record makes, if an agent has to act on it: of an accepted message with this head, or of a rejection
    /// or a notice. A notice can pass on a message.
    pub(super) fn of(
        record: &Record,
        head: Option<&MessageHead<'_>>,
        about: Option<EscalatedMessage>,
        at: Stamp,
    ) -> Option<OpenItem> {
        let is_escalation = head.is_some_and(|head| head.kind() == ESCALATION) || about.is_some();
        let kind = match record.kind() {
            EventKind::Rejected => OpenItemKind::Rejection,
            // An approval is in a list of its own.
            _ if head.is_some_and(|head| head.kind() == APPROVAL) => return None,
            _ if is_escalation => OpenItemKind::Escalation,
            _ if head.is_some_and(MessageHead::wants_answer) => OpenItemKind::Question,
            _ => return None,
        };
        let all = record.recipients().map(|(agent, _)| agent.clone());
        let of: Vec<Arc<str>> = all.take(ITEM_RECIPIENTS).collect();
        if of.is_empty() {
            return None;
        }
        let title = match kind {
            OpenItemKind::Rejection => record
                .problems()
                .first()
                .map(|problem| problem.what.clone())
                .unwrap_or_default(),
            _ => record
                .message()
                .map(|message| title(message.get()))
                .unwrap_or_default(),
        };
        let notice = match head {
            Some(_) => None,
            None => record.message_head(),
        };
        let priority = head
            .or(notice.as_ref())
            .map(MessageHead::priority)
            .unwrap_or_default();
        let rejected = (kind == OpenItemKind::Rejection).then(|| RejectedName::of(record));
        let MessageName { from, id, .. } = record.name()?;
        let (seq, from, id, since) = (record.seq, from.clone(), id.clone(), at.micros());
        let (title, shares) = (
            sanitize::brief(&title, limits::TITLE),
            head.map(MessageHead::shares).unwrap_or_default(),
        );
        Some(OpenItem {
            seq,
            kind,
            from,
            id,
            of,
            since,
            title,
            priority,
            shares,
            about,
            rejected: rejected.flatten(),
            is_older: false,
        })
    }

    pub(super) fn asked(&self) -> AnswerableMessage<'_> {
        AnswerableMessage {
            seq: self.seq,
            from: &self.from,
            id: &self.id,
            shares: &self.shares,
        }
    }

    /// The agent that causes it: the sender of the rejected message, or of the message that an escalation passes on.
    pub(super) fn cause(&self) -> &Arc<str> {
        match (self.kind, &self.about) {
            (OpenItemKind::Rejection, _) => self.of.first().unwrap_or(&self.from),
            (_, Some(about)) => &about.from,
            _ => &self.from,
        }
    }

    /// Returns true if a copy with this status needs no action. A rejection was read; anything else was done or closed.
    pub(super) fn is_done(&self, status: CopyStatus) -> bool {
        match self.kind {
            OpenItemKind::Rejection => status.rank() >= CopyStatus::Seen.rank(),
            OpenItemKind::Escalation => status.rank() > CopyStatus::Seen.rank(),
            OpenItemKind::Question => status.is_closed(),
        }
    }

    /// The time when it was opened.
    pub fn since(&self) -> Stamp {
        Stamp::from_micros(self.since)
    }
}

// Reads only these two fields, because a message can be large.
fn title(message: &str) -> String {
    #[derive(Deserialize)]
    struct MessageText<'a> {
        #[serde(borrow, default)]
        subject: Cow<'a, str>,
        #[serde(borrow, default)]
        body: Cow<'a, str>,
    }
    let Ok(MessageText { subject, body }) = serde_json::from_str(message) else {
        return String::new();
    };
    let title = message::title::title(Some(&subject), Some(&body));
    title.unwrap_or_default().to_owned()
}
