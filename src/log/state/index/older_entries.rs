//! The entries of older records: in the file, or read from the log if the file does not fit.

use super::index_file::{IndexEntry, IndexFile};
use super::index_keys::entries_of;
use crate::base::error::{Error, Result};
use crate::disk::{Dir, layout};
use crate::log;
use crate::log::{LogPosition, LogTip, RawLogLine};
use std::collections::BTreeSet;
use std::io;
use std::ops::RangeInclusive;
use std::sync::OnceLock;

/// The entries of the records up to one.
#[derive(Debug)]
pub(super) struct OlderEntries {
    room: Dir,
    pub(super) covers: LogTip,
    /// `None` if it does not fit to the log and the state.
    pub(super) file: Option<IndexFile>,
    /// The entries from the log, if the file does not fit or is damaged.
    pub(super) rebuilt: OnceLock<Vec<IndexEntry>>,
}

impl OlderEntries {
    pub(super) fn new(room: &Dir, covers: LogTip, file: Option<IndexFile>) -> OlderEntries {
        OlderEntries {
            room: room.clone(),
            covers,
            file,
            rebuilt: OnceLock::new(),
        }
    }

    pub(super) fn open(room: &Dir, wanted: LogTip) -> OlderEntries {
        match open_fitting(room, wanted.seq) {
            Some(file) => OlderEntries::new(room, file.covers(), Some(file)),
            None => OlderEntries::new(room, wanted, None),
        }
    }

    /// The file, unless its entries were read from the log.
    pub(super) fn file(&self) -> Option<&IndexFile> {
        if self.rebuilt.get().is_some() {
            return None;
        }
        self.file.as_ref()
    }

    pub(super) fn find(&self, hashes: &RangeInclusive<u64>) -> Result<Vec<u64>> {
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
    pub(super) fn rebuild(&self) -> Result<&[IndexEntry]> {
        if let Some(entries) = self.rebuilt.get() {
            return Ok(entries);
        }
        let entries = entries_of_log(&self.room, self.covers.seq)?;
        Ok(self.rebuilt.get_or_init(|| entries))
    }

    /// Writes the file with these entries and the newer ones of `recent`.
    pub(super) fn write_with(
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
pub(super) fn open_fitting(room: &Dir, seq: u64) -> Option<IndexFile> {
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
