//! Checks lines of the log in their order: each is a record that follows the previous line, in complete batches.

use super::RawLogLine;
use crate::base::hash::{Hash, NO_HASH, hex};
use crate::message::record::{Event, Record};

/// The end of the checked part of the log, which the next line must follow.
pub struct LogChain {
    prev: Hash,
    seq: u64,
    batch: u64,
    /// The number of records of an incomplete batch; 0 after a complete one.
    records: u32,
}

impl LogChain {
    /// Before the first line of a log.
    pub fn start() -> LogChain {
        LogChain::after(NO_HASH, 0, 0)
    }

    /// After a complete batch: the hash of its last line, the number of its last record, and its own number.
    pub fn after(prev: Hash, seq: u64, batch: u64) -> LogChain {
        LogChain {
            prev,
            seq,
            batch,
            records: 0,
        }
    }

    /// Checks the next line and returns its record, or the reason why the line is damaged.
    pub fn take(&mut self, line: &RawLogLine) -> Result<Record, String> {
        if line.bytes.last() != Some(&b'\n') {
            return Err("the line is incomplete".into());
        }
        let record: Record = line
            .record()
            .map_err(|e| format!("it is not a record: {e}"))?;
        if record.prev != self.prev {
            let (has, wants) = (hex(&record.prev), hex(&self.prev));
            return Err(format!(
                "the chain is broken: prev is {has}, but the previous line's hash is {wants}"
            ));
        }
        if record.seq != self.seq + 1 && !self.is_after_gap(&record) {
            return Err(format!(
                "its seq is {}, but {} was expected",
                record.seq,
                self.seq + 1
            ));
        }
        self.records = self.records_after(&record)?;
        (self.prev, self.seq, self.batch) = (line.hash(), record.seq, record.batch);
        Ok(record)
    }

    /// Only the record that accepts a gap may leave numbers out, and only the numbers of the lost records.
    fn is_after_gap(&self, record: &Record) -> bool {
        let Event::Gap { gap, .. } = &record.event else {
            return false;
        };
        gap.from <= self.seq + 1 && gap.to > self.seq && gap.to.checked_add(1) == Some(record.seq)
    }

    fn records_after(&self, record: &Record) -> Result<u32, String> {
        let batch = self.batch + u64::from(self.is_complete());
        if record.batch != batch {
            return Err(format!(
                "its batch is {}, but {batch} was expected",
                record.batch
            ));
        }
        let records = self.records + 1;
        match record.count {
            None => Ok(records),
            Some(count) if count == records => Ok(0),
            Some(count) => Err(format!(
                "its batch has {records} records, but {count} were expected"
            )),
        }
    }

    /// Returns true if the last line completes its batch.
    pub fn is_complete(&self) -> bool {
        self.records == 0
    }

    /// The hash of the last line.
    pub fn hash(&self) -> Hash {
        self.prev
    }

    /// The number of the last record.
    pub fn seq(&self) -> u64 {
        self.seq
    }

    /// The number of the last record's batch.
    pub fn batch(&self) -> u64 {
        self.batch
    }
}
