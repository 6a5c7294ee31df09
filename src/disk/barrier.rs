//! The barrier: collects the files and directories that were changed since the last barrier, and makes all of them
//! durable.

use super::directory::synced;
use super::fs::Sync;
use super::{Dir, File, can_sync_all};
use crate::base::error::{Error, Result};
use crate::base::limits;
use std::path::Path;
use std::path::PathBuf;

/// Collects the files and directories that were changed since the last barrier. Up to [`limits::SYNC_ONE_BY_ONE`] are
/// synced one by one. For more, the whole file system is synced, which costs the same for one file and for thousands. A
/// system that cannot sync a whole file system syncs the collected ones early, because each keeps a descriptor open.
pub struct Barrier {
    root: Dir,
    files: Vec<(File, PathBuf)>,
    dirs: Vec<Dir>,
    /// Too many changes to know each: a barrier syncs the whole file system.
    many: bool,
    /// The error of an early sync.
    failed: Option<Error>,
}

impl Barrier {
    /// Creates a barrier for the file system of `root`.
    pub fn new(root: Dir) -> Barrier {
        Barrier {
            root,
            files: Vec::new(),
            dirs: Vec::new(),
            many: false,
            failed: None,
        }
    }

    /// Notes that a file was written, to its end.
    pub fn file(&mut self, file: File, path: impl FnOnce() -> PathBuf) {
        if !self.many {
            self.files.push((file, path()));
            self.look_if_many();
        }
    }

    /// Notes that a name was created or removed in this directory.
    pub fn dir(&mut self, dir: &Dir) {
        if !self.many && self.place_of(dir).is_none() {
            self.dirs.push(dir.clone());
            self.look_if_many();
        }
    }

    /// Notes that a file was moved between two directories. The source directory is synced first, even if the target
    /// was noted earlier: on btrfs a power cut between the two syncs in the other order leaves both names.
    pub fn moved(&mut self, from: &Dir, to: &Dir) {
        match (self.place_of(from), self.place_of(to)) {
            (None, Some(at)) => {
                self.dirs.insert(at, from.clone());
                self.look_if_many();
            }
            _ => {
                self.dir(from);
                self.dir(to);
            }
        }
    }

    fn place_of(&self, dir: &Dir) -> Option<usize> {
        self.dirs.iter().position(|noted| noted.path == dir.path)
    }

    /// Requires a sync of the whole file system, because the changed files are not known.
    pub fn everything(&mut self) {
        self.many = can_sync_all();
    }

    /// Returns true if all changes are durable.
    pub fn is_empty(&self) -> bool {
        let is_known = !self.many && self.failed.is_none();
        is_known && self.files.is_empty() && self.dirs.is_empty()
    }

    /// Makes all collected changes durable. After it returns, a power cut preserves every collected file and name. A
    /// failure is final: the system may have discarded unwritten data, so a second sync could report success wrongly.
    pub fn pass(&mut self) -> Result<()> {
        if let Some(failed) = self.failed.take() {
            return Err(failed);
        }
        if self.many {
            synced(self.root.fs.sync(Sync::All), || {
                self.root.path().to_path_buf()
            })?;
            self.many = false;
            self.files.clear();
            self.dirs.clear();
            return Ok(());
        }
        self.pass_one_by_one()
    }

    fn pass_one_by_one(&mut self) -> Result<()> {
        let (files, dirs) = (
            std::mem::take(&mut self.files),
            std::mem::take(&mut self.dirs),
        );
        for (file, path) in &files {
            synced(file.sync(), || path.clone())?;
        }
        dirs.iter().try_for_each(Dir::sync)
    }

    fn look_if_many(&mut self) {
        if self.files.len() + self.dirs.len() > limits::SYNC_ONE_BY_ONE {
            self.sync_many();
        }
    }

    fn sync_many(&mut self) {
        if can_sync_all() {
            self.many = true;
            self.files.clear();
            self.dirs.clear();
        } else if let Err(e) = self.pass_one_by_one() {
            self.failed.get_or_insert(e);
        }
    }
}

impl Dir {
    /// As [`Dir::make`], but durable only at the barrier.
    pub fn make_with(&self, below: impl AsRef<Path>, barrier: &mut Barrier) -> Result<Dir> {
        self.make_each(below.as_ref(), &mut |dir| {
            barrier.dir(dir);
            Ok(())
        })
    }
}
