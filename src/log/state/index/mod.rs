//! The index: the numbers of the records that name a message or a thread.
//!
//! An entry is a hint: the line decides. The file has the entries up to a record, and the state has the entries of the
//! records after it. Entries follow from the log, so a file that is missing, damaged, older than the state, or of another
//! log is made again.

mod index_file;
mod index_keys;
mod indexed_log;
mod older_entries;

pub use index_keys::{IndexKey, undelivered};
pub use indexed_log::IndexedLog;

use super::RoomState;
use crate::base::error::{Error, ErrorContext, Result};
use crate::base::packed_numbers::PackedNumbers;
use crate::base::test_sizes;
use crate::disk::{Dir, layout};
use crate::log::{LogPosition, LogTip};
use crate::message::record::{MessageHead, Record};
use index_file::{IndexEntry, IndexFile};
use index_keys::entries_of;
use older_entries::{OlderEntries, open_fitting};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

/// The part of the index in a state: the entries of the newest records, and the file with the others.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(from = "SavedIndex", into = "SavedIndex")]
pub struct LogIndex {
    /// The last record that the file must cover.
    covers: LogTip,
    /// The entries of the records after it.
    recent: BTreeSet<IndexEntry>,
    older: OnceLock<Arc<OlderEntries>>,
}

/// The index in a snapshot.
#[derive(Serialize, Deserialize)]
struct SavedIndex {
    covers: LogTip,
    recent: PackedNumbers,
}

impl From<SavedIndex> for LogIndex {
    fn from(saved: SavedIndex) -> LogIndex {
        let (pairs, _) = saved.recent.0.as_chunks::<2>();
        LogIndex {
            covers: saved.covers,
            recent: pairs.iter().map(|&[key, seq]| (key, seq)).collect(),
            older: OnceLock::new(),
        }
    }
}

impl From<LogIndex> for SavedIndex {
    fn from(index: LogIndex) -> SavedIndex {
        let recent = index.recent.iter().flat_map(|&(key, seq)| [key, seq]);
        SavedIndex {
            covers: index.covers,
            recent: PackedNumbers(recent.collect()),
        }
    }
}

impl Default for LogIndex {
    fn default() -> LogIndex {
        LogIndex {
            covers: LogTip::NONE,
            recent: BTreeSet::new(),
            older: OnceLock::new(),
        }
    }
}

impl LogIndex {
    /// The index to begin with when the log is read from its start: the file, if it is of this log.
    pub(super) fn begin(room: &Dir) -> LogIndex {
        let mut index = LogIndex::default();
        index.adopt(room);
        index
    }

    /// Uses the file if it covers more of the log, and removes its entries from the state.
    fn adopt(&mut self, room: &Dir) {
        if let Some(file) = open_fitting(room, self.covers.seq + 1) {
            self.covers = file.covers();
            self.recent.retain(|(_, seq)| *seq > self.covers.seq);
            let older = OlderEntries::new(room, self.covers, Some(file));
            self.older = OnceLock::from(Arc::new(older));
        }
    }

    /// Adds a record. `head` is the head of its message, if it was read before.
    pub(super) fn add(&mut self, record: &Record, head: Option<&MessageHead<'_>>) {
        if record.seq > self.covers.seq {
            self.recent.extend(entries_of(record, head));
        }
    }

    /// Removes the entries that the router has written into the file since the state was read.
    pub(super) fn shrink(&mut self, room: &Dir) {
        if self.recent.len() >= test_sizes::recent_entries() {
            self.adopt(room);
        }
    }

    /// Returns true if the file should be written again. `end` is the end of the log.
    pub fn is_due(&self, end: LogPosition) -> bool {
        let is_rebuilt = |older: &Arc<OlderEntries>| older.rebuilt.get().is_some();
        self.covers.end.segment < end.segment
            || self.recent.len() >= test_sizes::recent_entries()
            || self.older.get().is_some_and(is_rebuilt)
    }

    /// A lower bound of its size in a snapshot.
    pub(in crate::log) fn saved_bytes(&self) -> u64 {
        self.recent.len() as u64 * 21
    }

