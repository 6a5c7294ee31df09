//! The index: the numbers of the records that name a message or a thread.
//!
//! An entry is a hint: the line decides. The file has the entries up to a record, and the state has the entries of the
//! records after it. Entries follow from the log, so a file that is missing, damaged, older than the state, or of another
//! log is made again.

use super::index_file::{IndexEntry, IndexFile};
use super::{LINK_REMOVED, RoomState};
use crate::base::error::{Error, ErrorContext, Result};
use crate::base::hash::short_hash;
use crate::base::packed_numbers::PackedNumbers;
use crate::base::test_sizes;
use crate::disk::{Dir, layout};
use crate::log;
use crate::log::find::RecordFinder;
use crate::log::{LogPosition, LogTip, OpenLines, RawLogLine};
use crate::message::answer::ConversationKeys;
use crate::message::record::{EventKind, MessageHead, Record};
use crate::message::reference::bare;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io;
use std::ops::RangeInclusive;
use std::sync::{Arc, OnceLock};

/// A property that finds records.
#[derive(Debug, Clone, Copy)]
pub enum IndexKey<'a> {
    /// The sender and the id of its message.
    Name(&'a str, &'a str),
    /// The id of its message.
    Id(&'a str),
    /// The thread id of its message.
    Thread(&'a str),
    /// The id or the number of the message that it answers.
    Answered(&'a str),
    /// The number of a message with a receipt or a notice in it.
    Concerned(u64),
    /// It renames an agent.
    Rename,
}

impl IndexKey<'_> {
    /// The hashes that the property can have.
    fn hashes(self) -> RangeInclusive<u64> {
        let one = |hash| hash..=hash;
        match self {
            // The first half is the id, so one entry finds a message by its id with or without its sender.
            IndexKey::Name(sender, id) => one(id_half(id) | short_hash("from", sender) >> 32),
            IndexKey::Id(id) => id_half(id)..=id_half(id) | u64::from(u32::MAX),
            IndexKey::Thread(thread) => one(short_hash("thread", thread)),
            IndexKey::Answered(name) => one(short_hash("answered", name)),
            IndexKey::Concerned(seq) => one(short_hash("concerned", &seq.to_string())),
            IndexKey::Rename => one(short_hash("rename", "")),
        }
    }
}

fn id_half(id: &str) -> u64 {
    short_hash("id", id) & !u64::from(u32::MAX)
}

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

/// The entries of the records up to one.
#[derive(Debug)]
struct OlderEntries {
    room: Dir,
    covers: LogTip,
    /// `None` if it does not fit to the log and the state.
    file: Option<IndexFile>,
    /// The entries from the log, if the file does not fit or is damaged.
    rebuilt: OnceLock<Vec<IndexEntry>>,
}

impl OlderEntries {
    fn new(room: &Dir, covers: LogTip, file: Option<IndexFile>) -> OlderEntries {
        OlderEntries {
            room: room.clone(),
            covers,
            file,
            rebuilt: OnceLock::new(),
        }
    }

    fn open(room: &Dir, wanted: LogTip) -> OlderEntries {
        match open_fitting(room, wanted.seq) {
            Some(file) => OlderEntries::new(room, file.covers(), Some(file)),
            None => OlderEntries::new(room, wanted, None),
        }
    }

    /// The file, unless its entries were read from the log.
    fn file(&self) -> Option<&IndexFile> {
        if self.rebuilt.get().is_some() {
            return None;
        }
        self.file.as_ref()
    }

    fn find(&self, hashes: &RangeInclusive<u64>) -> Result<Vec<u64>> {
        if let Some(file) = self.file() {
            match file.find(hashes) {
                Ok(numbers) => return Ok(numbers),
                Err(e) => self.discard(&e),
            }
        }
        let entries = self.rebuild()?;
        let begin = entries.partition_point(|(key, _)| key < hashes.start());
        let inside = entries[begin..].iter();
        let inside = inside.take_while(|(key, _)| key <= hashes.end());
        Ok(inside.map(|(_, seq)| *seq).collect())
    }

    /// The entries, read from the log.
    fn rebuild(&self) -> Result<&[IndexEntry]> {
        if let Some(entries) = self.rebuilt.get() {
            return Ok(entries);
        }
        let entries = entries_of_log(&self.room, self.covers.seq)?;
        Ok(self.rebuilt.get_or_init(|| entries))
    }

    /// Writes the file with these entries and the newer ones of `recent`.
    fn write_with(
        &self,
        recent: &BTreeSet<IndexEntry>,
        draft: &str,
        tip: LogTip,
    ) -> Result<IndexFile> {
        let newer = || recent.iter().filter(|(_, seq)| *seq > self.covers.seq);
        let count = newer().count() as u64;
        if let Some(file) = self.file() {
            let merged = merge(file.entries(), newer().copied());
            match IndexFile::write(&self.room, draft, tip, file.count() + count, merged) {
                Err(Error::Io { source, .. }) if is_damage(&source) => self.discard(&source),
                written => return written,
            }
        }
        let entries = self.rebuild()?;
        let merged = merge(entries.iter().copied().map(Ok), newer().copied());
        IndexFile::write(&self.room, draft, tip, entries.len() as u64 + count, merged)
    }

    /// Removes a damaged file, if this process may do that, so that the router writes it again.
    fn discard(&self, e: &io::Error) {
        tracing::warn!(
            "{}: {e}; it is made again from the log",
            self.room.at(layout::INDEX).display()
        );
        let _ = self.room.remove(layout::INDEX);
    }
}

fn is_damage(e: &io::Error) -> bool {
    let kinds = [io::ErrorKind::InvalidData, io::ErrorKind::UnexpectedEof];
    kinds.contains(&e.kind())
}

/// Both in order. The two have no entry in common.
fn merge(
    older: impl Iterator<Item = io::Result<IndexEntry>>,
    newer: impl Iterator<Item = IndexEntry>,
) -> impl Iterator<Item = io::Result<IndexEntry>> {
    let (mut older, mut newer) = (older.peekable(), newer.peekable());
    std::iter::from_fn(move || {
        let is_newer_first = match (older.peek(), newer.peek()) {
            (Some(Ok(older)), Some(newer)) => newer < older,
            (None, _) => true,
            (Some(_), _) => false,
        };
        if is_newer_first {
            newer.next().map(Ok)
        } else {
            older.next()
        }
    })
}

/// Opens the file if it covers the record with this number, and if the log has the last record that it covers.
fn open_fitting(room: &Dir, seq: u64) -> Option<IndexFile> {
    let file = IndexFile::open(room)
        .inspect_err(|e| tracing::debug!("{}: {e}", layout::INDEX))
        .ok()?;
    let covers = file.covers();
    let fits = covers.seq >= seq && is_in_log(room, &covers).unwrap_or_default();
    fits.then_some(file)
}

/// Returns true if the log has this record. The first record of a segment names the hash before it, so an archived segment
/// is not unpacked.
fn is_in_log(room: &Dir, tip: &LogTip) -> Result<bool> {
    if let Some(line) = log::read_live(room, tip.at)? {
        return Ok(line.hash() == tip.hash && line.end() == tip.end);
    }
    let next = LogPosition::start_of(tip.at.segment.saturating_add(1));
    let first = log::read_record(room, next)?;
    Ok(first.is_some_and(|record| record.prev == tip.hash))
}

/// The entries of all records up to a number, in order. The index does not name the records of a segment that a person moved away.
fn entries_of_log(room: &Dir, until: u64) -> Result<Vec<IndexEntry>> {
    let mut entries = Vec::new();
    'log: for segment in log::segments(room)? {
        for line in log::read_segment(room, LogPosition::start_of(segment))? {
            let line = line?;
            // Without the entries of this record, its message would be accepted again.
            let record = line.record().map_err(|e| damaged(room, &line, &e))?;
            if record.seq <= until {
                entries.extend(entries_of(&record, None));
            }
            // A line after it can be incomplete.
            if record.seq >= until {
                break 'log;
            }
        }
    }
    entries.sort_unstable();
    entries.dedup();
    Ok(entries)
}

