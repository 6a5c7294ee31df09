//! Lets a router process the outboxes, and follows the log until it shows the result. Every command that sends a message and
//! waits for its result does so here.

use super::send::{OutboxMessage, WRITTEN};
use crate::base::clock::Stamp;
use crate::base::error::{Error, Problem, Result};
use crate::base::limits;
use crate::disk::layout;
use crate::message::record::{EventKind, Record};
use crate::query::follow::LogFollower;
use crate::query::status;
use crate::room::outbox::PassRequest;
use crate::room::{Room, inbox};
use crate::router::daemon::{self, PassResult};
use std::time::{Duration, Instant};

/// Processes the outboxes by a pass of this process. If a router runs, asks it for a pass and waits at most `within`.
pub fn route(room: &Room, within: Duration) -> Result<()> {
    if let PassResult::Routed(_) = daemon::pass(room)? {
        return Ok(());
    }
    let is_answered = within.is_zero() || ask_router(room, within);
    if !is_answered && room.running_router()?.is_none() {
        // The router has ended.
        daemon::pass(room)?;
    }
    Ok(())
}

/// As [`route`], for a reader: a process that may not route has nothing to report if no file waits.
pub fn refresh(room: &Room, within: Duration) -> Result<()> {
    let done = route(room, within);
    let may_not_route = matches!(done, Err(Error::Busy { .. })) && room.running_router()?.is_none();
    if may_not_route && room.waiting_files(1)? == 0 {
        Ok(())
    } else {
        done
    }
}

/// As [`route`], but makes no pass if nothing is pending. Listing the outboxes is cheaper than a pass, which reads the state
/// of the whole room.
pub fn route_pending(room: &Room, within: Duration) -> Result<()> {
    if room.running_router()?.is_some() || room.waiting_files(1)? > 0 {
        route(room, within)
    } else {
        Ok(())
    }
}

/// Lets a running router process the outboxes, and makes no pass: for hooks and pages, which others wait for, and for
/// commands that change nothing.
pub fn let_router_process(room: &Room, within: Duration) {
    if !within.is_zero() && room.running_router().is_ok_and(|there| there.is_some()) {
        ask_router(room, within);
    }
}

/// Asks the router that runs for a pass. Returns true if it has answered within this time.
pub fn ask_router(room: &Room, within: Duration) -> bool {
    let Some(request) = PassRequest::place(room) else {
        return false;
    };
    let _ = poll(Instant::now() + within, &mut || {
        Ok(request.is_answered().then_some(()))
    });
    request.is_answered()
}

/// As [`route`], and calls `look` until it finds something. `None` if there is nothing to find after the outboxes were
/// processed, or within this time.
pub fn follow<T>(
    room: &Room,
    within: Duration,
    look: &mut dyn FnMut() -> Result<Option<T>>,
) -> Result<Option<T>> {
    follow_pass(room, daemon::pass(room), within, look)
}

/// As [`follow`], after this process has tried a pass.
pub fn follow_pass<T>(
    room: &Room,
    passed: Result<PassResult>,
    within: Duration,
    look: &mut dyn FnMut() -> Result<Option<T>>,
) -> Result<Option<T>> {
    let request = match &passed {
        Ok(PassResult::RouterRuns(_)) if !within.is_zero() => PassRequest::place(room),
        _ => {
            return look().and_then(|found| {
                found.map_or_else(|| passed.map(|_| None), |found| Ok(Some(found)))
            });
        }
    };
    let deadline = Instant::now() + within;
    let mut next_check = Instant::now() + limits::LOCK_LOOK;
    poll(deadline, &mut || {
        // Before the look, which then sees all that the router did.
        let is_answered = request.as_ref().is_some_and(PassRequest::is_answered);
        if let Some(found) = look()? {
            return Ok(Some(Some(found)));
        }
        if is_answered {
            return Ok(Some(None));
        }
        if next_check <= Instant::now() {
            next_check = Instant::now() + limits::LOCK_LOOK;
            // The router has ended without an answer. A pass of another process also sees the request.
            if room.running_router()?.is_none()
                && matches!(daemon::pass(room)?, PassResult::Routed(_))
            {
                return look().map(Some);
            }
        }
        Ok(None)
    })
    .map(Option::flatten)
}

