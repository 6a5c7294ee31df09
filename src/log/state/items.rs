//! Open items: messages that need an action of an agent. Questions, escalations and rejections; approvals and offers have a
//! state of their own.

use super::answers::EscalatedMessage;
use super::renames;
use super::reply_index::{ReplyIndex, owes};
use crate::base::clock::Stamp;
use crate::base::rfc3339;
use crate::base::{limits, sanitize};
use crate::disk::layout;
use crate::message::answer::{AnswerableMessage, ConversationKeys, ReplyKey};
use crate::message::record::{EventKind, MessageHead, MessageName, Record};
use crate::message::status::CopyStatus;
use crate::message::{self, APPROVAL, ESCALATION, Priority, id};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The most items in the list for each causing agent. The older ones are only counted.
const ITEMS_OF_AGENT: usize = 100;
/// The most items of each causing agent, listed or counted; the oldest are forgotten.
const COUNTED_OF_AGENT: usize = 10_000;
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
    is_older: bool,
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
    fn is_corrected_by(&self, claim: &str, id: &str) -> bool {
        let stem = |claim| {
            let claim = layout::read_claim(claim)?;
            Some(layout::message_stem(claim.original))
        };
        let has_same_name = self.claim != claim && stem(&self.claim) == stem(claim);
        has_same_name || self.id.as_deref() == Some(id)
    }
}

/// All open items.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(from = "SavedItems", into = "SavedItems")]
pub struct OpenItems {
    open: BTreeMap<u64, OpenItem>,
    /// The items by causing agent, for the limit per agent.
    of_cause: BTreeMap<Arc<str>, BTreeSet<u64>>,
    /// The open escalations of each message that is passed on.
    escalations: BTreeMap<u64, BTreeSet<u64>>,
    asked: ReplyIndex,
    passed_on: ReplyIndex,
    changed: u64,
}

/// The items in a snapshot.
#[derive(Serialize, Deserialize)]
struct SavedItems {
    open: Vec<OpenItem>,
    changed: u64,
}

impl From<SavedItems> for OpenItems {
    fn from(saved: SavedItems) -> OpenItems {
        let mut all = OpenItems::default();
        for item in saved.open {
            all.add(item);
        }
        all.changed = saved.changed;
        all
    }
}

impl From<OpenItems> for SavedItems {
    fn from(items: OpenItems) -> SavedItems {
        SavedItems {
            open: items.open.into_values().collect(),
            changed: items.changed,
        }
    }
}

impl OpenItems {
    /// Adds an item. Above the limit per agent, the oldest item is no longer listed.
    pub(super) fn add(&mut self, mut item: OpenItem) {
        self.changed = self.changed.max(item.seq);
        let own = self.of_cause.entry(cause(&item).clone()).or_default();
        own.insert(item.seq);
        let oldest = if own.len() > COUNTED_OF_AGENT {
            own.first().copied()
        } else {
            None
        };
        if let Some(&older) = own.iter().rev().nth(ITEMS_OF_AGENT) {
            let listed = self.open.get_mut(&older).into_iter();
            let added = (item.seq <= older).then_some(&mut item);
            for one in listed.chain(added) {
                one.is_older = true;
                one.title.clear();
            }
        }
        self.asked.add(item.asked());
        if let Some(about) = &item.about {
            self.passed_on.add(about.asked());
            self.escalations
                .entry(about.seq)
                .or_default()
                .insert(item.seq);
        }
        self.open.insert(item.seq, item);
        if let Some(seq) = oldest {
            self.remove(seq);
        }
    }

    /// Cuts all times after the clock was set back, in the record `seq`.
    pub(super) fn cut_times(&mut self, now: Stamp, seq: u64) {
        for item in self.open.values_mut() {
            now.cut(&mut item.since, None);
            self.changed = seq;
        }
    }

    /// Adds the item of a record, if it makes one.
    pub(super) fn extend(&mut self, item: Option<OpenItem>) {
        if let Some(item) = item {
            self.add(item);
        }
    }

