//! Sends a message, delivers it immediately, and reports the result.

use super::follow::{self, is_of, is_staged};
use super::send::{MessageDraft, OutboxMessage, PreparedMessage, WRITTEN, prepare};
use crate::base::error::{Error, ErrorClass, Problem, Result};
use crate::base::text::named;
use crate::disk::{Barrier, can_sync_all, layout};
use crate::log::state::unreached_subject;
use crate::message::record::{EventKind, Record};
use crate::query::follow::LogFollower;
use crate::query::identity::AgentIdentity;
use crate::query::reach::{
    AnnouncementTime, ExpectedReception, ExpectedRecipient, reach, sentences,
};
use crate::query::status;
use crate::room::inbox;
use crate::room::spool::Spool;
use crate::room::{LockAttempt, Room, RouterLock, RouterMode};
use crate::router::daemon::{self, PassResult};
use serde::Serialize;
use serde_json::Value;
use std::time::Duration;

const NOT_PROCESSED: &str = "no router has processed it yet";

/// A message that was sent, with the result.
#[derive(Debug, Serialize)]
pub struct SendResult {
    /// The message.
    #[serde(flatten)]
    pub sent: OutboxMessage,
    /// The number of its record. `None` as long as the router has not accepted it, and for a user who may not read the log.
    pub seq: Option<u64>,
    /// Why the router has not accepted it yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pending: Option<String>,
    /// The recipients, and how each will receive it.
    pub recipients: Vec<ExpectedRecipient>,
    /// The addresses that reached no agent, each with a name that may be meant.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unreached: Vec<Problem>,
    /// The failure of this process's pass, if it is not temporary.
    #[serde(skip)]
    pub failure: Option<Error>,
}

impl SendResult {
    /// Returns true if the message has addresses, and no agent received it.
    pub fn has_no_recipient(&self) -> bool {
        self.recipients.is_empty() && !self.unreached.is_empty()
    }

    /// The lines for a person or a model: the recipients, how each will receive the message, and the addresses that reached no
    /// agent.
    pub fn lines(&self) -> Vec<String> {
        self.lines_about_recipients()
            .into_iter()
            .chain(self.lines_about_unreached())
            .collect()
    }

    /// A line for each address that reached no agent.
    pub fn lines_about_unreached(&self) -> impl Iterator<Item = String> {
        lines_about(&self.unreached)
    }

    /// The recipients, and how each will receive the message.
    pub fn lines_about_recipients(&self) -> Vec<String> {
        let to = named(
            &self
                .recipients
                .iter()
                .map(|one| &*one.agent)
                .collect::<Vec<_>>(),
        );
        let to = if !to.is_empty() {
            format!(" to {to}")
        } else if self.has_no_recipient() {
            ", but no agent received it".to_owned()
        } else {
            String::new()
        };
        let first = match (self.seq, &self.pending) {
            (Some(seq), _) => format!("sent #{seq}{to}"),
            (None, None) => format!("sent {}{to}", self.sent.id),
            (None, Some(why)) => format!("pending{to}, as {}: {why}; {WRITTEN}", self.sent.id),
        };
        std::iter::once(first)
            .chain(sentences(&self.recipients))
            .collect()
    }
}

/// Sends a message, and delivers it or waits for the router that runs, at most `within`. `told` is called when the file has
/// its name in the outbox, before it is delivered. An error means that the message was not sent, that the router has rejected
/// it, or that a power cut can lose it. Otherwise it is durable when this returns.
pub fn post(
    room: &Room,
    who: &AgentIdentity,
    draft: MessageDraft,
    within: Duration,
    told: impl FnOnce(&OutboxMessage) -> Result<()>,
) -> Result<SendResult> {
    let (sent, passed) = send_and_route(room, who, draft, told)?;
    delivery_after(room, sent, passed, within)
}

/// As [`post`], for a message that is in the outbox.
pub fn delivery(room: &Room, sent: OutboxMessage, within: Duration) -> Result<SendResult> {
    delivery_after(room, sent, daemon::pass(room), within)
}

