//! What came of a message that was just sent: accepted or refused, delivered or still on its way.

use crate::base::error::Result;
use crate::base::limits;
use crate::commands::send::Sent;
use crate::disk::layout;
use crate::log;
use crate::log::Position;
use crate::message::record::{Event, Record};
use crate::room::Room;
use crate::router::watcher::LogWatch;
use std::path::Path;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

/// How it stands with a message.
#[derive(Debug, PartialEq, Eq)]
pub enum Fate {
    /// It was accepted.
    Accepted {
        /// The number of its record.
        seq: u64,
        /// Whose copies stand, or stood, in their inboxes.
        delivered: Vec<String>,
        /// Whose copies could not be delivered yet.
        waiting: Vec<String>,
    },
    /// It was refused; its sender finds the reason in its inbox.
    Refused,
    /// It stands in the outbox, or was just taken from there.
    OnItsWay,
}

/// Looks for the record of what was sent since that place in the committed log, for at most so long.
pub fn fate(room: &Room, since: Position, sent: &Sent, patience: Duration) -> Result<Fate> {
    let deadline = Instant::now() + patience;
    let (tell, told) = channel();
    // Without a watch it is looked again now and then.
    let _watch = (!patience.is_zero()).then(|| {
        LogWatch::new(&room.dir, move || {
            let _ = tell.send(());
        })
    });
    let mut search = Search { since, record: None };
    loop {
        let fate = search.look(room, sent)?;
        let is_final = match &fate {
            Fate::Accepted { waiting, .. } => waiting.is_empty(),
            Fate::Refused => true,
            Fate::OnItsWay => false,
        };
        let left = deadline.saturating_duration_since(Instant::now());
        if is_final || left.is_zero() {
            return Ok(fate);
        }
        let _ = told.recv_timeout(left.min(limits::FOLLOW));
    }
}

struct Search {
    since: Position,
    record: Option<Record>,
}

impl Search {
    fn look(&mut self, room: &Room, sent: &Sent) -> Result<Fate> {
        if self.record.is_none() {
            self.find(room, sent)?;
        }
        let Some(record) = &self.record else { return Ok(Fate::OnItsWay) };
        if record.event == Event::Refused {
            return Ok(Fate::Refused);
        }
        let claim = record.claim.as_deref().and_then(layout::read_claim).map_or(0, |claim| claim.number);
        let stage = room.dir.sub(layout::STAGE)?;
        let (mut delivered, mut waiting) = (Vec::new(), Vec::new());
        for (agent, _) in record.recipients() {
            // A committed copy that still stands there is undelivered; one that is gone was delivered.
            let is_staged = stage.stat(layout::staged(record.seq, claim, agent))?.is_some();
            if is_staged { &mut waiting } else { &mut delivered }.push(agent.to_string());
        }
        Ok(Fate::Accepted { seq: record.seq, delivered, waiting })
    }

    fn find(&mut self, room: &Room, sent: &Sent) -> Result<()> {
        let file = sent.file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let sender = sent.file.parent().and_then(Path::file_name).and_then(|name| name.to_str()).unwrap_or_default();
        let lines = log::lines(&room.dir, self.since)?;
        self.since = lines.end();
        for entry in lines.records() {
            let (_, record) = entry?;
            let claim = record.claim.as_deref().and_then(layout::read_claim);
            let is_ours = claim.is_some_and(|claim| claim.agent == sender && claim.original == file);
            if is_ours && matches!(record.event, Event::Accepted | Event::Refused) {
                self.record = Some(record);
                break;
            }
        }
        Ok(())
    }
}