    /// The numbers of the records that may have one of these properties, in order.
    fn numbers(&self, room: &Dir, keys: &[IndexKey<'_>]) -> Result<BTreeSet<u64>> {
        let mut numbers = BTreeSet::new();
        for key in keys {
            let hashes = key.hashes();
            let recent = (*hashes.start(), 0)..=(*hashes.end(), u64::MAX);
            numbers.extend(self.recent.range(recent).map(|(_, seq)| *seq));
            if self.covers.seq > 0 {
                numbers.extend(self.older(room).find(&hashes)?);
            }
        }
        Ok(numbers)
    }

    /// The entries of the file, which is opened when it is first needed.
    fn older(&self, room: &Dir) -> &Arc<OlderEntries> {
        self.older
            .get_or_init(|| Arc::new(OlderEntries::open(room, self.covers)))
    }

    /// Writes the file with all entries. `tip` is the end of the log.
    fn write(&mut self, room: &Dir, draft: &str, tip: LogTip) -> Result<()> {
        let file = if self.covers.seq == 0 {
            let recent = self.recent.iter().copied().map(Ok);
            IndexFile::write(room, draft, tip, self.recent.len() as u64, recent)?
        } else {
            self.older(room).write_with(&self.recent, draft, tip)?
        };
        let older = OlderEntries::new(room, tip, Some(file));
        *self = LogIndex {
            covers: tip,
            recent: BTreeSet::new(),
            older: OnceLock::from(Arc::new(older)),
        };
        Ok(())
    }
}

impl RoomState {
    /// Opens the index for a router, and makes it again from the log if it does not fit. No message is judged before that.
    pub fn open_index(&mut self, room: &Dir) -> Result<()> {
        // A killed router can leave it.
        room.remove(layout::INDEX_DRAFT)?;
        self.fit_index(room)
    }

    /// Reads the entries from the log if the file does not fit.
    pub(in crate::log) fn fit_index(&self, room: &Dir) -> Result<()> {
        if self.index.covers.seq > 0 && self.index.older(room).file.is_none() {
            self.index.older(room).rebuild()?;
        }
        Ok(())
    }

    /// Writes the index if it is due. A failure only makes readers slower.
    pub(in crate::log) fn write_index(&mut self, room: &Dir, draft: &str) {
        let tip = self.tip();
        // A reader removes a damaged file.
        let is_gone = self.index.covers.seq > 0 && matches!(room.stat(layout::INDEX), Ok(None));
        if (is_gone || self.index.is_due(tip.end))
            && let Err(e) = self.index.write(room, draft, tip)
        {
            tracing::warn!("{e}; the index is written again later");
        }
    }

