//! Sizes and delays that a test can reduce, so that it needs few files and little time. In other builds they are the limits.

use super::{limits, test_variable};
use std::time::Duration;

/// The size of a complete log segment. Tests can reduce it.
pub fn segment_bytes() -> u64 {
    shrunk("MAILBAG_TEST_SEGMENT_BYTES").unwrap_or(limits::SEGMENT_BYTES)
}

/// The most files in one pack of the archive. Tests can reduce it.
pub fn pack_files() -> usize {
    shrunk("MAILBAG_TEST_PACK_FILES").map_or(limits::PACK_FILES, |n| n as usize)
}

/// The time that a file with an invalid name may stay in an outbox before its agent is notified. Tests can reduce it.
pub fn stray() -> Duration {
    shrunk("MAILBAG_TEST_STRAY_MS").map_or(limits::STRAY, Duration::from_millis)
}

/// The time before a command shows its progress. Tests can reduce it.
pub fn progress_delay() -> Duration {
    shrunk("MAILBAG_TEST_PROGRESS_MS").map_or(Duration::from_secs(1), Duration::from_millis)
}

/// The most copies of the files of a batch. Tests can reduce it.
pub fn batch_copies() -> usize {
    shrunk("MAILBAG_TEST_BATCH_COPIES").map_or(limits::BATCH_COPIES, |n| n as usize)
}

/// The most entries of the index in the state. Tests can reduce it.
pub fn recent_entries() -> usize {
    shrunk("MAILBAG_TEST_RECENT_ENTRIES").map_or(limits::RECENT_ENTRIES, |n| n as usize)
}

/// A snapshot is written after the log has grown by this many bytes. Only tests can set it.
pub fn snapshot_bytes() -> Option<u64> {
    shrunk("MAILBAG_TEST_SNAPSHOT_BYTES")
}

/// The most receipts of an item of a link. Tests can reduce it.
pub fn receipts_of_item() -> usize {
    shrunk("MAILBAG_TEST_RECEIPTS_OF_ITEM").map_or(limits::RECEIPTS_OF_ITEM, |n| n as usize)
}

/// The most receipts of a record. Tests can reduce it.
pub fn receipts_of_record() -> usize {
    shrunk("MAILBAG_TEST_RECEIPTS_OF_RECORD").map_or(limits::RECEIPTS_OF_RECORD, |n| n as usize)
}

/// The time that the peer of a carrier may be silent. Tests can reduce it.
pub fn carrier_silence() -> Duration {
    shrunk("MAILBAG_TEST_SILENCE_MS").map_or(limits::CARRIER_SILENCE, Duration::from_millis)
}

fn shrunk(name: &str) -> Option<u64> {
    test_variable(name)?.parse().ok()
}
