//! The positions of messages in the log, by sender and id.
//!
//! Most entries are in the index, a sorted file that is searched and never loaded. The entries of the newest records are in
//! memory and in the checkpoint. The index follows from the log: one that is missing, damaged, or of another log is built
//! again.

use super::RoomState;
use crate::base::error::{Error, ErrorContext, Result};
use crate::base::hash::short_hash;
use crate::base::test_sizes;
use crate::disk::{Dir, SortedEntry, SortedFile, layout};
use crate::log::{self, LogPosition, LogTip, START};
use crate::message::record::{EventKind, Record};
use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

/// The most ids in a checkpoint of a small room. Each command that needs the state reads them.
const RECENT_IDS: usize = 8192;
/// In a large room, the index of ids is written again when this share of its entries is new.
const RECENT_IDS_SHARE: usize = 128;

/// Maps the hash of (sender, id) to the positions of records. Two pairs can have the same hash, so a caller must compare the
/// record itself.
#[derive(Debug, Clone)]
pub struct MessageIndex {
    /// The entries of the records after `indexed`.
    recent: BTreeSet<SortedEntry>,
    /// The end of the log that the index must cover. [`START`] if all entries are in `recent`.
    indexed: LogPosition,
    index: OnceLock<Arc<MessageIndexFile>>,
}

/// The file of the entries before a position of the log.
#[derive(Debug)]
struct MessageIndexFile {
    room: Dir,
    /// The last record that it covers.
    covers: LogTip,
    /// `None` if it could not be written.
    file: Option<SortedFile>,
    /// The entries, if the file is missing or damaged.
    entries: OnceLock<Vec<SortedEntry>>,
}

impl Default for MessageIndex {
    fn default() -> MessageIndex {
        MessageIndex {
            recent: BTreeSet::new(),
            indexed: START,
            index: OnceLock::new(),
        }
    }
}

impl MessageIndex {
    /// Stores the position of a record for each of its ids.
    pub(super) fn add(&mut self, record: &Record, at: LogPosition) {
        self.recent
            .extend(key_of(record).map(|key| (key, at.pack())));
    }

    /// The positions of records that may match (sender, id), in the order of the log; usually none. The index must be open.
    pub fn places(&self, sender: &str, id: &str) -> Result<Vec<LogPosition>> {
        let key = key(sender, id);
        let recent = self.recent.range((key, 0)..=(key, u64::MAX));
        let mut places: Vec<u64> = recent.map(|(_, place)| *place).collect();
        if self.indexed != START {
            let index = self.index.get().ok_or_else(not_open)?;
            places.extend(index.find(key)?);
            places.sort_unstable();
            places.dedup();
        }
        Ok(places.into_iter().map(LogPosition::unpack).collect())
    }

    /// Returns true if the next checkpoint moves entries into the index.
    pub fn is_due(&self) -> bool {
        let (count, is_damaged) = match self.index.get() {
            Some(index) => (index.count() as usize, index.is_damaged()),
            None => (0, false),
        };
        let most = test_sizes::recent_ids().unwrap_or(RECENT_IDS);
        is_damaged || self.recent.len() >= most.max(count / RECENT_IDS_SHARE)
    }

    /// Opens the index for a reader, which does without it if it has to be built again. Returns true if it is open.
    pub fn open_to_read(&self, room: &Dir) -> bool {
        if self.indexed == START || self.index.get().is_some() {
            return true;
        }
        match MessageIndexFile::open(room, self.indexed) {
            Ok(Some(index)) => self.index.set(Arc::new(index)).is_ok(),
            _ => false,
        }
    }

    /// Opens the index, and builds it again from the log if it is not usable. `tip` is the end of the log.
    fn open(&mut self, room: &Dir, tip: LogTip) -> Result<()> {
        if self.open_to_read(room) {
            return Ok(());
        }
        let entries = entries_of_log(room, tip.end)?;
        self.put(room, tip, entries)
    }

    /// Moves the recent entries into the index if there are many of them, or if its file has to be written again. Entries of
    /// archived segments are removed.
    fn compact(&mut self, room: &Dir, tip: LogTip) -> Result<()> {
        if !self.is_due() {
            return Ok(());
        }
        let mut entries = match self.index.get() {
            Some(index) => index.entries()?,
            None => Vec::new(),
        };
        let live = log::live(room)?;
        entries.extend(&self.recent);
        entries.retain(|(_, place)| {
            live.binary_search(&LogPosition::unpack(*place).segment)
                .is_ok()
        });
        entries.sort_unstable();
        entries.dedup();
        self.put(room, tip, entries)
    }

    /// Makes these entries the index. If the file cannot be written, they stay in memory.
    fn put(&mut self, room: &Dir, tip: LogTip, entries: Vec<SortedEntry>) -> Result<()> {
        let index = MessageIndexFile::write(room, tip, entries)?;
        self.recent.clear();
        self.indexed = tip.end;
        self.index = OnceLock::from(Arc::new(index));
        Ok(())
    }