/// Calls `look` until it finds something or the time is over, at least once. The first pauses are short: a router takes less
/// than a millisecond for a message.
pub(super) fn poll<T>(
    deadline: Instant,
    look: &mut dyn FnMut() -> Result<Option<T>>,
) -> Result<Option<T>> {
    let mut pause = Duration::from_micros(50);
    loop {
        if let Some(found) = look()? {
            return Ok(Some(found));
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(None);
        }
        std::thread::sleep(pause.min(left));
        pause = (pause * 5 / 4).min(limits::ROUTER_LOOK);
    }
}

/// A message that was sent, and the log after it.
pub struct TrackedMessage {
    /// The message.
    pub sent: OutboxMessage,
    /// The number of the record that accepts it.
    pub seq: Option<u64>,
    room: Room,
    follower: LogFollower,
    /// The error of a rejection.
    rejection: fn(Vec<Problem>) -> Error,
}

impl TrackedMessage {
    pub(super) fn new(
        room: &Room,
        sent: OutboxMessage,
        rejection: fn(Vec<Problem>) -> Error,
    ) -> TrackedMessage {
        TrackedMessage {
            rejection,
            follower: LogFollower::of_synced(room, sent.since),
            room: room.clone(),
            sent,
            seq: None,
        }
    }

    /// The new durable records of the log. The sender's own copy of the message counts as read. A rejection of the message is an
    /// error.
    pub(super) fn read(&mut self) -> Result<Vec<Record>> {
        let records = self.follower.read()?;
        for record in records.iter().filter(|record| is_of(record, &self.sent)) {
            mark_copy_seen(&self.room, self.sent.sender(), record);
            if record.kind() == EventKind::Rejected {
                return Err((self.rejection)(record.problems().to_vec()));
            }
            self.seq = Some(record.seq);
        }
        Ok(records)
    }

    /// The record that accepts the message, once it is among the new records.
    pub(super) fn read_own(&mut self) -> Result<Option<Record>> {
        let mut records = self.read()?.into_iter();
        Ok(records.find(|record| self.is_own(record)))
    }

    /// Returns true if this record accepts the message.
    pub(super) fn is_own(&self, record: &Record) -> bool {
        self.seq == Some(record.seq)
    }

    /// The outcome that was found, or the error that the router has not decided yet, with this advice.
    pub(super) fn decided<T>(&self, found: Result<Option<T>>, advice: &str) -> Result<T> {
        let trouble = match found {
            Ok(Some(outcome)) => return Ok(outcome),
            Err(e @ (Error::Rejected(_) | Error::NotGranted(_))) => return Err(e),
            Ok(None) => status::reason_of(&self.room, &self.sent.file),
            Err(e) => Some(e.to_string()),
        };
        let why = trouble.map(|why| format!(": {why}")).unwrap_or_default();
        let written = self.sent.written();
        Err(Error::busy(
            format!("{written}, but the router has not decided yet{why}"),
            format!("{WRITTEN}; {advice}"),
        ))
    }
}

/// Returns true if this record accepts or rejects the message.
pub(super) fn is_of(record: &Record, sent: &OutboxMessage) -> bool {
    let name = sent.file.file_name().and_then(|name| name.to_str());
    let picked_up = record.claim().and_then(layout::read_claim);
    let is_ours =
        picked_up.is_some_and(|one| one.agent == sent.sender() && Some(one.original) == name);
    is_ours && matches!(record.kind(), EventKind::Accepted | EventKind::Rejected)
}

/// Marks the sender's own copy as read, once it is delivered, because the command shows its content. A failure only costs a
/// second notice.
pub(super) fn mark_copy_seen(room: &Room, agent: &str, record: &Record) {
    if record.kind() != EventKind::Rejected
        && !record
            .recipients()
            .any(|(recipient, _)| **recipient == *agent)
    {
        return;
    }
    let deadline = Instant::now() + limits::WRITER_WAIT;
    let delivered = poll(deadline, &mut || {
        Ok((!is_staged(room, record, agent)?).then_some(()))
    });
    let at = Stamp::parse(&record.at).unwrap_or_default();
    if let Err(e) = delivered.and_then(|_| inbox::mark_copy_seen(&room.dir, agent, at)) {
        tracing::warn!("{e}");
    }
}

/// Returns true if the copy of a recipient is not in its inbox yet: a committed copy leaves the staging directory when it is
/// delivered.
pub(super) fn is_staged(room: &Room, record: &Record, agent: &str) -> Result<bool> {
    let number = record
        .claim()
        .and_then(layout::read_claim)
        .map_or(0, |claim| claim.number);
    let stage = room.dir.sub(layout::STAGE)?;
    Ok(stage
        .stat(layout::staged(record.seq, number, agent))?
        .is_some())
}
