//! Failpoints: each disables one protection, in test builds only, so that the crash sweeps can prove that they detect
//! the missing protection. Example: `MAILBAG_FAILPOINT=stage-sync`. In other builds every protection is enabled at no
//! cost.

/// A protection. A sweep must detect its absence. `MAILBAG_FAILPOINT` has the names of variants in kebab case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(
    feature = "failpoints",
    derive(serde::Deserialize),
    serde(rename_all = "kebab-case")
)]
pub enum Failpoint {
    /// The barrier before a batch is appended to the log.
    StageSync,
    /// The sync of the log.
    LogSync,
    /// The barrier before a record counts as settled.
    SettledBarrier,
    /// The sync of everything that recovery is about to read.
    RecoveryBarrier,
    /// Writing the last batch of the log again before recovery acts on it.
    Rewrite,
    /// The check of the conversations for missing data, after a boot or a failed sync.
    Holes,
    /// The lookup of (sender, id).
    DuplicateCheck,
    /// Renames that never replace another file.
    NoReplace,
    /// The check whether a file that cannot be moved already exists at its target, under its second name.
    SecondName,
    /// The rename out of the outbox before a message is read.
    Claim,
    /// The sync of a pack before its sources are removed.
    ArchiveSync,
    /// The sync of a backup before it counts as complete.
    BackupSync,
    /// The sync of recorded consent before it replaces the earlier record.
    TrustSync,
    /// The note of the end of the committed log, for readers.
    CommittedNote,
    /// The comparison of the log with the log after the previous batch.
    LogCheck,
    /// The comparison of the log with the evidence of later records, at the start of a router.
    LogEvidence,
    /// The record of a notice before the file that caused it is moved away.
    NoticeRecord,
    /// The removal of temporary files of killed programs.
    Leftovers,
}

/// Returns true if this protection is enabled. Only the environment of a test build can disable it.
#[inline]
pub fn on(protection: Failpoint) -> bool {
    !off(protection)
}

#[cfg(not(feature = "failpoints"))]
fn off(_: Failpoint) -> bool {
    false
}

#[cfg(feature = "failpoints")]
fn off(protection: Failpoint) -> bool {
    static OFF: std::sync::LazyLock<Vec<Failpoint>> = std::sync::LazyLock::new(|| {
        let names = std::env::var("MAILBAG_FAILPOINT").unwrap_or_default();
        let names = names.split(',').map(serde_json::Value::from);
        names
            .filter_map(|name| serde_json::from_value(name).ok())
            .collect()
    });
    OFF.contains(&protection)
}

/// The size of a complete log segment. Test builds can reduce it.
pub fn segment_bytes() -> u64 {
    shrunk("MAILBAG_TEST_SEGMENT_BYTES").unwrap_or(crate::base::limits::SEGMENT_BYTES)
}

/// The most files in one pack of the archive. Test builds can reduce it.
pub fn pack_files() -> usize {
    shrunk("MAILBAG_TEST_PACK_FILES").map_or(crate::base::limits::PACK_FILES, |n| n as usize)
}

/// The time that a file with an invalid name may stay in an outbox before its agent is notified. Test builds can reduce it.
pub fn stray() -> std::time::Duration {
    shrunk("MAILBAG_TEST_STRAY_MS")
        .map_or(crate::base::limits::STRAY, std::time::Duration::from_millis)
}

/// The time before a command shows its progress. Test builds can reduce it.
pub fn progress_delay() -> std::time::Duration {
    shrunk("MAILBAG_TEST_PROGRESS_MS").map_or(
        std::time::Duration::from_secs(1),
        std::time::Duration::from_millis,
    )
}

/// A fixed limit for the copies in a batch. Only test builds can set it.
pub fn batch_copies() -> Option<usize> {
    shrunk("MAILBAG_TEST_BATCH_COPIES").map(|n| n as usize)
}

/// The most ids in a checkpoint. Only test builds can set it.
pub fn recent_ids() -> Option<usize> {
    shrunk("MAILBAG_TEST_RECENT_IDS").map(|n| n as usize)
}

/// A checkpoint is written after the log has grown by this many bytes. Only test builds can set it.
pub fn checkpoint_bytes() -> Option<u64> {
    shrunk("MAILBAG_TEST_CHECKPOINT_BYTES")
}

/// The time limit for writing the copies of one batch. Test builds can reduce it.
pub fn stage_time() -> std::time::Duration {
    shrunk("MAILBAG_TEST_STAGE_MS").map_or(
        crate::base::limits::STAGE_TIME,
        std::time::Duration::from_millis,
    )
}

/// The most items of a link in one record that sends them again. Test builds can reduce it.
pub fn items_of_record() -> usize {
    shrunk("MAILBAG_TEST_ITEMS_OF_RECORD")
        .map_or(crate::base::limits::ITEMS_OF_RECORD, |n| n as usize)
}

/// The most items of a link that are sent again. Test builds can reduce it.
pub fn items_again() -> usize {
    shrunk("MAILBAG_TEST_ITEMS_AGAIN").map_or(crate::base::limits::ITEMS_AGAIN, |n| n as usize)
}

/// The most receipts of an item of a link. Test builds can reduce it.
pub fn receipts_of_item() -> usize {
    shrunk("MAILBAG_TEST_RECEIPTS_OF_ITEM")
        .map_or(crate::base::limits::RECEIPTS_OF_ITEM, |n| n as usize)
}

/// The most receipts of a record. Test builds can reduce it.
pub fn receipts_of_record() -> usize {
    shrunk("MAILBAG_TEST_RECEIPTS_OF_RECORD")
        .map_or(crate::base::limits::RECEIPTS_OF_RECORD, |n| n as usize)
}

/// The time that the peer of a carrier may be silent. Test builds can reduce it.
pub fn carrier_silence() -> std::time::Duration {
    shrunk("MAILBAG_TEST_SILENCE_MS").map_or(
        crate::base::limits::CARRIER_SILENCE,
        std::time::Duration::from_millis,
    )
}

fn shrunk(name: &str) -> Option<u64> {
    if cfg!(feature = "failpoints") {
        std::env::var(name).ok().and_then(|n| n.parse().ok())
    } else {
        None
    }
}