fn damaged(room: &Dir, line: &RawLogLine, e: &serde_json::Error) -> Error {
    Error::state(
        log::path(room, line.at.segment),
        format!("damaged at byte {}: {e}", line.at.offset),
        "run `mailbag log verify` and restore the segment from a backup; nothing was changed",
    )
}

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

/// The numbers of the messages in a notice that they were not delivered, because their link was removed.
pub fn undelivered(record: &Record) -> Vec<u64> {
    let about = record.about().and_then(|about| about.split_once(' '));
    if about.is_none_or(|(what, _)| what != LINK_REMOVED) {
        return Vec::new();
    }
    let fields = record.message_fields();
    let seqs = fields
        .as_ref()
        .and_then(|fields| fields.get("metadata")?.get("seqs")?.as_array());
    let numbers = seqs.into_iter().flatten().filter_map(Value::as_u64);
    numbers.collect()
}

/// The entries of a record. `head` is the head of its message, if it was read before.
fn entries_of(record: &Record, head: Option<&MessageHead<'_>>) -> Vec<IndexEntry> {
    let mut entries = Vec::new();
    let mut add = |key: IndexKey<'_>| entries.push((*key.hashes().start(), record.seq));
    let receipts = record.receipts.iter().chain(record.ack());
    let arrived = record.arrived().into_iter();
    let arrived = arrived.flat_map(|arrived| &arrived.receipts);
    let about = record.about().and_then(|about| about.split_once(' '));
    let concerned = receipts
        .flat_map(|receipt| &receipt.seqs)
        .chain(arrived.flat_map(|receipt| &receipt.seqs))
        .copied()
        .chain(about.and_then(|(_, seq)| seq.parse::<u64>().ok()))
        .chain(undelivered(record));
    for seq in concerned {
        add(IndexKey::Concerned(seq));
    }
    if (record.facts.claims.as_ref()).is_some_and(|change| change.renaming().is_some()) {
        add(IndexKey::Rename);
    }
    if let Some(answers) = record.accepted().and_then(|accepted| accepted.answers) {
        add(IndexKey::Answered(&answers.to_string()));
    }
    // A repeated message is found by the first one.
    if let Some(name) = record.name()
        && record.kind() != EventKind::Duplicate
    {
        add(IndexKey::Name(&name.from, &name.id));
    }
    let shares = match head {
        Some(head) => head.shares(),
        None => record
            .message_head()
            .map_or_else(ConversationKeys::default, |head| head.shares()),
    };
    if let Some(thread) = &shares.thread {
        add(IndexKey::Thread(thread));
    }
    if let Some(answered) = &shares.correlation {
        add(IndexKey::Answered(bare(answered)));
    }
    entries
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::Log;
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
            let tip = LogTip {
                at: line.at,
                end: line.end(),
                seq: record.seq,
                hash: line.hash(),
            };
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
