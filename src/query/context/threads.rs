//! The open threads of an agent, and the newest decisions, from the end of the log.

use crate::base::error::Result;
use crate::base::limits;
use crate::base::text::to_the_second;
use crate::features::approvals::decision::{ApprovalChange, DENIED};
use crate::features::worklog::envelope::Envelope;
use crate::log;
use crate::log::lookup::{LoggedMessage, Viewer};
use crate::message::record::Record;
use crate::message::reference::bare;
use crate::message::status::CopyStatus;
use crate::message::title::first_line;
use crate::message::{APPROVAL, QUESTION, id};
use crate::query::view::MessageView;
use crate::room::Room;
use crate::room::resolve::RecipientRule;
use memchr::memmem;
use serde::Serialize;
use serde_json::Value;
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The size of the log's end that is read for threads and decisions.
const CONTEXT_LOG: u64 = 4 << 20;
/// The most messages of a thread.
const CONTEXT_MESSAGES: usize = 5;
/// The most decisions.
const CONTEXT_DECISIONS: usize = 10;

/// An open thread: it is not closed or completed, and is more than one announcement.
#[derive(Debug, Clone, Serialize)]
pub struct OpenThread {
    /// Its name.
    pub thread_id: String,
    /// Whether another agent expects an answer from this one.
    pub awaits_answer: bool,
    /// The number of its messages in the end of the log that was read.
    pub total: usize,
    /// The last messages, newest first.
    pub messages: Vec<MessageSummary>,
}

