//! The file `log/index`: sorted entries that are searched without loading them.
//!
//! It is a cache and is never synced. Each block has a checksum, so a reader notices a block that a power cut tore or that
//! another program changed.

use crate::base::error::{ErrorContext, Result};
use crate::base::hash::{Hash, Hasher, NO_HASH};
use crate::disk::{Dir, File, layout};
use crate::log::LogTip;
use serde::{Deserialize, Serialize};
use std::io::{self, BufWriter, Write};
use std::ops::RangeInclusive;

/// The hash of a property, and the number of a record with it.
pub(super) type IndexEntry = (u64, u64);

/// The format of the file and of its keys. A file of another format is not used.
const FORMAT: u32 = 1;
/// The bytes of a block: one page, so a single read returns it.
const BLOCK: usize = 4096;
const CHECKSUM: usize = 16;
/// The bytes of an entry.
const ENTRY: usize = 16;
/// The entries of a full block.
const ENTRIES: u64 = ((BLOCK - CHECKSUM) / ENTRY) as u64;

/// The first block: one line of JSON.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct IndexHeader {
    format: u32,
    /// The number of entries.
    entries: u64,
    /// The last record that the file covers.
    covers: LogTip,
}

/// The open file.
#[derive(Debug)]
pub(super) struct IndexFile {
    file: File,
    header: IndexHeader,
}

impl IndexFile {
    /// Opens the file. Fails if it is missing, damaged at its start, or cut.
    pub(super) fn open(room: &Dir) -> io::Result<IndexFile> {
        let file = room.look(layout::INDEX).map_err(io::Error::other)?;
        let first = read_block(&file, 0, &NO_HASH)?;
        let line = first
            .split(|&byte| byte == b'\n')
            .next()
            .unwrap_or_default();
        let header: IndexHeader = serde_json::from_slice(line)?;
        let blocks = 1 + header.entries.div_ceil(ENTRIES);
        if header.format != FORMAT || file.meta()?.size != blocks * BLOCK as u64 {
            return Err(damaged());
        }
        Ok(IndexFile { file, header })
    }

    /// Writes the file in one step. `draft` is its temporary name, for one process at a time. The entries are sorted, and
    /// `count` is their number. A power cut can leave any part of the file.
    pub(super) fn write(
        room: &Dir,
        draft: &str,
        covers: LogTip,
        count: u64,
        entries: impl Iterator<Item = io::Result<IndexEntry>>,
    ) -> Result<IndexFile> {
        room.remove(draft)?;
        let header = IndexHeader {
            format: FORMAT,
            entries: count,
            covers,
        };
        let mut file = BufWriter::new(room.create(draft, b"")?);
        let written = write_blocks(&mut file, &header, entries).doing("write", room.at(draft));
        let replaced = written.and_then(|()| room.put_over(draft, room, layout::INDEX));
        if let Err(e) = replaced {
            let _ = room.remove(draft);
            return Err(e);
        }
        IndexFile::open(room).doing("open", room.at(layout::INDEX))
    }

    /// The last record that the file covers.
    pub(super) fn covers(&self) -> LogTip {
        self.header.covers
    }

    /// The number of entries.
    pub(super) fn count(&self) -> u64 {
        self.header.entries
    }

    /// Makes the content durable.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.file.sync()
    }

    /// The numbers of the entries with a key in this range. Reads a few blocks.
    pub(super) fn find(&self, keys: &RangeInclusive<u64>) -> io::Result<Vec<u64>> {
        let mut numbers = Vec::new();
        for n in self.first_block(*keys.start())?..self.blocks() {
            let block = self.block(n)?;
            let inside = block.iter().filter(|(key, _)| keys.contains(key));
            numbers.extend(inside.map(|(_, number)| *number));
            if block.last().is_some_and(|(last, _)| last > keys.end()) {
                break;
            }
        }
        Ok(numbers)
    }

    /// The first block that does not end before this key.
    fn first_block(&self, key: u64) -> io::Result<u64> {
        let (mut begin, mut end) = (0, self.blocks());
        let (mut low, mut high, mut is_guess) = (0, u64::MAX, true);
        while begin < end {
            let width = u128::from(end - begin - 1);
            // Hashes are evenly distributed, so a guess from the bounds is usually close. Every second step halves the
            // range, in case they are not.
            let step = if is_guess {
                u128::from(key - low) * width / u128::from(high - low).max(1)
            } else {
                width / 2
            };
            is_guess = !is_guess;
            let n = begin + step as u64;
            let block = self.block(n)?;
            let (Some(&(first, _)), Some(&(last, _))) = (block.first(), block.last()) else {
                return Err(damaged());
            };
            if last < key {
                (begin, low) = (n + 1, last);
            } else if first < key {
                return Ok(n);
            } else {
                (end, high) = (n, first);
            }
        }
        Ok(begin)
    }

    /// All entries, in order.
    pub(super) fn entries(&self) -> impl Iterator<Item = io::Result<IndexEntry>> {
        (0..self.blocks()).flat_map(|n| {
            let (entries, failed) = match self.block(n) {
                Ok(entries) => (entries, None),
                Err(e) => (Vec::new(), Some(Err(e))),
            };
            entries.into_iter().map(Ok).chain(failed)
        })
    }

    fn blocks(&self) -> u64 {
        self.header.entries.div_ceil(ENTRIES)
    }

    fn block(&self, n: u64) -> io::Result<Vec<IndexEntry>> {
        let bytes = read_block(&self.file, n + 1, &self.header.covers.hash)?;
        let (entries, _) = bytes.as_chunks::<ENTRY>();
        let count = ENTRIES.min(self.header.entries - n * ENTRIES) as usize;
        let entries = entries[..count].iter();
        Ok(entries
            .map(|entry| (number(&entry[..8]), number(&entry[8..])))
            .collect())
    }
}

