//! The log with its index, for look-ups.

use super::{IndexKey, LogIndex};
use crate::base::error::Result;
use crate::disk::Dir;
use crate::log;
use crate::log::find::RecordFinder;
use crate::log::state::RoomState;
use crate::log::{LogPosition, OpenLines, RawLogLine};
use crate::message::record::Record;
use std::borrow::Cow;
use std::cell::RefCell;

/// The log up to a state, with its index.
pub struct IndexedLog<'a> {
    room: &'a Dir,
    index: Cow<'a, LogIndex>,
    finder: RefCell<RecordFinder>,
    /// The records of the state that are not in the log yet.
    open: Option<&'a OpenLines>,
}

impl<'a> IndexedLog<'a> {
    /// The readable lines of a log that is damaged.
    pub fn of_damaged(room: &'a Dir) -> Result<IndexedLog<'a>> {
        let mut index = LogIndex::default();
        for segment in log::segments(room)? {
            for line in log::read_segment(room, LogPosition::start_of(segment))? {
                if let Ok(record) = line?.record() {
                    index.add(&record, None);
                }
            }
        }
        Ok(IndexedLog {
            room,
            index: Cow::Owned(index),
            finder: RefCell::new(RecordFinder::new(room)),
            open: None,
        })
    }

    /// The room of the log.
    pub fn room(&self) -> &Dir {
        self.room
    }

    /// The lines of the records that may have one of these properties, in the order of the log.
    pub fn lines(&self, keys: &[IndexKey<'_>]) -> Result<Vec<RawLogLine>> {
        let mut lines = Vec::new();
        for seq in self.index.numbers(self.room, keys)? {
            lines.extend(self.line(seq)?);
        }
        Ok(lines)
    }

    /// As [`IndexedLog::lines`], with their records.
    pub fn records(&self, keys: &[IndexKey<'_>]) -> Result<Vec<(LogPosition, Record)>> {
        let lines = self.lines(keys)?.into_iter();
        let records = lines.filter_map(|line| Some((line.at, line.record().ok()?)));
        Ok(records.collect())
    }

    /// The records of the message with this sender and id: usually at most one.
    pub fn records_of(&self, sender: &str, id: &str) -> Result<Vec<(LogPosition, Record)>> {
        let mut records = self.records(&[IndexKey::Name(sender, id)])?;
        records.retain(|(_, record)| {
            let name = record.name();
            name.is_some_and(|name| *name.from == *sender && name.id == id)
        });
        Ok(records)
    }

    /// The number of the first record of this file in `spool/claim`.
    pub fn record_of_claim(&self, claim: &str) -> Result<Option<u64>> {
        let records = self.records(&[IndexKey::Claim(claim)])?;
        let mut named = records
            .iter()
            .filter(|(_, record)| record.claim() == Some(claim));
        Ok(named.next().map(|(_, record)| record.seq))
    }

    /// The line with this number.
    pub fn line(&self, seq: u64) -> Result<Option<RawLogLine>> {
        match self.open.and_then(|open| open.line(seq)) {
            Some(line) => Ok(Some(line)),
            None => self.finder.borrow_mut().line(seq),
        }
    }
}

impl RoomState {
    /// The log up to this state, with its index.
    pub fn indexed<'a>(&'a self, room: &'a Dir) -> IndexedLog<'a> {
        IndexedLog {
            room,
            index: Cow::Borrowed(&self.index),
            finder: RefCell::new(RecordFinder::until(room, self.end)),
            open: None,
        }
    }

    /// As [`RoomState::indexed`], for a state with records that are not in the log yet.
    pub fn indexed_with<'a>(&'a self, room: &'a Dir, open: &'a OpenLines) -> IndexedLog<'a> {
        IndexedLog {
            open: Some(open),
            ..self.indexed(room)
        }
    }
}
