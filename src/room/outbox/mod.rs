//! The outboxes: pending files, the order of senders, when a file is ready, and requests for a pass.

mod content;
mod lines;
mod look;
mod names;
mod unread;
mod unready_files;
mod request;
mod strays;

pub use content::{
    FileCompleteness, FileContent, FileReadiness, MessageLine, PickupConditions, ReadyFile,
};
pub use lines::read as read_lines;
pub use look::look;
pub use request::PassRequest;
pub use strays::{fix_beside, stray};
pub use unread::{UnreadOutbox, is_free_name};
pub use unready_files::UnreadyFiles;

use crate::base::error::Result;
use crate::base::limits;
use crate::disk::{Dir, layout};
use names::OutboxNames;
use std::collections::{BTreeMap, VecDeque};
use std::ffi::OsString;
use std::sync::Arc;

/// All outboxes of the room, and the order of the next turns.
#[derive(Default)]
pub struct Outboxes {
    boxes: BTreeMap<Arc<str>, Outbox>,
    turns: VecDeque<Arc<str>>,
}

#[derive(Default)]
struct Outbox {
    names: OutboxNames,
    in_line: bool,
}

impl Outboxes {
    /// Notes that a file may have arrived in this outbox.
    pub fn hint(&mut self, agent: &Arc<str>, name: OsString) {
        self.outbox(agent).names.arrived(name);
        self.line_up(agent);
    }

    /// Requests a full scan of this outbox.
    pub fn scan(&mut self, agent: &Arc<str>) {
        self.outbox(agent).names.want_scan();
        self.line_up(agent);
    }

    /// Forgets an outbox.
    pub fn forget(&mut self, agent: &str) {
        if self.boxes.remove(agent).is_some() {
            self.turns.retain(|waiting| &**waiting != agent);
        }
    }

    /// Puts this sender at the end of the queue.
    pub fn line_up(&mut self, agent: &Arc<str>) {
        if !std::mem::replace(&mut self.outbox(agent).in_line, true) {
            self.turns.push_back(agent.clone());
        }
    }

    /// Puts this sender at the front of the queue.
    pub fn line_up_first(&mut self, agent: &Arc<str>) {
        if !std::mem::replace(&mut self.outbox(agent).in_line, true) {
            self.turns.push_front(agent.clone());
        }
    }

    /// The number of senders in the queue.
    pub fn in_line(&self) -> usize {
        self.turns.len()
    }

    /// Returns true if this sender is in the queue.
    pub fn is_in_line(&self, agent: &str) -> bool {
        self.boxes.get(agent).is_some_and(|outbox| outbox.in_line)
    }

    /// Returns true if the queue is empty.
    pub fn is_idle(&self) -> bool {
        self.turns.is_empty()
    }

    /// The next turn, with some names of the outbox. `None` if the queue is empty. Names are in the order of their
    /// events. After a scan they are sorted.
    pub fn next_turn(&mut self, room: &Dir) -> Option<(Arc<str>, Result<OutboxFiles>)> {
        let agent = self.turns.pop_front()?;
        let outbox = self.boxes.get_mut(&agent)?;
        outbox.in_line = false;
        let turn = room.sub(layout::outbox(&agent)).and_then(|dir| {
            outbox.names.fill(&dir)?;
            let names = outbox.names.take(limits::TURN);
            Ok(OutboxFiles { dir, names })
        });
        if turn.is_ok() && !outbox.names.is_done() {
            self.line_up(&agent);
        }
        Some((agent, turn))
    }

    /// Returns names that were not examined. They come first in the next turn of their outbox.
    pub fn give_back(&mut self, agent: &Arc<str>, names: Vec<OsString>) {
        let outbox = self.outbox(agent);
        outbox.names.put_back(names);
        if !outbox.names.is_empty() {
            self.line_up(agent);
        }
    }

    /// Returns names that are not ready. They come first when the outbox is examined again after an event or a scan.
    pub fn rest(&mut self, agent: &Arc<str>, names: Vec<OsString>) {
        let outbox = self.boxes.entry(agent.clone()).or_default();
        outbox.names.put_back(names);
        if std::mem::take(&mut outbox.in_line) {
            self.turns.retain(|waiting| waiting != agent);
        }
    }

    /// Takes the requests for a pass that scans have found: their outboxes and names.
    pub fn take_requests(&mut self) -> Vec<(Arc<str>, OsString)> {
        let mut requests = Vec::new();
        for (agent, outbox) in &mut self.boxes {
            requests.extend(
                outbox
                    .names
                    .take_requests()
                    .into_iter()
                    .map(|name| (agent.clone(), name)),
            );
        }
        requests
    }

    /// The outboxes that contain names the router never takes.
    pub fn with_strays(&self) -> impl Iterator<Item = &Arc<str>> {
        self.boxes
            .iter()
            .filter(|(_, outbox)| !outbox.names.strays().is_empty())
            .map(|(agent, _)| agent)
    }

    /// Those names in this outbox.
    pub fn strays(&self, agent: &str) -> Vec<OsString> {
        self.boxes
            .get(agent)
            .map(|outbox| outbox.names.strays().to_vec())
            .unwrap_or_default()
    }

    fn outbox(&mut self, agent: &Arc<str>) -> &mut Outbox {
        self.boxes.entry(agent.clone()).or_default()
    }
}

/// The files of one turn.
pub struct OutboxFiles {
    /// The outbox directory.
    pub dir: Dir,
    /// Names in it that can be messages.
    pub names: Vec<OsString>,
}
