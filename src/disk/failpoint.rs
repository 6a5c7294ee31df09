//! Switches that turn one protection off each, in builds for tests only, so that the crash sweeps can show that they
//! notice: `MAILBAG_FAULT=stage-sync` and so on. In any other build every protection is on and this costs nothing.

/// A protection that a sweep must miss when it is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protection {
    /// The sync of staged files before their records are written.
    StageSync,
    /// The barrier before a record counts as settled.
    SettledBarrier,
    /// The sync of everything that recovery is about to read.
    RecoveryBarrier,
    /// The rewrite of the last batch of the log before recovery acts on it.
    Rewrite,
    /// The note that a sync failed, which makes the next recovery look for holes in the conversations.
    SyncNote,
    /// The look-up of (sender, id).
    DuplicateCheck,
    /// Renames that never go over another file.
    NoReplace,
    /// The look whether a file that can't be moved stands at its target already, under its second name.
    SecondName,
    /// The rename out of the outbox before a message is read.
    Claim,
    /// The note of the pack whose sources are being removed.
    ArchiveNote,
    /// The sync of a pack before its sources are removed.
    ArchiveSync,
}

impl Protection {
    /// How `MAILBAG_FAULT` names it.
    pub fn name(self) -> &'static str {
        match self {
            Protection::StageSync => "stage-sync",
            Protection::SettledBarrier => "settled-barrier",
            Protection::RecoveryBarrier => "recovery-barrier",
            Protection::Rewrite => "rewrite",
            Protection::SyncNote => "sync-note",
            Protection::DuplicateCheck => "duplicate-check",
            Protection::NoReplace => "no-replace",
            Protection::SecondName => "second-name",
            Protection::Claim => "claim",
            Protection::ArchiveNote => "archive-note",
            Protection::ArchiveSync => "archive-sync",
        }
    }
}

/// Is this protection on? Always, except in a build for tests that was told otherwise.
#[inline]
pub fn on(protection: Protection) -> bool {
    !off(protection)
}

#[cfg(not(feature = "faults"))]
fn off(_: Protection) -> bool {
    false
}

#[cfg(feature = "faults")]
fn off(protection: Protection) -> bool {
    static OFF: std::sync::LazyLock<Option<String>> = std::sync::LazyLock::new(|| std::env::var("MAILBAG_FAULT").ok());
    OFF.as_deref().is_some_and(|names| names.split(',').any(|name| name == protection.name()))
}

/// The size at which a log segment is followed by a new one; builds for tests may shrink it.
pub fn segment_bytes() -> u64 {
    shrunk("MAILBAG_TEST_SEGMENT_BYTES").unwrap_or(crate::base::limits::SEGMENT_BYTES)
}

/// The most files in one pack of the archive; builds for tests may shrink it.
pub fn pack_files() -> usize {
    shrunk("MAILBAG_TEST_PACK_FILES").map_or(crate::base::limits::PACK_FILES, |n| n as usize)
}

/// How long a file that will never be taken stands in an outbox before its agent is told; builds for tests may shrink it.
pub fn stray() -> std::time::Duration {
    shrunk("MAILBAG_TEST_STRAY_MS").map_or(crate::base::limits::STRAY, std::time::Duration::from_millis)
}

/// The most copies of a batch, whatever the disk is like; builds for tests may set it.
pub fn batch_copies() -> Option<usize> {
    shrunk("MAILBAG_TEST_BATCH_COPIES").map(|n| n as usize)
}

fn shrunk(name: &str) -> Option<u64> {
    if cfg!(feature = "faults") { std::env::var(name).ok().and_then(|n| n.parse().ok()) } else { None }
}