    /// Makes the index durable.
    pub fn sync_index(&self, room: &Dir) -> Result<()> {
        let path = || room.at(layout::INDEX);
        if self.index.covers.seq == 0 {
            return Ok(());
        }
        match self.index.older(room).file() {
            Some(file) => file.sync().doing("sync", path()),
            None => Err(Error::state(
                path(),
                "does not fit the log, and could not be written",
                "run `mailbag doctor`, then archive again; nothing was changed",
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::{Log, RawLogLine};
    use crate::message::record::{Event, MessageName, RouterNotice};
    use serde_json::value::RawValue;

    /// A log with a notice for each id, and the state after it.
    fn room_with(ids: &[&str]) -> (tempfile::TempDir, Dir, RoomState) {
        let temporary = tempfile::tempdir().expect("a directory");
        let room = Dir::open(temporary.path()).expect("it opens");
        let mut log = Log::open(&room, LogTip::NONE).expect("it opens");
        let mut state = RoomState::default();
        for id in ids {
            let mut record = Record::new(Event::Notice(Box::new(RouterNotice {
                name: MessageName {
                    from: "a".into(),
                    id: (*id).into(),
                    digest: [0; 32],
                },
                about: String::new(),
                to: Vec::new(),
                message: RawValue::from_string("{}".into()).expect("JSON"),
            })));
            record.at = "2026-01-01T00:00:00.000000Z".into();
            (record.seq, record.batch) = (state.seq + 1, state.batch + 1);
            (record.prev, record.count) = (state.prev, Some(1));
            let bytes = record.line();
            log.append(&bytes).expect("it is appended");
            let line = RawLogLine {
                at: state.end,
                bytes,
            };
            let tip = LogTip::of(&line, record.seq);
            let at = record.stamp();
            state.apply(record, at, None, tip);
        }
        (temporary, room, state)
    }

    fn found(state: &RoomState, room: &Dir, id: &str) -> Vec<u64> {
        let records = state.indexed(room).records_of("a", id);
        let records = records.expect("they are read").into_iter();
        records.map(|(_, record)| record.seq).collect()
    }

    fn write(state: &mut RoomState, room: &Dir) {
        let tip = state.tip();
        let written = state.index.write(room, layout::INDEX_DRAFT, tip);
        written.expect("it is written");
    }

    #[test]
    fn a_line_decides_between_two_entries_with_one_hash() {
        let (_kept, room, mut state) = room_with(&["m1", "m2", "m3"]);
        let hash = *IndexKey::Name("a", "m2").hashes().start();
        state.index.recent.extend([(hash, 1), (hash, 3), (hash, 9)]);
        assert_eq!(found(&state, &room, "m2"), [2]);
        write(&mut state, &room);
        assert_eq!(found(&state, &room, "m2"), [2], "in the file");
        assert_eq!(found(&state, &room, "m1"), [1]);
    }

    #[test]
    fn an_index_fits_only_the_log_with_its_last_record() {
        let (_kept, room, mut state) = room_with(&["m1", "m2", "m3"]);
        write(&mut state, &room);
        let saved = serde_json::to_string(&state).expect("JSON");
        let again = || -> RoomState { serde_json::from_str(&saved).expect("its own text") };
        let is_fitting = || open_fitting(&room, 3).is_some();
        assert!(is_fitting() && open_fitting(&room, 4).is_none());
        assert_eq!(found(&again(), &room, "m3"), [3]);
        // The log lost its end, and continued differently.
        let (_other, shorter, _) = room_with(&["m1", "m2", "x3"]);
        let path = layout::live_segment(1);
        let log = shorter.read(&path, 1 << 20).expect("a log");
        room.replace(&path, &log.expect("a log"))
            .expect("it is replaced");
        assert!(!is_fitting());
        assert_eq!(found(&again(), &room, "m3"), [] as [u64; 0]);
        assert_eq!(found(&again(), &room, "m2"), [2]);
        assert_eq!(found(&again(), &room, "x3"), [3]);
    }

    #[test]
    fn a_missing_or_torn_file_is_made_again_from_the_log() {
        let (_kept, room, mut state) = room_with(&["m1", "m2", "m3"]);
        write(&mut state, &room);
        let whole = room.read(layout::INDEX, 1 << 20).expect("it is read");
        let whole = whole.expect("an index");
        for damage in ["missing", "cut", "header", "entries"] {
            let mut bytes = whole.clone();
            match damage {
                "cut" => bytes.truncate(whole.len() / 2),
                "header" => bytes[20] ^= 1,
                _ => bytes[5000] ^= 1,
            }
            room.replace(layout::INDEX, &bytes).expect("it is written");
            if damage == "missing" {
                room.remove(layout::INDEX).expect("it is removed");
            }
            let saved = serde_json::to_string(&state).expect("JSON");
            let mut again: RoomState = serde_json::from_str(&saved).expect("its own text");
            again.open_index(&room).expect("it is opened");
            assert_eq!(found(&again, &room, "m2"), [2], "{damage}");
            assert!(again.index.is_due(again.end), "{damage}");
            again.write_index(&room, layout::INDEX_DRAFT);
            assert!(open_fitting(&room, 3).is_some(), "{damage}");
            assert_eq!(found(&again, &room, "m3"), [3], "{damage}");
        }
    }

    #[test]
    fn entries_of_a_segment_that_was_moved_away_find_nothing() {
        let (_kept, room, mut state) = room_with(&["m1", "m2"]);
        write(&mut state, &room);
        room.remove(layout::live_segment(1)).expect("it is removed");
        assert_eq!(found(&state, &room, "m1"), [] as [u64; 0]);
    }
}
