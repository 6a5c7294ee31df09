//! The effect of a power cut on synced data, as far as an unprivileged process can find out.

use super::Dir;
#[cfg(target_os = "linux")]
use super::system;
use crate::base::test_variable;

/// The synced files and names that a power cut preserves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PowerCutSafety {
    /// Everything: the file system has a journal or a log, which is replayed at the next mount.
    All,
    /// Nothing: the file system is in memory.
    Nothing,
    /// The content, but not reliably the names: the file system has no journal.
    NoJournal,
    /// The system does not report it.
    Unknown,
}

/// Finds out how the file system of a directory survives a power cut.
pub fn keeps(dir: &Dir) -> PowerCutSafety {
    match test_variable("MAILBAG_TEST_KEEPS").as_deref() {
        None => read_kind(dir),
        Some("all") => PowerCutSafety::All,
        Some("nothing") => PowerCutSafety::Nothing,
        Some("no-journal") => PowerCutSafety::NoJournal,
        Some(_) => PowerCutSafety::Unknown,
    }
}

/// The number of ext2, ext3 and ext4: statfs(2).
pub(super) const EXT: i64 = 0xef53;
/// The number of xfs.
pub(super) const XFS: i64 = 0x5846_5342;

/// Decides by the kind of file system. The magic numbers are in statfs(2).
#[cfg(target_os = "linux")]
fn read_kind(dir: &Dir) -> PowerCutSafety {
    const TMPFS: i64 = 0x0102_1994;
    const RAMFS: i64 = 0x8584_58f6;
    const BTRFS: i64 = 0x9123_683e;
    match magic(dir) {
        Some(TMPFS | RAMFS) => PowerCutSafety::Nothing,
        Some(XFS | BTRFS) => PowerCutSafety::All,
        Some(EXT) => journal(dir).unwrap_or(PowerCutSafety::Unknown),
        _ => PowerCutSafety::Unknown,
    }
}

/// The number of a directory's file system.
#[cfg(target_os = "linux")]
pub(super) fn magic(dir: &Dir) -> Option<i64> {
    rustix::fs::fstatfs(dir)
        .ok()
        .map(|stat| system::magic(&stat))
}

#[cfg(not(target_os = "linux"))]
pub(super) fn magic(_: &Dir) -> Option<i64> {
    None
}

/// ext2, ext3 and ext4 have the same number. The process that writes the journal, if there is one, is listed below
/// `/sys` under the device's name.
#[cfg(target_os = "linux")]
fn journal(dir: &Dir) -> Option<PowerCutSafety> {
    let name = device_name(dir.meta().ok()?.device)?;
    let task = std::fs::read_to_string(format!("/sys/fs/ext4/{name}/journal_task")).ok()?;
    Some(if task.trim() == "<none>" {
        PowerCutSafety::NoJournal
    } else {
        PowerCutSafety::All
    })
}

#[cfg(not(target_os = "linux"))]
fn read_kind(_: &Dir) -> PowerCutSafety {
    PowerCutSafety::Unknown
}

/// The numbers of a device, as in `/sys/dev/block` and in the table of mounts.
pub(super) fn device_numbers(device: u64) -> String {
    let (major, minor) = (
        rustix::fs::major(device as _),
        rustix::fs::minor(device as _),
    );
    format!("{major}:{minor}")
}

/// The name of a block device, as in `/sys/block`.
pub(super) fn device_name(device: u64) -> Option<String> {
    let place = format!("/sys/dev/block/{}", device_numbers(device));
    let name = std::fs::read_link(place).ok()?;
    Some(name.file_name()?.to_str()?.to_owned())
}