/// A message, or an event of the router, in few words.
#[derive(Debug, Clone, Serialize)]
pub struct MessageSummary {
    /// Its record number.
    pub seq: u64,
    /// The accept time.
    pub at: String,
    /// The sender; `mailbag` for the router.
    pub from: String,
    /// The type; `rejected` for a rejected message.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its change of claims, and its title. In a digest: its whole text, or the first problem.
    pub about: String,
    /// How its sender closed it, such as `superseded: replaced by #12`, or `offer ended`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closed: Option<String>,
    /// The beginning of the body, if the message also has a subject.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// Types that end a thread.
const LAST: [&str; 3] = ["completed", "agent_complete", "decision"];
/// Types that do not belong to a conversation.
const SILENT: [&str; 7] = [
    "ack",
    "subscribe",
    "unsubscribe",
    "claim",
    "release",
    "accept",
    "decline",
];
/// Addresses of groups: one message to them does not make a thread.
const GROUPS: [RecipientRule; 6] = [
    RecipientRule::All,
    RecipientRule::Role,
    RecipientRule::Pattern,
    RecipientRule::Topic,
    RecipientRule::Capability,
    RecipientRule::Mention,
];

/// A thread while it is collected.
#[derive(Default)]
struct CollectedThread {
    name: String,
    messages: Vec<LoggedMessage>,
    is_addressed: bool,
}

/// The threads and decisions of an agent in the end of the log.
#[derive(Default)]
struct ThreadCollector {
    threads: Vec<CollectedThread>,
    /// The position of each thread, by the names of its messages.
    places: HashMap<String, usize>,
    /// The messages that an ack or a decision closed.
    closed: HashSet<u64>,
    /// The messages that the agent need not answer.
    settled: HashSet<u64>,
    /// The unread copies that expired: message and recipient.
    expired: HashSet<(u64, Arc<str>)>,
    decisions: Vec<MessageSummary>,
    /// The record and the question of each approval.
    approvals: HashMap<String, (u64, String)>,
}

/// The open threads, with unanswered threads first and then the newest first, and the newest decisions.
pub(super) fn of(
    room: &Room,
    viewer: &Viewer,
    note_closed: impl Fn(&mut LoggedMessage),
) -> Result<(Vec<OpenThread>, Vec<MessageSummary>)> {
    let mut found = ThreadCollector::default();
    let names: Vec<String> = viewer
        .names()
        .iter()
        .map(|name| format!("\"{name}\""))
        .collect();
    let mentions: Vec<memmem::Finder<'_>> = names
        .iter()
        .map(|name| memmem::Finder::new(name.as_bytes()))
        .collect();
    let from = log::before_end(&room.dir, CONTEXT_LOG)?;
    for line in log::lines(&room.dir, from)? {
        let line = line?;
        let is_mentioned = mentions.iter().any(|name| name.find(&line.bytes).is_some());
        if (is_mentioned || Envelope::may_be(&line.bytes))
            && let Ok(record) = line.record()
        {
            found.add(record, viewer);
        }
    }
    let ThreadCollector {
        mut threads,
        closed,
        settled,
        expired,
        mut decisions,
        ..
    } = found;
    let is_open = |thread: &CollectedThread| {
        let is_expired = |past: &LoggedMessage| {
            let mut copies = past
                .recipients
                .iter()
                .map(|agent| (past.seq, agent.clone()));
            copies.all(|copy| expired.contains(&copy)) && !past.recipients.is_empty()
        };
        let is_over = |past: &LoggedMessage| {
            closed.contains(&past.seq) || LAST.contains(&&*past.kind) || is_expired(past)
        };
        let is_over =
            thread.messages.last().is_none_or(is_over) && !thread.awaits(viewer, &settled);
        (thread.is_addressed || thread.messages.len() > 1) && !is_over
    };
    threads.retain(is_open);
    threads.sort_by_key(|thread| {
        Reverse((
            thread.awaits(viewer, &settled),
            thread.messages.last().map(|past| past.seq),
        ))
    });
    threads.truncate(limits::CONTEXT_THREADS);
    decisions.reverse();
    decisions.truncate(CONTEXT_DECISIONS);
    Ok((
        threads
            .into_iter()
            .map(|thread| thread.shown(viewer, &settled, &note_closed))
            .collect(),
        decisions,
    ))
}

impl ThreadCollector {
    fn add(&mut self, record: Record, viewer: &Viewer) {
        let acks = record.ack();
        self.closed.extend(
            acks.iter()
                .filter(|one| one.status.is_closed())
                .flat_map(|one| one.seqs.iter().copied()),
        );
        for one in acks
            .iter()
            .chain(&record.receipts)
            .filter(|one| one.status.is_closed())
        {
            if viewer.names().iter().any(|name| **name == *one.agent) {
                self.settled.extend(&one.seqs);
            }
        }
        for one in &record.receipts {
            if one.status == CopyStatus::Expired {
                let copies = one.seqs.iter().map(|&seq| (seq, one.agent.clone()));
                self.expired.extend(copies);
            }
        }
        if let Some(seq) = self.decided(&record) {
            self.closed.insert(seq);
            self.settled.insert(seq);
        }
        let decision = Envelope::entry(&record).filter(Envelope::is_decision);
        let is_addressed = record
            .to()
            .iter()
            .any(|group| RecipientRule::parse(&group.via).is_none_or(|via| !GROUPS.contains(&via)));
        let Some(past) = LoggedMessage::of(record) else {
            return;
        };
        if let Some(event) = decision
            && (past.recipients.is_empty() || viewer.is_own(&past))
        {
            self.decisions.push(self.decision(&event));
        }
        if !is_said(&past, viewer) {
            return;
        }
        if viewer.sent(&past) {
            self.settled.extend(past.answers);
        }
        let at = place(&past, &mut self.threads, &mut self.places);
        let thread = &mut self.threads[at];
        thread.is_addressed |= is_addressed || wants_answer(&past);
        thread.messages.push(past);
    }

    /// The approval that a record closes. An approval that it asks for is noted.
    fn decided(&mut self, record: &Record) -> Option<u64> {
        let from = record.sender();
        let approval = match record.facts.approvals.as_ref()? {
            ApprovalChange::Ask(terms) => {
                let name = id::full_name(from, record.id()?);
                self.approvals
                    .insert(name, (record.seq, terms.title.clone()));
                return None;
            }
            ApprovalChange::Decide { approval, .. } | ApprovalChange::Expire { approval, .. } => {
                approval
            }
            // The decision of a disagreement is a message of the thread.
            _ => return None,
        };
        self.approvals.get(approval).map(|(seq, _)| *seq)
    }