/// As [`delivery`], after this process has tried a pass.
pub fn delivery_after(
    room: &Room,
    sent: OutboxMessage,
    passed: Result<PassResult>,
    within: Duration,
) -> Result<SendResult> {
    let outcome = delivered(room, &sent, passed, within)?;
    Ok(posted(room, sent, outcome))
}

/// A line for each address that reached no agent.
pub fn lines_about(unreached: &[Problem]) -> impl Iterator<Item = String> {
    unreached
        .iter()
        .map(|problem| format!("{}; {}", problem.what, problem.fix))
}

/// A message that the router accepted or rejected.
struct ProcessedMessage {
    record: Record,
    /// The notice about addresses that reached no agent, which is in the same batch.
    notice: Option<Record>,
}

/// The router's judgement of a message that was sent, or why there is none yet. `None` if it is hidden from this user.
type RoutingResult = std::result::Result<Option<ProcessedMessage>, Error>;

fn find_judged(records: Vec<Record>, sent: &OutboxMessage) -> Option<ProcessedMessage> {
    let about = unreached_subject(sent.sender(), &sent.id);
    let mut records = records
        .into_iter()
        .skip_while(|record| !is_of(record, sent));
    let record = records.next()?;
    let batch = record.batch;
    let notice = records.find(|other| other.batch == batch && other.about() == Some(&*about));
    Some(ProcessedMessage { record, notice })
}

/// The addresses that reached no agent, according to a notice.
fn unreached_of(notice: &Record) -> Vec<Problem> {
    let message: Value = notice.message_as().unwrap_or_default();
    serde_json::from_value(message["metadata"]["problems"].clone()).unwrap_or_default()
}

/// Waits until the router has accepted the message and delivered all copies that are not blocked.
fn delivered(
    room: &Room,
    sent: &OutboxMessage,
    passed: Result<PassResult>,
    within: Duration,
) -> Result<RoutingResult> {
    let (mut follower, mut judged) = (LogFollower::of_synced(room, sent.since), None);
    let followed = follow::follow_pass(room, passed, within, &mut || {
        if judged.is_none() {
            judged = find_judged(follower.read()?, sent);
        }
        let Some(ProcessedMessage { record, .. }) = &judged else {
            return Ok(None);
        };
        for (agent, _) in record.copies() {
            if is_staged(room, record, agent)? {
                return Ok(None);
            }
        }
        Ok(Some(()))
    });
    match judged {
        Some(ProcessedMessage { record, .. }) if record.kind() == EventKind::Rejected => {
            follow::mark_copy_seen(room, sent.sender(), &record);
            Err(Error::NotGranted(record.problems().to_vec()))
        }
        Some(judged) => {
            if let Some(notice) = &judged.notice {
                follow::mark_copy_seen(room, sent.sender(), notice);
            }
            Ok(Ok(Some(judged)))
        }
        None => Ok(Err(followed.err().unwrap_or_else(|| {
            let what = status::reason_of(room, &sent.file).unwrap_or_else(|| not_processed(room));
            Error::busy(what, WRITTEN)
        }))),
    }
}

fn not_processed(room: &Room) -> String {
    match room.running_router() {
        Ok(Some(router)) => format!(
            "the router, process {}, has not processed it yet",
            router.pid
        ),
        _ => NOT_PROCESSED.into(),
    }
}

/// Returns true if the recipient has taken its delivered copy out of its inbox. It can do that before the result is reported to
/// the sender.
fn is_taken(room: &Room, record: &Record, agent: &str) -> Result<bool> {
    let inbox = room.dir.sub(layout::inbox(agent))?;
    Ok(inbox.stat(inbox::copy_name(record))?.is_none())
}

