//! The lines of records that were applied to the state and are not in the log yet.

use super::{LogPosition, RawLogLine};

/// Lines that follow each other, after the end of the log.
#[derive(Default)]
pub struct OpenLines {
    bytes: Vec<u8>,
    /// The position of each line.
    places: Vec<LogPosition>,
    /// The number of the first one.
    first: u64,
}

impl OpenLines {
    /// Adds the line with this number and position.
    pub fn add(&mut self, seq: u64, at: LogPosition, line: &[u8]) {
        if self.places.is_empty() {
            self.first = seq;
        }
        self.bytes.extend_from_slice(line);
        self.places.push(at);
    }

    /// Returns true without a line.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The positions of the lines, and their bytes.
    pub fn into_parts(self) -> (Vec<LogPosition>, Vec<u8>) {
        (self.places, self.bytes)
    }

    /// The line with this number.
    pub fn line(&self, seq: u64) -> Option<RawLogLine> {
        self.nth(usize::try_from(seq.checked_sub(self.first)?).ok()?)
    }

    /// The line at this position.
    pub fn line_at(&self, at: LogPosition) -> Option<RawLogLine> {
        self.nth(self.places.binary_search(&at).ok()?)
    }

    /// All lines.
    pub fn lines(&self) -> impl Iterator<Item = RawLogLine> {
        (0..self.places.len()).filter_map(|n| self.nth(n))
    }

    fn nth(&self, n: usize) -> Option<RawLogLine> {
        let at = *self.places.get(n)?;
        let begin = self.places[0].offset;
        let end = match self.places.get(n + 1) {
            Some(next) => (next.offset - begin) as usize,
            None => self.bytes.len(),
        };
        let bytes = self.bytes[(at.offset - begin) as usize..end].to_vec();
        Some(RawLogLine { at, bytes })
    }
}
