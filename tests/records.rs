//! The records of a room's log.

use crate::world::{World, lossy};
use std::path::Path;

/// The committed records of a room with this event, or all, as lines.
pub(crate) fn log_of(room: &Path, event: &str) -> String {
    let room = mailbag::room::Room::open(room).expect("a room");
    let lines = mailbag::log::lines(&room.dir, mailbag::log::START).expect("a log");
    let records = lines.records().map(|record| record.expect("a record"));
    let found = records
        .filter(|(_, record)| event.is_empty() || record.kind().as_str() == event)
        .map(|(line, _)| lossy(&line.bytes));
    found.collect()
}

impl World {
    /// The committed records with this event, or all, as lines.
    pub(crate) fn log(&self, event: &str) -> String {
        log_of(&self.room(""), event)
    }
}
