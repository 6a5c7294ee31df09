//! The effect of a power cut on synced data, as far as an unprivileged process can find out.

use super::Dir;
use crate::base::test_variable;

/// The synced files and names that a power cut preserves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keeps {
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
pub fn keeps(dir: &Dir) -> Keeps {
    match test_variable("MAILBAG_TEST_KEEPS").as_deref() {
        None => read_kind(dir),
        Some("all") => Keeps::All,
        Some("nothing") => Keeps::Nothing,
        Some("no-journal") => Keeps::NoJournal,
        Some(_) => Keeps::Unknown,
    }
}

/// Decides by the kind of file system. The magic numbers are in statfs(2).
#[cfg(target_os = "linux")]
#[allow(clippy::unnecessary_cast)] // The field's type differs between processors.
fn read_kind(dir: &Dir) -> Keeps {
    const TMPFS: i64 = 0x0102_1994;
    const RAMFS: i64 = 0x8584_58f6;
    const EXT: i64 = 0xef53;
    const XFS: i64 = 0x5846_5342;
    const BTRFS: i64 = 0x9123_683e;
    let Ok(stat) = rustix::fs::fstatfs(dir) else {
        return Keeps::Unknown;
    };
    match stat.f_type as i64 & 0xffff_ffff {
        TMPFS | RAMFS => Keeps::Nothing,
        XFS | BTRFS => Keeps::All,
        EXT => journal(dir).unwrap_or(Keeps::Unknown),
        _ => Keeps::Unknown,
    }
}

/// ext2, ext3 and ext4 have the same number. The process that writes the journal, if there is one, is listed below
/// `/sys` under the device's name.
#[cfg(target_os = "linux")]
fn journal(dir: &Dir) -> Option<Keeps> {
    let device = dir.meta().ok()?.device;
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    let device = std::fs::read_link(format!("/sys/dev/block/{major}:{minor}")).ok()?;
    let name = device.file_name()?.to_str()?;
    let task = std::fs::read_to_string(format!("/sys/fs/ext4/{name}/journal_task")).ok()?;
    Some(if task.trim() == "<none>" {
        Keeps::NoJournal
    } else {
        Keeps::All
    })
}

#[cfg(not(target_os = "linux"))]
fn read_kind(_: &Dir) -> Keeps {
    Keeps::Unknown
}
