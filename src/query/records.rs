//! Reads log records for display.

use crate::base::clock::Stamp;
use crate::base::error::Result;
use crate::log;
use crate::log::{RawLogLine, find};
use crate::message::record::{EventKind, Record};
use crate::query::newest::near_end;
use crate::room::Room;
use std::sync::Arc;

/// A record filter.
#[derive(Debug, Default)]
pub struct RecordFilter {
    /// Accepted at this time or later.
    pub since: Option<Stamp>,
    /// With this event, or with facts of this event attached to another record.
    pub event: Option<EventKind>,
}

/// A record and its line in the log.
pub struct LoggedRecord {
    /// The parsed record.
    pub record: Record,
    /// The raw line, newline included.
    pub line: RawLogLine,
}

/// The committed records that match, in log order; with `last`, only the newest `last`.
pub fn entries(
    room: &Room,
    filter: RecordFilter,
    last: Option<usize>,
) -> Result<Box<dyn Iterator<Item = Result<LoggedRecord>>>> {
    let start = match filter.since {
        Some(since) => find::since(&room.dir, since)?,
        None => log::START,
    };
    let filter = Arc::new(filter);
    let fitting = |from, to| {
        let filter = filter.clone();
        let entries = log::lines(&room.dir, from)?
            .records()
            .map(|entry| entry.map(|(line, record)| LoggedRecord { record, line }));
        let entries = entries
            .take_while(move |entry| entry.as_ref().map_or(true, |entry| entry.line.at < to));
        Ok(entries.filter(move |entry| {
            entry
                .as_ref()
                .map_or(true, |entry| filter.fits(&entry.record))
        }))
    };
    Ok(match last {
        Some(last) => Box::new(
            near_end(&room.dir, start, None, last, fitting)?
                .into_iter()
                .map(Ok),
        ),
        None => Box::new(fitting(start, log::committed(&room.dir)?)?),
    })
}

/// The event with this name.
pub fn event(word: &str) -> Option<EventKind> {
    EVENTS.into_iter().find(|event| event.as_str() == word)
}

/// All events.
pub const EVENTS: [EventKind; 8] = [
    EventKind::Room,
    EventKind::Accepted,
    EventKind::Rejected,
    EventKind::Duplicate,
    EventKind::Notice,
    EventKind::Receipts,
    EventKind::Settled,
    EventKind::Gap,
];

impl RecordFilter {
    fn fits(&self, record: &Record) -> bool {
        let tells = |event| match event {
            EventKind::Receipts => !record.receipts.is_empty(),
            EventKind::Settled => !record.settled.is_empty(),
            event => record.kind() == event,
        };
        self.event.is_none_or(tells)
            && self
                .since
                .is_none_or(|since| record.time(record.stamp()) >= since)
    }
}
