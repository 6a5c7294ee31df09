//! The outcome of a message that was just sent: accepted or rejected, delivered or pending.

use crate::base::error::Result;
use crate::base::limits;
use crate::disk::layout;
use crate::log;
use crate::log::Position;
use crate::message::record::{Event, Record};
use crate::room::Room;
use crate::router::watcher::LogWatch;
use std::path::Path;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

/// What happened to a message.
#[derive(Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was accepted.
    Accepted {
        /// The number of its record.
        seq: u64,
        /// Agents whose copies were delivered.
        delivered: Vec<String>,
        /// Agents whose copies are not delivered yet.
        waiting: Vec<String>,
    },
    /// It was rejected; the sender finds the reason in its inbox.
    Rejected,
    /// It is still in the outbox, or the router has just picked it up.
    Pending,
}

/// Searches the committed log, from `since` on, for the record of a message that was sent as `file`. Waits for at most
/// `timeout`.
pub fn outcome(room: &Room, since: Position, file: &Path, timeout: Duration) -> Result<Outcome> {
    let deadline = Instant::now() + timeout;
    let (notify, notified) = channel();
    // If the watch fails, the loop polls.
    let _watch = (!timeout.is_zero()).then(|| {
        LogWatch::new(&room.dir, move || {
            let _ = notify.send(());
        })
    });
    let mut search = Search { since, record: None };
    loop {
        let outcome = search.look(room, file)?;
        let is_final = match &outcome {
            Outcome::Accepted { waiting, .. } => waiting.is_empty(),
            Outcome::Rejected => true,
            Outcome::Pending => false,
        };
        let left = deadline.saturating_duration_since(Instant::now());
        if is_final || left.is_zero() {
            return Ok(outcome);
        }
        let _ = notified.recv_timeout(left.min(limits::FOLLOW));
    }
}

struct Search {
    since: Position,
    record: Option<Record>,
}

impl Search {
    fn look(&mut self, room: &Room, file: &Path) -> Result<Outcome> {
        if self.record.is_none() {
            self.find(room, file)?;
        }
        let Some(record) = &self.record else { return Ok(Outcome::Pending) };
        if record.event == Event::Rejected {
            return Ok(Outcome::Rejected);
        }
        let claim = record.claim.as_deref().and_then(layout::read_claim).map_or(0, |claim| claim.number);
        let stage = room.dir.sub(layout::STAGE)?;
        let (mut delivered, mut waiting) = (Vec::new(), Vec::new());
        for (agent, _) in record.recipients() {
            // A committed copy leaves the staging directory when it is delivered.
            let is_staged = stage.stat(layout::staged(record.seq, claim, agent))?.is_some();
            if is_staged { &mut waiting } else { &mut delivered }.push(agent.to_string());
        }
        Ok(Outcome::Accepted { seq: record.seq, delivered, waiting })
    }

    fn find(&mut self, room: &Room, file: &Path) -> Result<()> {
        let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let sender = file.parent().and_then(Path::file_name).and_then(|name| name.to_str()).unwrap_or_default();
        let lines = log::lines(&room.dir, self.since)?;
        self.since = lines.end();
        for entry in lines.records() {
            let (_, record) = entry?;
            let claim = record.claim.as_deref().and_then(layout::read_claim);
            let is_ours = claim.is_some_and(|claim| claim.agent == sender && claim.original == name);
            if is_ours && matches!(record.event, Event::Accepted | Event::Rejected) {
                self.record = Some(record);
                break;
            }
        }
        Ok(())
    }
}
