//! File systems that are known to keep synced data through a power cut.

use super::Dir;
use crate::base::test_variable;

/// The synced files and names that a power cut preserves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PowerCutSafety {
    /// Everything: the file system has a journal or a log, which is replayed at the next mount.
    All,
    /// Nothing: the file system is in memory.
    Nothing,
    /// Not known.
    Unknown,
}

/// Finds out how the file system of a directory survives a power cut.
pub fn keeps(dir: &Dir) -> PowerCutSafety {
    match test_variable("MAILBAG_TEST_KEEPS").as_deref() {
        None => read_kind(dir),
        Some("all") => PowerCutSafety::All,
        Some("nothing") => PowerCutSafety::Nothing,
        Some(_) => PowerCutSafety::Unknown,
    }
}

/// Decides by the kind of file system. The numbers are in statfs(2). ext2 has the number of ext4.
fn read_kind(dir: &Dir) -> PowerCutSafety {
    const TMPFS: i64 = 0x0102_1994;
    const RAMFS: i64 = 0x8584_58f6;
    const EXT: i64 = 0xef53;
    const XFS: i64 = 0x5846_5342;
    const BTRFS: i64 = 0x9123_683e;
    match dir.fs.volume().map(|volume| volume.magic) {
        Some(TMPFS | RAMFS) => PowerCutSafety::Nothing,
        Some(EXT | XFS | BTRFS) => PowerCutSafety::All,
        _ => PowerCutSafety::Unknown,
    }
}
