//! A file of sorted entries that is searched without loading it.
//!
//! It is a cache: its content can be built again from other files. Nothing is synced. Each block has a checksum, so a
//! reader notices a block that a power cut tore or that another program changed.

use super::Dir;
use super::File;
use crate::base::clock::Stamp;
use crate::base::error::{ErrorContext, Result};
use crate::base::hash::Hasher;
use std::io::{self, BufWriter, Write};

/// A key and a value. The file is sorted by both.
pub type SortedEntry = (u64, u64);

/// The bytes of an entry.
const ENTRY: usize = 16;
/// The bytes of a block without its checksum: one page, so a single read returns it.
const BLOCK: usize = 4096;
/// The entries of a full block.
const ENTRIES: u64 = (BLOCK / ENTRY) as u64;
const CHECKSUM: usize = 8;
/// Where the label begins in the first block, after three numbers.
const LABEL_AT: usize = 24;

/// An open file of sorted entries.
#[derive(Debug)]
pub struct SortedFile {
    file: File,
    version: u64,
    count: u64,
    label: Vec<u8>,
}

impl SortedFile {
    /// Opens the file. Fails if it is missing or if its first block is damaged.
    pub fn open(dir: &Dir, name: &str) -> io::Result<SortedFile> {
        let file = dir.look(name).map_err(io::Error::other)?;
        let head = read_block(&file, 0, BLOCK, 0)?;
        let [version, count, length] = [0, 8, 16].map(|at| number(&head[at..at + 8]));
        let label = head[LABEL_AT..]
            .get(..length as usize)
            .ok_or_else(damaged)?;
        Ok(SortedFile {
            label: label.to_vec(),
            file,
            version,
            count,
        })
    }

    /// Writes or replaces a file in one step. The entries must be sorted, and the label short. Only one process at a time
    /// may call it. A power cut can leave any part of the file.
    pub fn write(dir: &Dir, name: &str, label: &[u8], entries: &[SortedEntry]) -> Result<()> {
        debug_assert!(entries.is_sorted() && label.len() <= BLOCK - LABEL_AT);
        let temporary = format!("{name}.tmp");
        dir.remove(&temporary)?;
        let mut file = BufWriter::new(dir.create(&temporary, b"")?);
        let written = write_all(&mut file, label, entries).doing("write", dir.at(&temporary));
        let replaced = written.and_then(|()| dir.put_over(&temporary, dir, name));
        if replaced.is_err() {
            let _ = dir.remove(&temporary);
        }
        replaced
    }

    /// The writer's description of the content.
    pub fn label(&self) -> &[u8] {
        &self.label
    }

    /// The number of entries.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The values of a key, in order. Reads a few blocks.
    pub fn find(&self, key: u64) -> io::Result<Vec<u64>> {
        // The first block that does not end before the key is in this range, or directly after it.
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
                (begin, end) = (n, n);
            } else {
                (end, high) = (n, first);
            }
        }
        let mut values = Vec::new();
        for n in begin..self.blocks() {
            let block = self.block(n)?;
            let equal = block.iter().filter(|(found, _)| *found == key);
            values.extend(equal.map(|(_, value)| *value));
            if block.last().is_some_and(|(last, _)| *last > key) {
                break;
            }
        }
        Ok(values)
    }

    /// All entries, in order.
    pub fn entries(&self) -> io::Result<Vec<SortedEntry>> {
        let mut all = Vec::new();
        for n in 0..self.blocks() {
            all.extend(self.block(n)?);
        }
        Ok(all)
    }

    /// Fails if a block is damaged.
    pub fn check(&self) -> io::Result<()> {
        (0..self.blocks()).try_for_each(|n| self.block(n).map(drop))
    }

    fn blocks(&self) -> u64 {
        self.count.div_ceil(ENTRIES)
    }

    fn block(&self, n: u64) -> io::Result<Vec<SortedEntry>> {
        let entries = ENTRIES.min(self.count - n * ENTRIES) as usize;
        let bytes = read_block(&self.file, n + 1, entries * ENTRY, self.version)?;
        let entries = bytes.chunks_exact(ENTRY);
        Ok(entries
            .map(|entry| (number(&entry[..8]), number(&entry[8..])))
            .collect())
    }
}