fn write_blocks(
    file: &mut impl Write,
    header: &IndexHeader,
    entries: impl Iterator<Item = io::Result<IndexEntry>>,
) -> io::Result<()> {
    let mut bytes = serde_json::to_vec(header)?;
    bytes.push(b'\n');
    write_block(file, &mut bytes, 0, &NO_HASH)?;
    let (mut n, mut written) = (1, 0);
    for entry in entries {
        let (key, number) = entry?;
        bytes.extend(key.to_le_bytes());
        bytes.extend(number.to_le_bytes());
        written += 1;
        if bytes.len() == BLOCK - CHECKSUM {
            write_block(file, &mut bytes, n, &header.covers.hash)?;
            n += 1;
        }
    }
    if !bytes.is_empty() {
        write_block(file, &mut bytes, n, &header.covers.hash)?;
    }
    debug_assert_eq!(written, header.entries);
    file.flush()
}

/// Writes and clears a block. Blocks of an earlier file have another salt, wherever a power cut left them.
fn write_block(file: &mut impl Write, bytes: &mut Vec<u8>, n: u64, salt: &Hash) -> io::Result<()> {
    bytes.resize(BLOCK - CHECKSUM, 0);
    file.write_all(bytes)?;
    file.write_all(&checksum(bytes, n, salt))?;
    bytes.clear();
    Ok(())
}

fn read_block(file: &File, n: u64, salt: &Hash) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; BLOCK];
    file.read_exact_at(&mut bytes, n * BLOCK as u64)?;
    let found = bytes.split_off(BLOCK - CHECKSUM);
    if found != checksum(&bytes, n, salt) {
        return Err(damaged());
    }
    Ok(bytes)
}

fn checksum(bytes: &[u8], n: u64, salt: &Hash) -> [u8; CHECKSUM] {
    let mut hasher = Hasher::default();
    hasher.update(salt);
    hasher.update(n.to_le_bytes());
    hasher.update(bytes);
    let mut checksum = [0; CHECKSUM];
    checksum.copy_from_slice(&hasher.finish()[..CHECKSUM]);
    checksum
}

fn number(bytes: &[u8]) -> u64 {
    let digits = bytes.iter().rev();
    digits.fold(0, |number, &byte| number << 8 | u64::from(byte))
}

fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "a block is damaged")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::Path;

    fn tip() -> LogTip {
        LogTip {
            seq: 7,
            hash: [3; 32],
            ..LogTip::NONE
        }
    }

    /// Keys as evenly distributed as hashes.
    fn entries(count: u64) -> Vec<IndexEntry> {
        let mut all: Vec<IndexEntry> = (1..=count)
            .map(|n| (n.wrapping_mul(0x9e37_79b9_7f4a_7c15), n))
            .collect();
        all.sort_unstable();
        all
    }

    fn room(temporary: &Path) -> Dir {
        let room = Dir::open(temporary).expect("a directory");
        room.make(layout::LOG).expect("it is made");
        room
    }

    fn write(room: &Dir, entries: &[IndexEntry]) -> IndexFile {
        let sorted = entries.iter().copied().map(Ok);
        IndexFile::write(
            room,
            layout::INDEX_DRAFT,
            tip(),
            entries.len() as u64,
            sorted,
        )
        .expect("it is written")
    }

    fn read(room: &Dir) -> io::Result<Vec<IndexEntry>> {
        IndexFile::open(room)?.entries().collect()
    }

    #[test]
    fn each_key_is_found_in_files_of_any_size() {
        let temporary = tempfile::tempdir().expect("a directory");
        let room = room(temporary.path());
        for count in [0, 1, 254, 255, 256, 10_000] {
            let all = entries(count);
            let file = write(&room, &all);
            assert_eq!((file.covers(), file.count()), (tip(), count));
            assert_eq!(read(&room).expect("its entries"), all);
            let find = |key| file.find(&(key..=key)).expect("it is read");
            for (key, value) in &all {
                assert_eq!(find(*key), [*value]);
                assert!(find(key.wrapping_add(1)).is_empty());
            }
            for missing in [0, u64::MAX] {
                assert!(find(missing).is_empty());
            }
        }
    }

    #[test]
    fn all_numbers_of_a_range_are_found_over_several_blocks() {
        let temporary = tempfile::tempdir().expect("a directory");
        let room = room(temporary.path());
        let mut all = entries(1000);
        let key = all[500].0 + 1;
        all.extend((0..2000).map(|number| (key, number)));
        all.sort_unstable();
        let file = write(&room, &all);
        let found = file.find(&(key..=key)).expect("its numbers");
        assert_eq!(found, (0..2000).collect::<Vec<u64>>());
        let range = all[100].0..=all[2900].0;
        let found = file.find(&range).expect("its numbers");
        assert_eq!(found.len(), 2801);
    }

    #[test]
    fn a_changed_byte_and_a_missing_end_are_noticed_in_each_block() {
        let temporary = tempfile::tempdir().expect("a directory");
        let (room, path) = (room(temporary.path()), temporary.path().join(layout::INDEX));
        let all = entries(600);
        write(&room, &all);
        let whole = fs::read(&path).expect("a file");
        for at in (0..whole.len()).step_by(97) {
            let mut changed = whole.clone();
            changed[at] ^= 1;
            fs::write(&path, &changed).expect("it is written");
            assert!(read(&room).is_err(), "byte {at}");
            fs::write(&path, &whole[..at]).expect("it is written");
            assert!(read(&room).is_err(), "cut at {at}");
        }
        fs::write(&path, &whole).expect("it is written");
        assert_eq!(read(&room).expect("its entries"), all);
    }
}
