//! The log as people read it.

use crate::clock::Stamp;
use crate::error::{Error, Result};
use crate::find;
use crate::log::{self, Line};
use crate::record::{Event, Record};
use crate::room::Room;

/// Which records to show.
#[derive(Debug, Default)]
pub struct Filter {
    /// Those accepted from then on.
    pub since: Option<Stamp>,
    /// Those of this event.
    pub event: Option<Event>,
}

/// A record, and its line as it stands in the log.
pub struct Entry {
    /// What the line says.
    pub record: Record,
    /// The line, newline included.
    pub line: Line,
}

/// The records that fit, in order. A last line that is still being written ends them.
pub fn entries(room: &Room, filter: Filter) -> Result<impl Iterator<Item = Result<Entry>>> {
    let start = match filter.since {
        Some(since) => find::since(&room.dir, since)?,
        None => log::START,
    };
    let lines = log::read(&room.dir, start)?;
    let whole = lines.take_while(|line| line.as_ref().map_or(true, |line| line.bytes.ends_with(b"\n")));
    let dir = room.dir.clone();
    let entries = whole.map(move |line| {
        let line = line?;
        match serde_json::from_slice::<Record>(&line.bytes) {
            Ok(record) => Ok(Entry { record, line }),
            Err(e) => Err(Error::State {
                path: log::path(&dir, line.at.segment),
                line: None,
                what: format!("the line at byte {} is not a record: {e}", line.at.offset),
                cure: "run `mailbag log verify`".into(),
            }),
        }
    });
    Ok(entries.filter(move |entry| entry.as_ref().map_or(true, |entry| filter.fits(&entry.record))))
}

/// The event of that name.
pub fn event(word: &str) -> Option<Event> {
    EVENTS.into_iter().find(|event| event.as_str() == word)
}

/// Every event that a record may have.
pub const EVENTS: [Event; 7] =
    [Event::Room, Event::Accepted, Event::Refused, Event::Duplicate, Event::Notice, Event::Rungs, Event::Settled];

impl Filter {
    fn fits(&self, record: &Record) -> bool {
        self.event.is_none_or(|event| record.event == event) && self.since.is_none_or(|since| record.stamp() >= since)
    }
}