fn write_all(file: &mut impl Write, label: &[u8], entries: &[SortedEntry]) -> io::Result<()> {
    // Blocks of an earlier file have another version, wherever a power cut left them.
    let version = Stamp::now().micros() as u64;
    let mut head = Vec::with_capacity(BLOCK);
    for number in [version, entries.len() as u64, label.len() as u64] {
        head.extend(number.to_le_bytes());
    }
    head.extend(label);
    head.resize(BLOCK, 0);
    write_block(file, &head, 0, 0)?;
    for (n, block) in entries.chunks(ENTRIES as usize).enumerate() {
        let mut bytes = Vec::with_capacity(BLOCK);
        for (key, value) in block {
            bytes.extend(key.to_le_bytes());
            bytes.extend(value.to_le_bytes());
        }
        write_block(file, &bytes, n as u64 + 1, version)?;
    }
    file.flush()
}

fn write_block(file: &mut impl Write, bytes: &[u8], n: u64, version: u64) -> io::Result<()> {
    file.write_all(bytes)?;
    file.write_all(&checksum(bytes, n, version))
}

fn read_block(file: &File, n: u64, length: usize, version: u64) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; length + CHECKSUM];
    file.read_exact_at(&mut bytes, n * (BLOCK + CHECKSUM) as u64)?;
    let found = bytes.split_off(length);
    if found != checksum(&bytes, n, version) {
        return Err(damaged());
    }
    Ok(bytes)
}

fn checksum(bytes: &[u8], n: u64, version: u64) -> [u8; CHECKSUM] {
    let mut hasher = Hasher::default();
    hasher.update(version.to_le_bytes());
    hasher.update(n.to_le_bytes());
    hasher.update(bytes);
    let mut checksum = [0; CHECKSUM];
    checksum.copy_from_slice(&hasher.finish()[..CHECKSUM]);
    checksum
}

fn number(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .rev()
        .fold(0, |number, &byte| number << 8 | u64::from(byte))
}

fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "a block is damaged")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// Keys as evenly distributed as hashes.
    fn entries(count: u64) -> Vec<SortedEntry> {
        let mut all: Vec<SortedEntry> = (1..=count)
            .map(|n| (n.wrapping_mul(0x9e37_79b9_7f4a_7c15), n))
            .collect();
        all.sort_unstable();
        all
    }

    fn read_entries(dir: &Dir) -> io::Result<Vec<SortedEntry>> {
        SortedFile::open(dir, "ids")?.entries()
    }

    #[test]
    fn each_key_is_found_in_files_of_any_size() -> Result<()> {
        let temporary = tempfile::tempdir().expect("a directory");
        let dir = Dir::open(temporary.path())?;
        for count in [0, 1, 255, 256, 257, 10_000] {
            let all = entries(count);
            SortedFile::write(&dir, "ids", b"label", &all)?;
            let file = SortedFile::open(&dir, "ids").expect("a file");
            assert_eq!((file.label(), file.count()), (&b"label"[..], count));
            assert_eq!(file.entries().expect("its entries"), all);
            for (key, value) in &all {
                assert_eq!(file.find(*key).expect("a value"), [*value]);
                assert!(file.find(key.wrapping_add(1)).expect("no value").is_empty());
            }
            for missing in [0, u64::MAX] {
                assert!(file.find(missing).expect("no value").is_empty());
            }
        }
        Ok(())
    }

    #[test]
    fn all_values_of_a_key_are_found_over_several_blocks() -> Result<()> {
        let temporary = tempfile::tempdir().expect("a directory");
        let dir = Dir::open(temporary.path())?;
        let mut all = entries(1000);
        let key = all[500].0 + 1;
        all.extend((0..2000).map(|value| (key, value)));
        all.sort_unstable();
        SortedFile::write(&dir, "ids", b"", &all)?;
        let file = SortedFile::open(&dir, "ids").expect("a file");
        assert_eq!(
            file.find(key).expect("its values"),
            (0..2000).collect::<Vec<u64>>()
        );
        assert_eq!(file.find(all[100].0).expect("a value"), [all[100].1]);
        Ok(())
    }

    #[test]
    fn a_changed_byte_and_a_missing_end_are_noticed_in_each_block() -> Result<()> {
        let temporary = tempfile::tempdir().expect("a directory");
        let (dir, path) = (Dir::open(temporary.path())?, temporary.path().join("ids"));
        let all = entries(600);
        SortedFile::write(&dir, "ids", b"label", &all)?;
        let whole = fs::read(&path).expect("a file");
        for at in (0..whole.len()).step_by(97) {
            let mut changed = whole.clone();
            changed[at] ^= 1;
            fs::write(&path, &changed).expect("it is written");
            assert!(read_entries(&dir).is_err(), "byte {at}");
            fs::write(&path, &whole[..at]).expect("it is written");
            assert!(read_entries(&dir).is_err(), "cut at {at}");
        }
        fs::write(&path, &whole).expect("it is written");
        assert_eq!(read_entries(&dir).expect("its entries"), all);
        Ok(())
    }
}
