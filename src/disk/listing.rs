//! The names in a directory, read one after the other.

use super::fs::{DirectoryEntry, Listing};
use crate::base::error::{ErrorContext, Result};
use std::path::Path;
use std::sync::Arc;

/// An iterator over the names in a directory.
pub struct DirectoryListing {
    pub(super) entries: Listing,
    pub(super) path: Arc<Path>,
}

impl Iterator for DirectoryListing {
    type Item = Result<DirectoryEntry>;

    fn next(&mut self) -> Option<Result<DirectoryEntry>> {
        Some(self.entries.next()?.doing("list", &self.path))
    }
}
