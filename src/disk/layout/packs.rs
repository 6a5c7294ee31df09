//! The paths of the archive and of archived files.

use super::{ARCHIVE, LOG, segment, segment_number};
use crate::base::clock::Stamp;
use std::path::{Path, PathBuf};

/// The archive's directory for a month.
pub fn archive(month: &str) -> PathBuf {
    Path::new(ARCHIVE).join(month)
}

/// The path of a file in the archive.
pub fn archived(month: &str, name: impl AsRef<Path>) -> PathBuf {
    archive(month).join(name)
}

/// The path of a segment outside the archive.
pub fn live_segment(number: u32) -> PathBuf {
    Path::new(LOG).join(segment(number))
}

/// The name of a log segment in the archive.
pub fn archived_segment(number: u32) -> String {
    format!("log-{}.zst", segment(number))
}

/// The number in an archived segment's name.
pub fn archived_segment_number(name: &str) -> Option<u32> {
    segment_number(name.strip_prefix("log-")?.strip_suffix(".zst")?)
}

/// The name of a pack of files of one kind, such as `sent-20261121T103000.123456Z.tar.zst`.
pub fn pack(kind: &str, at: Stamp) -> String {
    format!("{kind}-{}.tar.zst", at.file_name())
}

/// The month and the name in the path of a pack. `None` for another path.
pub fn read_pack(path: &str) -> Option<(&str, &str)> {
    let (month, name) = path
        .strip_prefix(ARCHIVE)?
        .strip_prefix('/')?
        .split_once('/')?;
    let is_pack = !name.starts_with('.') && !name.contains('/') && name.ends_with(".tar.zst");
    (is_month(month) && is_pack).then_some((month, name))
}

/// Returns true for the name of a month's directory in the archive.
pub fn is_month(name: &str) -> bool {
    name.split_once('-').is_some_and(|(year, month)| {
        year.len() == 4 && month.len() == 2 && is_number(year) && is_number(month)
    })
}

fn is_number(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The directory and the name of a path in the room. `None` for a path that leads out of the room.
pub fn split(path: &Path) -> Option<(&Path, &std::ffi::OsStr)> {
    let is_plain = path
        .components()
        .all(|part| matches!(part, std::path::Component::Normal(_)));
    if is_plain {
        path.parent().zip(path.file_name())
    } else {
        None
    }
}

/// The name of a compressed shared file.
pub fn compressed(name: &str) -> String {
    format!("{name}.zst")
}

/// Returns true for the name of a compressed shared file.
pub fn is_compressed(name: &str) -> bool {
    name.ends_with(".zst")
}

/// The name of an unfinished pack.
pub fn draft(name: &str) -> String {
    format!(".tmp-{name}")
}

/// Returns true for a name of [`draft`].
pub fn is_draft(name: &str) -> bool {
    name.starts_with(".tmp-") && name.ends_with(".zst")
}
