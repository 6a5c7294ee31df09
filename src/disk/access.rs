//! Permissions of new files and directories.

use rustix::fs::Mode;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

/// The permissions of new files and directories, before the umask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NewFileAccess {
    /// Outside rooms. The umask decides who may read, and no other user may write: files of clients name programs to run.
    Umask,
    /// In a room: for its owner only.
    Owner,
}

/// Creates a directory outside rooms, and missing parents.
pub(super) fn make_outside(path: &Path) -> std::io::Result<()> {
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o755)
        .create(path)
}

impl NewFileAccess {
    pub(super) fn directory(self) -> Mode {
        Mode::from_raw_mode(match self {
            NewFileAccess::Umask => 0o755,
            NewFileAccess::Owner => 0o700,
        })
    }

    pub(super) fn file(self) -> Mode {
        Mode::from_raw_mode(match self {
            NewFileAccess::Umask => 0o644,
            NewFileAccess::Owner => 0o600,
        })
    }
}