    /// The listed items, in the order of the log.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &OpenItem> {
        self.open.values().filter(|item| !item.is_older)
    }

    /// The items that are only counted.
    pub fn older(&self) -> impl Iterator<Item = &OpenItem> {
        self.open.values().filter(|item| item.is_older)
    }

    /// The last record that changed anything; 0 for none.
    pub fn changed_at(&self) -> u64 {
        self.changed
    }

    /// The first message with one of these names that fulfils the condition, and that the agent has to answer or that has
    /// an escalation to the agent.
    pub(super) fn first_owed(
        &self,
        agent: &str,
        names: &[ReplyKey],
        is_meant: &dyn Fn(&AnswerableMessage<'_>) -> bool,
    ) -> Option<u64> {
        let own = self.asked.first(names, |seq| {
            self.open
                .get(&seq)
                .is_some_and(|item| owes(&item.of, agent) && is_meant(&item.asked()))
        });
        let passed_on = self.passed_on.first(names, |seq| {
            self.passed_on_as(seq)
                .any(|one| owes(&one.of, agent) && is_meant(&one.asked()))
        });
        own.into_iter().chain(passed_on).min()
    }

    /// The message of this record that an open escalation passes on.
    pub(super) fn passed_on(&self, seq: u64) -> Option<&EscalatedMessage> {
        self.passed_on_as(seq).next()
    }

    /// The message of this record, as each open escalation passes it on.
    fn passed_on_as(&self, seq: u64) -> impl Iterator<Item = &EscalatedMessage> {
        let escalations = self.escalations.get(&seq).into_iter().flatten();
        escalations.filter_map(|escalation| self.open.get(escalation)?.about.as_ref())
    }

    /// Records in `at` that an agent answered a message.
    pub(super) fn answered(&mut self, seq: u64, agent: &str, at: u64) {
        self.acted(seq, |of| id::answers_for(agent, of), at);
        self.settle(seq, agent, None, at);
    }

    /// Records in `at` that a message of this sender with this id was accepted from this file: it closes the rejections that the
    /// file corrects.
    pub(super) fn corrected(&mut self, from: &Arc<str>, claim: &str, id: &str, at: u64) {
        let own = self.of_cause.get(from).into_iter().flatten();
        let is_corrected = |seq: &&u64| {
            let item = self.open.get(*seq);
            let rejected = item.and_then(|item| item.rejected.as_ref());
            rejected.is_some_and(|rejected| rejected.is_corrected_by(claim, id))
        };
        let seqs: Vec<u64> = own.filter(is_corrected).copied().collect();
        for seq in seqs {
            self.close(seq, at);
        }
    }

    /// Closes an item in the record `at`, if it is open.
    pub(super) fn close(&mut self, seq: u64, at: u64) {
        if self.open.contains_key(&seq) {
            self.remove(seq);
            self.changed = at;
        }
    }

    /// Records in `at` a status of a copy. A rejection was read; anything else was done or closed.
    pub(super) fn reached(&mut self, seq: u64, agent: &str, status: CopyStatus, at: u64) {
        self.settle(seq, agent, Some(status), at);
        let Some(item) = self.open.get(&seq) else {
            return;
        };
        let is_new = matches!(
            status,
            CopyStatus::Accepted | CopyStatus::Delivered | CopyStatus::Announced
        );
        let is_done = match item.kind {
            OpenItemKind::Rejection => !is_new,
            OpenItemKind::Escalation => !is_new && status != CopyStatus::Seen,
            OpenItemKind::Question => status.is_closed(),
        };
        if is_done {
            self.acted(seq, |of| status.counts_for(agent, of), at);
        }
    }

    /// Closes the escalations of a message when no reply to it is missing.
    fn settle(&mut self, seq: u64, by: &str, status: Option<CopyStatus>, at: u64) {
        for escalation in self.escalations.get(&seq).cloned().unwrap_or_default() {
            let item = self.open.get_mut(&escalation);
            let Some(passed_on) = item.and_then(|item| item.about.as_mut()) else {
                continue;
            };
            if passed_on.settle(by, status) {
                self.changed = at;
            }
            if passed_on.of.is_empty() {
                self.remove(escalation);
            }
        }
    }

    /// Moves the items of one agent to another, in the record `at`.
    pub(super) fn rename(&mut self, of: &str, to: &Arc<str>, at: u64) {
        for about in self
            .open
            .values_mut()
            .filter_map(|item| item.about.as_mut())
        {
            about.rename(of, to);
        }
        let seqs: Vec<u64> = self
            .open
            .values()
            .filter(|item| item.of.iter().any(|one| **one == *of))
            .map(|item| item.seq)
            .collect();
        for seq in seqs {
            let Some(mut item) = self.open.get(&seq).cloned() else {
                continue;
            };
            self.remove(seq);
            renames::replace(&mut item.of, of, to);
            self.add(item);
            self.changed = at;
        }
    }

    fn acted(&mut self, seq: u64, has_acted: impl Fn(&str) -> bool, at: u64) {
        let Some(item) = self.open.get_mut(&seq) else {
            return;
        };
        let before = item.of.len();
        item.of.retain(|of| !has_acted(of));
        if item.of.len() == before {
            return;
        }
        self.changed = at;
        if item.of.is_empty() {
            self.remove(seq);
        }
    }

    fn remove(&mut self, seq: u64) {
        let Some(item) = self.open.remove(&seq) else {
            return;
        };
        if let Some(own) = self.of_cause.get_mut(cause(&item)) {
            own.remove(&seq);
            if own.is_empty() {
                self.of_cause.remove(cause(&item));
            }
        }
        self.asked.remove(item.asked());
        if let Some(about) = &item.about
            && let Some(escalations) = self.escalations.get_mut(&about.seq)
        {
            escalations.remove(&seq);
            if escalations.is_empty() {
                self.escalations.remove(&about.seq);
                self.passed_on.remove(about.asked());
            }
        }
    }
}

impl PartialEq for OpenItems {
    fn eq(&self, other: &OpenItems) -> bool {
        self.open == other.open
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
        let is_escalation = head.is_some_and(|head| head.kind() == ESCALATION)
            || about.is_some()
            || record.facts.is_dispute();
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

    fn asked(&self) -> AnswerableMessage<'_> {
        AnswerableMessage {
            seq: self.seq,
            from: &self.from,
            id: &self.id,
            shares: &self.shares,
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

/// The agent that causes an item: the sender of the rejected message, or of the message that an escalation passes on.
fn cause(item: &OpenItem) -> &Arc<str> {
    match (item.kind, &item.about) {
        (OpenItemKind::Rejection, _) => item.of.first().unwrap_or(&item.from),
        (_, Some(about)) => &about.from,
        _ => &item.from,
    }
}