    /// The recent entries as 16 bytes each, in order.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let entries = self.recent.iter();
        entries
            .flat_map(|(key, place)| [key.to_le_bytes(), place.to_le_bytes()])
            .flatten()
            .collect()
    }

    /// The end of the log that the index must cover.
    pub(super) fn indexed(&self) -> LogPosition {
        self.indexed
    }

    /// Reads the output of [`MessageIndex::bytes`].
    pub(super) fn from_bytes(bytes: &[u8], indexed: LogPosition) -> MessageIndex {
        let (entries, _) = bytes.as_chunks::<16>();
        let number = |half: &[u8]| {
            half.iter()
                .rev()
                .fold(0u64, |n, &byte| n << 8 | u64::from(byte))
        };
        let recent = entries
            .iter()
            .map(|entry| (number(&entry[..8]), number(&entry[8..])))
            .collect();
        MessageIndex {
            recent,
            indexed,
            index: OnceLock::new(),
        }
    }
}

impl MessageIndexFile {
    /// Opens the index if its file is intact, belongs to the log, and covers the log at least up to a position.
    fn open(room: &Dir, indexed: LogPosition) -> Result<Option<MessageIndexFile>> {
        let Ok(file) = SortedFile::open(room, layout::IDS) else {
            return Ok(None);
        };
        let Ok(covers) = serde_json::from_slice::<LogTip>(file.label()) else {
            return Ok(None);
        };
        if !covers.is_in(room)? || covers.end < indexed {
            return Ok(None);
        }
        Ok(Some(MessageIndexFile {
            room: room.clone(),
            covers,
            file: Some(file),
            entries: OnceLock::new(),
        }))
    }

    fn write(room: &Dir, covers: LogTip, entries: Vec<SortedEntry>) -> Result<MessageIndexFile> {
        let label = serde_json::to_vec(&covers).expect("it has only text keys");
        let written = SortedFile::write(room, layout::IDS, &label, &entries)
            .and_then(|()| SortedFile::open(room, layout::IDS).doing("open", room.at(layout::IDS)));
        let index = |file, entries| MessageIndexFile {
            room: room.clone(),
            covers,
            file,
            entries,
        };
        match written {
            Ok(file) => Ok(index(Some(file), OnceLock::new())),
            Err(e) => {
                tracing::warn!("{e}; the index of ids is built again at the next start");
                Ok(index(None, OnceLock::from(entries)))
            }
        }
    }

    /// The positions for a key.
    fn find(&self, key: u64) -> Result<Vec<u64>> {
        if let (Some(file), None) = (&self.file, self.entries.get()) {
            match file.find(key) {
                Ok(places) => return Ok(places),
                Err(e) => self.report(&e),
            }
        }
        let entries = self.loaded()?;
        let begin = entries.partition_point(|(found, _)| *found < key);
        let equal = entries[begin..]
            .iter()
            .take_while(|(found, _)| *found == key);
        Ok(equal.map(|(_, place)| *place).collect())
    }

    /// All entries, in order.
    fn entries(&self) -> Result<Vec<SortedEntry>> {
        if let (Some(file), None) = (&self.file, self.entries.get()) {
            match file.entries() {
                Ok(entries) => return Ok(entries),
                Err(e) => self.report(&e),
            }
        }
        self.loaded().map(<[SortedEntry]>::to_vec)
    }

    /// The entries in memory, read from the log if they are not there yet.
    fn loaded(&self) -> Result<&[SortedEntry]> {
        if let Some(entries) = self.entries.get() {
            return Ok(entries);
        }
        let entries = entries_of_log(&self.room, self.covers.end)?;
        Ok(self.entries.get_or_init(|| entries))
    }

    fn report(&self, e: &std::io::Error) {
        tracing::warn!(
            "{}: {e}; it is built again from the log",
            self.room.at(layout::IDS).display()
        );
    }

    fn count(&self) -> u64 {
        self.file.as_ref().map_or(0, SortedFile::count)
    }

    fn is_damaged(&self) -> bool {
        self.entries.get().is_some()
    }
}

/// The entries of all records in `log/` before a position, in order.
fn entries_of_log(room: &Dir, until: LogPosition) -> Result<Vec<SortedEntry>> {
    let mut entries = Vec::new();
    let Some(&segment) = log::live(room)?.first() else {
        return Ok(entries);
    };
    for line in log::read(room, LogPosition::start_of(segment))? {
        let line = line?;
        if line.at >= until {
            break;
        }
        // Without the ids of this record, its message would be accepted again.
        let record = line.record().map_err(|e| {
            Error::state(
                log::path(room, line.at.segment),
                format!("damaged at byte {}: {e}", line.at.offset),
                "run `mailbag log verify` and restore the segment from a backup; nothing was changed",
            )
        })?;
        entries.extend(key_of(&record).map(|key| (key, line.at.pack())));
    }
    entries.sort_unstable();
    Ok(entries)
}

/// The key of the message of a record, unless the record repeats another one.
fn key_of(record: &Record) -> Option<u64> {
    let name = record.name()?;
    (record.kind() != EventKind::Duplicate).then(|| key(&name.from, &name.id))
}

fn key(sender: &str, id: &str) -> u64 {
    short_hash(sender, id)
}

fn not_open() -> Error {
    Error::busy(
        "the index of ids is not open",
        "report this as a defect of mailbag",
    )
}

impl RoomState {
    /// Opens the index of ids for a router. It is built again from the log if it is missing, damaged, or of another log.
    pub fn open_ids(&mut self, room: &Dir) -> Result<()> {
        let tip = self.tip();
        self.ids.open(room, tip)
    }

    /// Moves ids into the index if the checkpoint would have too many of them.
    pub(super) fn compact_ids(&mut self, room: &Dir) -> Result<()> {
        let tip = self.tip();
        self.ids.compact(room, tip)
    }
}
