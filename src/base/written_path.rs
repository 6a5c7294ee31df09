//! Paths in reports. JSON is text and a path may not be, so a byte that is not UTF-8 is written as `�`.

use serde::{Serialize, Serializer};
use std::borrow::Cow;
use std::path::PathBuf;

/// A field of a report with a path, an optional path, or a list of paths.
pub trait WrittenPath {
    /// Its text.
    fn to_text(&self) -> impl Serialize + '_;
}

impl WrittenPath for PathBuf {
    fn to_text(&self) -> impl Serialize + '_ {
        self.to_string_lossy()
    }
}

impl WrittenPath for Option<PathBuf> {
    fn to_text(&self) -> impl Serialize + '_ {
        self.as_ref().map(|path| path.to_string_lossy())
    }
}

impl WrittenPath for Vec<PathBuf> {
    fn to_text(&self) -> impl Serialize + '_ {
        self.iter()
            .map(|path| path.to_string_lossy())
            .collect::<Vec<Cow<'_, str>>>()
    }
}

/// Writes a field of a report: `#[serde(serialize_with = "write_path")]`.
pub fn write_path<P: WrittenPath, S: Serializer>(path: &P, to: S) -> Result<S::Ok, S::Error> {
    path.to_text().serialize(to)
}
