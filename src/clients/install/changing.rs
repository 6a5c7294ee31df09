//! The change of one file, with a backup of the original.

use super::{notes, read_backup, text};
use crate::base::error::Result;
use crate::base::written_path::write_path;
use crate::clients::kind::Client;
use crate::disk::{UserFile, layout};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// The kind of a file's change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FileChangeKind {
    /// A new file.
    Made,
    /// A changed file.
    Changed,
    /// A removed file, which contained only our entries, or the empty directory of one.
    Removed,
    /// No change: the file already had a mailbag entry of the user's own. A backup records that.
    Kept,
}

/// A file's change.
#[derive(Debug, Serialize)]
pub struct FileChange {
    /// Its path.
    #[serde(serialize_with = "write_path")]
    pub path: PathBuf,
    /// The kind of change.
    pub change: FileChangeKind,
    /// The backup of the original file.
    #[serde(serialize_with = "write_path")]
    pub backup: Option<PathBuf>,
    /// The change, as a unified diff.
    pub diff: String,
    #[serde(skip)]
    pub(in crate::clients) original: UserFile,
    #[serde(skip)]
    pub(in crate::clients) after: Option<String>,
    #[serde(skip)]
    pub(in crate::clients) keep: BackupAction,
}

/// The fate of the backup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::clients) enum BackupAction {
    /// Create it.
    Make,
    /// Leave it.
    Leave,
    /// Remove it: the file has its original content.
    Drop,
}

impl FileChange {
    /// Makes the change. After a kill at any point, an uninstallation gets the same result.
    pub(super) fn apply(&self) -> Result<()> {
        let backup = read_backup(&self.path)?;
        match (self.keep, &self.after) {
            (BackupAction::Make, _) => self.original.keep(&layout::backup(&self.path))?,
            // After a kill, the backup must also show the text to restore.
            (BackupAction::Drop, Some(text)) if backup.bytes() != Some(text.as_bytes()) => {
                backup.write(text.as_bytes())?
            }
            _ => {}
        }
        match &self.after {
            Some(_) if self.change == FileChangeKind::Kept => {}
            Some(text) => self.original.write(text.as_bytes())?,
            None => {
                self.original.remove()?;
                let own: Vec<&str> = Client::ALL
                    .iter()
                    .flat_map(|client| client.facts().directories)
                    .copied()
                    .collect();
                self.original
                    .remove_empty_directories(|name| own.contains(&name))?;
            }
        }
        match self.keep {
            BackupAction::Drop => read_backup(&self.path)?.remove(),
            BackupAction::Make | BackupAction::Leave => Ok(()),
        }
    }
}

/// The change of a file.
pub(in crate::clients) fn changing(
    path: &Path,
    original: &UserFile,
    after: Option<String>,
    keep: BackupAction,
) -> Result<FileChange> {
    let before = text(original)?;
    let change = match (before, &after) {
        (_, None) => FileChangeKind::Removed,
        (None, _) => FileChangeKind::Made,
        (Some(before), Some(after)) if before == after => FileChangeKind::Kept,
        _ => FileChangeKind::Changed,
    };
    let is_kept = match keep {
        BackupAction::Make => true,
        BackupAction::Leave => read_backup(path)?.bytes().is_some(),
        BackupAction::Drop => false,
    };
    Ok(FileChange {
        path: path.to_path_buf(),
        change,
        backup: is_kept.then(|| layout::backup(path)),
        diff: notes::diff(path, before, after.as_deref()),
        original: original.clone(),
        after,
        keep,
    })
}