    fn decision(&self, event: &Envelope) -> MessageSummary {
        let field = |name: &str| event.payload.get(name).and_then(Value::as_str);
        let body = field("body");
        let (about, text) = match field("approval") {
            Some(approval) => {
                let title = self
                    .approvals
                    .get(approval)
                    .map(|(_, title)| title.as_str());
                (
                    title.or(field("title")).unwrap_or(approval),
                    Some(field("option").unwrap_or(DENIED)),
                )
            }
            None => match &event.subject {
                Some(subject) => (subject.as_str(), body),
                None => (body.and_then(first_line).unwrap_or_default(), None),
            },
        };
        MessageSummary {
            seq: event.seq,
            at: to_the_second(&event.at),
            from: event.actor.clone(),
            kind: event.kind.clone(),
            about: start(about),
            closed: None,
            text: text.map(start),
        }
    }
}

/// Returns true if its sender expects an answer.
fn wants_answer(past: &LoggedMessage) -> bool {
    past.requires_response || [QUESTION, APPROVAL].contains(&&*past.kind)
}

fn is_said(past: &LoggedMessage, viewer: &Viewer) -> bool {
    viewer.is_own(past)
        && &*past.from != id::MAILBAG
        && !SILENT.contains(&&*past.kind)
        && !past.kind.contains('.')
}

/// The position of a message's thread: the thread of the answered message, or the thread with its thread id.
fn place(
    past: &LoggedMessage,
    threads: &mut Vec<CollectedThread>,
    places: &mut HashMap<String, usize>,
) -> usize {
    let named = past.in_reply_to.as_deref().map(|id| bare(id).to_owned());
    let recorded = past.answers.map(|seq| seq.to_string());
    let answered = named
        .into_iter()
        .chain(recorded)
        .find_map(|name| places.get(&name).copied());
    let name = past.thread_id.clone().unwrap_or_else(|| past.id.clone());
    let at = answered
        .or_else(|| places.get(&name).copied())
        .unwrap_or_else(|| {
            threads.push(CollectedThread {
                name: name.clone(),
                ..CollectedThread::default()
            });
            threads.len() - 1
        });
    places.insert(name, at);
    places.insert(past.id.clone(), at);
    places.insert(past.seq.to_string(), at);
    at
}

impl CollectedThread {
    /// Returns true if the agent owes an answer.
    fn awaits(&self, viewer: &Viewer, settled: &HashSet<u64>) -> bool {
        let is_open = |past: &LoggedMessage| wants_answer(past) && !settled.contains(&past.seq);
        self.messages
            .iter()
            .any(|past| viewer.received(past) && !viewer.sent(past) && is_open(past))
    }

    fn shown(
        mut self,
        viewer: &Viewer,
        settled: &HashSet<u64>,
        note_closed: impl Fn(&mut LoggedMessage),
    ) -> OpenThread {
        let (awaits_answer, total) = (self.awaits(viewer, settled), self.messages.len());
        let mut messages = Vec::new();
        for past in self.messages.iter_mut().rev().take(CONTEXT_MESSAGES) {
            note_closed(past);
            messages.push(said(past));
        }
        OpenThread {
            awaits_answer,
            total,
            messages,
            thread_id: self.name,
        }
    }
}

fn said(past: &LoggedMessage) -> MessageSummary {
    let view = MessageView::from(past);
    let is_more = view.subject.is_some() || view.body != view.preview;
    let text = if is_more { view.body } else { None };
    MessageSummary {
        seq: past.seq,
        at: view.time(),
        from: past.from.to_string(),
        kind: past.kind.clone(),
        about: start(&view.about()),
        closed: past.closed.clone(),
        text: text.map(start).filter(|text| !text.is_empty()),
    }
}

/// The beginning of a text.
fn start(text: &str) -> String {
    text.chars().take(limits::CONTEXT_TEXT).collect()
}