fn posted(room: &Room, sent: OutboxMessage, outcome: RoutingResult) -> SendResult {
    let mut recipients = match &outcome {
        Ok(Some(ProcessedMessage { record, .. })) => reach(
            room,
            sent.sender(),
            &AnnouncementTime::of_record(record),
            record.recipients().map(|(agent, via)| (agent.clone(), via)),
        ),
        _ => reach(
            room,
            sent.sender(),
            &sent.announcement,
            sent.recipients
                .iter()
                .map(|one| (one.agent.clone(), one.via.as_str())),
        ),
    };
    if let Ok(Some(ProcessedMessage { record, .. })) = &outcome {
        for one in &mut recipients {
            if is_staged(room, record, &one.agent).unwrap_or_default() {
                one.reach = Some(ExpectedReception::Blocked);
            } else if one
                .reach
                .as_ref()
                .is_some_and(|reach| *reach != ExpectedReception::Link)
                && is_taken(room, record, &one.agent).unwrap_or_default()
            {
                one.reach = Some(ExpectedReception::Seen);
            }
        }
    }
    let (seq, unreached, failure) = match outcome {
        Ok(Some(ProcessedMessage { record, notice })) => (
            Some(record.seq),
            notice.as_ref().map(unreached_of).unwrap_or_default(),
            None,
        ),
        hidden_or_failed => (None, sent.unreached.clone(), hidden_or_failed.err()),
    };
    let pending = failure.as_ref().map(|e| match e {
        Error::Busy { what, fix } if fix == WRITTEN => what.clone(),
        e => e.to_string(),
    });
    let failure = failure.filter(|e| e.class() != ErrorClass::Temporary);
    SendResult {
        sent,
        seq,
        pending,
        recipients,
        unreached,
        failure,
    }
}

/// Sends a message, and delivers it by a pass of this process if no router runs.
fn send_and_route(
    room: &Room,
    who: &AgentIdentity,
    draft: MessageDraft,
    told: impl FnOnce(&OutboxMessage) -> Result<()>,
) -> Result<(OutboxMessage, Result<PassResult>)> {
    let message = prepare(room, who, draft)?;
    if can_sync_all()
        && let Ok(LockAttempt::Ours(lock)) = room.lock(RouterMode::Pass, Duration::ZERO)
    {
        return send_in_pass(room, lock, message, told);
    }
    let sent = message.put(room)?;
    let said = told(&sent);
    let routed = daemon::pass(room);
    said.map(|()| (sent, routed))
}

/// Sends a message in this process's own pass. The pass begins with a sync of everything, so the message needs none of its own.
fn send_in_pass(
    room: &Room,
    lock: RouterLock,
    message: PreparedMessage,
    told: impl FnOnce(&OutboxMessage) -> Result<()>,
) -> Result<(OutboxMessage, Result<PassResult>)> {
    let (mut written, mut told, mut said) = (Some(message.write(room)?), Some(told), None);
    let routed = daemon::pass_by(room, lock, || {
        if let (Some(written), Some(told)) = (written.take(), told.take()) {
            written.place(room, &message)?;
            said = Some(told(&message.sent));
        }
        Ok(())
    });
    match (written.zip(told), said) {
        // The pass failed before its sync was done.
        (Some((written, told)), _) => {
            let sent = written.put(room, message)?;
            told(&sent).map(|()| (sent, routed))
        }
        // The message could not get its name.
        (None, None) => routed.map(|passed| (message.sent, Ok(passed))),
        (None, Some(said)) => {
            // Only a pass that has committed the message has made its name durable.
            if routed.is_err() || !is_routed(room, &message.sent).unwrap_or_default() {
                sync_everything(room).map_err(|e| message.sent.written_but(&e))?;
            }
            said.map(|()| (message.sent, routed))
        }
    }
}

/// Returns true if the message has left its outbox and the spool.
fn is_routed(room: &Room, sent: &OutboxMessage) -> Result<bool> {
    let name = layout::message_file(&sent.id);
    let is_claimed = Spool::open(&room.dir)?
        .claimed()?
        .iter()
        .any(|claim| claim.ends_with(&name));
    Ok(!is_claimed && room.dir.stat(&sent.file)?.is_none())
}

fn sync_everything(room: &Room) -> Result<()> {
    let mut barrier = Barrier::new(room.dir.clone());
    barrier.everything();
    barrier.pass()
}
