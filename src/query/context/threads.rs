//! The open threads of an agent, and the newest decisions, from the end of the log.

use crate::base::error::Result;
use crate::base::limits;
use crate::base::text::to_the_second;
use crate::log;
use crate::log::lookup::{LoggedMessage, Viewer};
use crate::message::claim;
use crate::message::decision::{DENIED, Step};
use crate::message::id;
use crate::message::record::{Act, Record};
use crate::message::reference::bare;
use crate::query::view::View;
use crate::room::Room;
use crate::room::resolve::Via;
use memchr::memmem;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

/// An open thread: nobody closed or completed it, and it is more than one announcement.
#[derive(Debug, Clone, Serialize)]
pub struct Thread {
    /// Its name.
    pub thread_id: String,
    /// Does another agent expect an answer from this one?
    pub awaits_answer: bool,
    /// The number of its messages in the end of the log that was read.
    pub total: usize,
    /// The last messages, newest first.
    pub messages: Vec<Said>,
}

/// A message in few words.
#[derive(Debug, Clone, Serialize)]
pub struct Said {
    /// Its record number.
    pub seq: u64,
    /// The accept time.
    pub at: String,
    /// The sender.
    pub from: String,
    /// The type.
    #[serde(rename = "type")]
    pub kind: String,
    /// What it changed about claims, and the subject or the first line.
    pub about: String,
    /// The beginning of the body, if there is a subject too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// Types that end a thread.
const LAST: [&str; 3] = ["completed", "agent_complete", "decision"];
/// Types that are no part of a conversation.
const SILENT: [&str; 7] = ["ack", "subscribe", "unsubscribe", "claim", "release", "accept", "decline"];
/// Addresses of groups: one message to them does not make a thread.
const GROUPS: [Via; 6] = [Via::All, Via::Role, Via::Pattern, Via::Topic, Via::Capability, Via::Mention];

/// A thread while it is collected.
#[derive(Default)]
struct Collected {
    name: String,
    messages: Vec<LoggedMessage>,
    is_addressed: bool,
}

/// The open threads, those that await an answer first and then the newest first, and the newest decisions.
pub(super) fn of(room: &Room, viewer: &Viewer) -> Result<(Vec<Thread>, Vec<Said>)> {
    let mut threads: Vec<Collected> = Vec::new();
    let (mut places, mut closed, mut decisions) = (HashMap::new(), HashSet::new(), Vec::new());
    let mut asked = HashMap::new();
    let names: Vec<String> = viewer.names().iter().map(|name| format!("\"{name}\"")).collect();
    let mentions: Vec<memmem::Finder<'_>> = names.iter().map(|name| memmem::Finder::new(name.as_bytes())).collect();
    let from = log::before_end(&room.dir, limits::CONTEXT_LOG)?;
    for line in log::lines(&room.dir, from)? {
        let line = line?;
        if mentions.iter().all(|name| name.find(&line.bytes).is_none()) {
            continue;
        }
        let Ok(record) = serde_json::from_slice::<Record>(&line.bytes) else { continue };
        if let Some(Act::Ack(receipts)) = &record.act {
            let closing = receipts.iter().filter(|receipt| receipt.status.is_closed());
            closed.extend(closing.flat_map(|receipt| receipt.seqs.iter().copied()));
        }
        if let Some(decided) = decided(&record, &mut asked) {
            closed.extend(asked.get(&decided.approval).map(|(seq, _)| *seq));
            decisions.push(decided.said);
        }
        let is_formal = record.decision.is_some();
        let is_addressed =
            record.to.iter().any(|group| Via::parse(&group.via).is_none_or(|via| !GROUPS.contains(&via)));
        let Some(past) = LoggedMessage::of(record).filter(|past| is_said(past, viewer)) else { continue };
        if past.kind == "decision" && !is_formal {
            decisions.push(said(&past));
        }
        let at = place(&past, &mut threads, &mut places);
        let thread = &mut threads[at];
        thread.is_addressed |= is_addressed || past.requires_response;
        thread.messages.push(past);
    }
    let is_open = |thread: &Collected| {
        let is_over = |past: &LoggedMessage| closed.contains(&past.seq) || LAST.contains(&&*past.kind);
        (thread.is_addressed || thread.messages.len() > 1) && !thread.messages.last().is_none_or(is_over)
    };
    threads.retain(is_open);
    threads.sort_by_key(|thread| Reverse((thread.awaits(viewer), thread.messages.last().map(|past| past.seq))));
    threads.truncate(limits::CONTEXT_THREADS);
    decisions.reverse();
    decisions.truncate(limits::CONTEXT_DECISIONS);
    Ok((threads.into_iter().map(|thread| thread.shown(viewer)).collect(), decisions))
}

/// A closed approval.
struct Decision {
    approval: String,
    said: Said,
}

/// The decision in a record. `asked` has the record and the question of each approval so far.
fn decided(record: &Record, asked: &mut HashMap<String, (u64, String)>) -> Option<Decision> {
    let from = record.from.as_deref().unwrap_or(id::MAILBAG);
    let (approval, option) = match record.decision.as_ref()? {
        Step::Ask(terms) => {
            asked.insert(claim::name(from, record.id.as_deref()?), (record.seq, terms.title.clone()));
            return None;
        }
        Step::Escalate { .. } | Step::Pin { .. } | Step::Propose { .. } | Step::Object { .. } => return None,
        // The decision itself is a message of the thread.
        Step::Settle { .. } | Step::Dispute { .. } => return None,
        Step::Decide { approval, option, .. } => (approval, option.as_str()),
        Step::Expire { approval, option } => (approval, option.as_deref().unwrap_or(DENIED)),
    };
    let about = asked.get(approval).map_or(approval.as_str(), |(_, title)| title);
    let said = Said {
        seq: record.seq,
        at: to_the_second(&record.at),
        from: from.to_owned(),
        kind: "decision".to_owned(),
        about: start(about),
        text: Some(start(option)),
    };
    Some(Decision { approval: approval.clone(), said })
}

fn is_said(past: &LoggedMessage, viewer: &Viewer) -> bool {
    viewer.is_own(past) && &*past.from != id::MAILBAG && !SILENT.contains(&&*past.kind) && !past.kind.contains('.')
}

/// The position of a message's thread: that of the message that it answers, or the one with its thread id.
fn place(past: &LoggedMessage, threads: &mut Vec<Collected>, places: &mut HashMap<String, usize>) -> usize {
    let answered = past.in_reply_to.as_deref().map(bare).and_then(|id| places.get(id)).copied();
    let name = past.thread_id.clone().unwrap_or_else(|| past.id.clone());
    let at = answered.or_else(|| places.get(&name).copied()).unwrap_or_else(|| {
        threads.push(Collected { name: name.clone(), ..Collected::default() });
        threads.len() - 1
    });
    places.insert(name, at);
    places.insert(past.id.clone(), at);
    places.insert(past.seq.to_string(), at);
    at
}

impl Collected {
    /// Was an answer asked of the agent that it has not given since?
    fn awaits(&self, viewer: &Viewer) -> bool {
        let since = self.messages.iter().rev().take_while(|past| !viewer.sent(past));
        since.into_iter().any(|past| past.requires_response || past.kind == "approval")
    }

    fn shown(self, viewer: &Viewer) -> Thread {
        let last = self.messages.iter().rev().take(limits::CONTEXT_MESSAGES);
        Thread {
            awaits_answer: self.awaits(viewer),
            total: self.messages.len(),
            messages: last.map(said).collect(),
            thread_id: self.name,
        }
    }
}

fn said(past: &LoggedMessage) -> Said {
    let view = View::from(past);
    let text = view.body.filter(|_| view.subject.is_some() || view.body != view.preview);
    Said {
        seq: past.seq,
        at: view.time(),
        from: past.from.to_string(),
        kind: past.kind.clone(),
        about: start(&view.about()),
        text: text.map(start).filter(|text| !text.is_empty()),
    }
}

/// The beginning of a text.
fn start(text: &str) -> String {
    text.chars().take(limits::CONTEXT_TEXT).collect()
}
