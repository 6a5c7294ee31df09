//! The paths of the archive and of archived files.

use super::{ARCHIVE, LOG, segment, segment_number};
use crate::base::clock::Stamp;
use std::path::{Path, PathBuf};

/// The path of a file in the archive.
pub fn archived(name: impl AsRef<Path>) -> PathBuf {
    Path::new(ARCHIVE).join(name)
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

/// The name of a tar, such as `20261121T103000.123456Z.tar.zst`.
pub fn pack(at: Stamp) -> String {
    format!("{}.tar.zst", at.file_name())
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
