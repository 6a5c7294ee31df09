//! The records of a room's log.

use crate::world::{World, lossy, parse_json};
use serde_json::Value;
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

/// A line of the log as one flat object: the parts of its event stand beside its header, and `event` is a word.
pub(crate) fn flat_record(line: &str) -> Value {
    let mut flat = parse_json(line);
    let fields = flat.as_object_mut().expect("an object");
    let Some(Value::Object(event)) = fields.remove("event") else {
        panic!("no event in {line}");
    };
    let (word, parts) = event.into_iter().next().expect("an event");
    fields.insert("event".into(), word.into());
    for (name, part) in parts.as_object().into_iter().flatten() {
        match part {
            Value::Object(part) if ["origin", "name", "times"].contains(&name.as_str()) => {
                fields.extend(part.clone());
            }
            part => {
                fields.insert(name.clone(), part.clone());
            }
        }
    }
    flat
}

impl World {
    /// The committed records with this event, or all, as lines.
    pub(crate) fn log(&self, event: &str) -> String {
        log_of(&self.room(""), event)
    }
}
