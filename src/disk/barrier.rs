//! The barrier: collects the files and directories that were changed since the last barrier, and makes all of them
//! durable.

use super::failpoint::{self, Failpoint};
use super::{Dir, SyncOrder, can_sync_all, system};
use crate::base::error::{Error, Result};
use crate::base::limits;
use std::fs::File;
use std::os::fd::AsFd;
use std::path::Path;
use std::path::PathBuf;

/// The largest number of files that are written back one by one before the log is synced. For more, the whole file
/// system is synced.
const WRITE_BACK_ONE_BY_ONE: usize = 16;

/// The events that a room's files survive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Durability {
    /// A kill, a crash of the program, and a power cut.
    #[default]
    Power,
    /// A kill and a crash of the program. For tmpfs, tests and temporary rooms.
    Process,
}

/// Collects the files and directories that were changed since the last barrier. Up to [`limits::SYNC_ONE_BY_ONE`] are
/// synced one by one. For more, the whole file system is synced, which costs the same for one file and for thousands. A
/// system that cannot sync a whole file system syncs the collected ones early, because each keeps a descriptor open.
pub struct Barrier {
    durability: Durability,
    order: SyncOrder,
    root: Dir,
    files: Vec<(File, PathBuf)>,
    dirs: Vec<Dir>,
    /// Too many changes to know each: a barrier syncs the whole file system.
    many: bool,
    /// The same for directories alone, in the order by the journal. Their names become durable with the log.
    many_dirs: bool,
    /// The error of an early sync.
    failed: Option<Error>,
}

impl Barrier {
    /// Creates a barrier for the file system of `root`. It syncs each file and directory until [`Barrier::set_order`].
    pub fn new(durability: Durability, root: Dir) -> Barrier {
        Barrier {
            durability,
            order: SyncOrder::Each,
            root,
            files: Vec::new(),
            dirs: Vec::new(),
            many: false,
            many_dirs: false,
            failed: None,
        }
    }

    /// Notes that a file was written, to its end.
    pub fn file(&mut self, file: File, path: impl FnOnce() -> PathBuf) {
        if self.durability == Durability::Power && !self.many {
            self.files.push((file, path()));
            self.look_if_many();
        }
    }

    /// Notes that a name was created or removed in this directory.
    pub fn dir(&mut self, dir: &Dir) {
        if self.durability == Durability::Power
            && !self.many
            && !self.many_dirs
            && self.place_of(dir).is_none()
        {
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
        self.many = self.durability == Durability::Power && can_sync_all();
    }

    /// Returns true if all changes are durable.
    pub fn is_empty(&self) -> bool {
        let is_known = !self.many && !self.many_dirs && self.failed.is_none();
        is_known && self.files.is_empty() && self.dirs.is_empty()
    }

    /// Sets the order of the syncs of the next batches. For when everything was made durable by a batch.
    pub fn set_order(&mut self, order: SyncOrder) {
        self.order = order;
    }

    /// Prepares the append of a batch to the log. In the order by the journal, only the content of files is written back:
    /// the sync of the log makes the content and all names durable. Otherwise this is [`Barrier::pass`].
    pub fn pass_before_append(&mut self) -> Result<()> {
        if !failpoint::on(Failpoint::StageSync) {
            self.files.clear();
            return Ok(());
        }
        if self.order == SyncOrder::Each || self.many || self.failed.is_some() {
            return self.pass();
        }
        for (file, path) in &self.files {
            let done = system::write_back(file, failpoint::on(Failpoint::WriteBackWait));
            done.map_err(|source| Error::Sync {
                path: path.clone(),
                source,
            })?;
        }
        self.files.clear();
        Ok(())
    }

    /// Notes that a batch is durable in the log. In the order by the journal, all earlier changes of names are durable.
    pub fn log_synced(&mut self) {
        if self.order == SyncOrder::Journal {
            self.dirs.clear();
            self.many_dirs = false;
        }
    }

    /// Makes all collected changes durable. After it returns, a power cut preserves every collected file and name. A
    /// failure is final: the system may have discarded unwritten data, so a second sync could report success wrongly.
    pub fn pass(&mut self) -> Result<()> {
        if let Some(failed) = self.failed.take() {
            return Err(failed);
        }
        if self.many || self.many_dirs {
            system::sync_all(self.root.as_fd()).map_err(|source| Error::Sync {
                path: self.root.path().to_path_buf(),
                source,
            })?;
            (self.many, self.many_dirs) = (false, false);
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
            system::sync_file(file.as_fd()).map_err(|source| Error::Sync {
                path: path.clone(),
                source,
            })?;
        }
        dirs.iter().try_for_each(Dir::sync)
    }

    fn look_if_many(&mut self) {
        let (files, dirs) = (self.files.len(), self.dirs.len());
        if self.order == SyncOrder::Journal {
            if dirs > limits::SYNC_ONE_BY_ONE {
                self.many_dirs = true;
                self.dirs.clear();
            }
            if files > WRITE_BACK_ONE_BY_ONE {
                self.many = true;
                self.files.clear();
            }
        } else if files + dirs > limits::SYNC_ONE_BY_ONE {
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
