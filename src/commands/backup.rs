//! Makes a consistent copy of a room, even while it is in use.
//!
//! The router pauses between two batches, so that log, spool, inboxes and `sent/` agree. Files that agents move during the copy
//! are copied in the order of the moves, so that none is missed.

use crate::base::error::{Error, Result};
use crate::base::limits;
use crate::base::written_path::write_path;
use crate::disk::paths::PathQuestions;
use crate::disk::{self, Barrier, CopyResult, Dir, layout};
use crate::features;
use crate::features::archive::SkippedFile;
use crate::room::{LockAttempt, Room, RouterLock, RouterMode, check_expanded, pause};
use crate::router::daemon;
use rustix::fs::FileType;
use serde::Serialize;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// The result of a backup.
#[derive(Debug, Serialize)]
pub struct BackupReport {
    /// The room.
    #[serde(serialize_with = "write_path")]
    pub room: PathBuf,
    /// Its copy.
    #[serde(serialize_with = "write_path")]
    pub backup: PathBuf,
    /// Number of files.
    pub files: u64,
    /// Their size in bytes.
    pub bytes: u64,
    /// Skipped files, with the reason.
    pub skipped: Vec<SkippedFile>,
}

/// Copies a room into a new or empty directory. The copy is durable when this returns. An incomplete copy
/// contains the file `INCOMPLETE`, and no command uses it as a room. `progress` gets the number of copied files.
pub fn backup(room: &Room, asked: &Path, progress: &mut dyn FnMut(u64)) -> Result<BackupReport> {
    check_expanded(asked)?;
    // These locks stop archiving and routing.
    let _archive = room.lock_archive()?;
    let lock = match room.lock(RouterMode::Alongside, limits::LOCK_WAIT)? {
        LockAttempt::Ours(lock) => Some(lock),
        LockAttempt::Theirs(_) => None,
    };
    let to = empty(room, asked)?;
    let report = BackupReport {
        room: room.dir.path().to_path_buf(),
        backup: asked.to_path_buf(),
        files: 0,
        bytes: 0,
        skipped: Vec::new(),
    };
    let barrier = Barrier::new(to.clone());
    let mut run = BackupRun {
        room,
        lock,
        since: Instant::now(),
        from: &room.dir,
        to,
        barrier,
        report,
        progress,
    };
    run.begin()?;
    // Most files are copied now, so that delivery pauses for the others only.
    run.mail()?;
    run.since = Instant::now();
    let still = pause(&room.dir)?;
    run.all()?;
    let BackupRun { lock, report, .. } = run;
    drop((still, lock));
    // A sender that dropped a message during the backup may have relied on this process as its router.
    daemon::pass(room)?;
    Ok(report)
}

fn empty(room: &Room, asked: &Path) -> Result<Dir> {
    match Dir::open(asked) {
        Ok(dir) if dir.list()?.next().is_some() => {
            return Err(unsuitable(asked, "it is not empty"));
        }
        Err(e) if e.errno() == Some(libc::ENOTDIR) => {
            return Err(unsuitable(
                asked,
                "it, or a part of its path, is not a directory",
            ));
        }
        _ => {}
    }
    let own = room
        .dir
        .path()
        .real_path()
        .unwrap_or_else(|_| room.dir.path().to_path_buf());
    if std::path::absolute(asked).is_ok_and(|path| {
        path.ancestors()
            .any(|above| above.real_path().is_ok_and(|above| above.starts_with(&own)))
    }) {
        return Err(unsuitable(asked, "it is inside the room"));
    }
    let to = Dir::make_room(asked)?;
    if room.owner()? != to.meta()?.uid {
        return Err(unsuitable(asked, "it belongs to another user"));
    }
    // The copy is as private as the room, even if the directory existed before.
    to.close_to_others()?;
    Ok(to)
}

fn unsuitable(asked: &Path, what: &str) -> Error {
    Error::usage(
        format!("cannot copy the room to {}: {what}", asked.display()),
        "choose a new or empty directory outside the room; nothing was changed",
    )
}

struct BackupRun<'a> {
    room: &'a Room,
    /// The router lock, if no router runs: other processes then treat this one as the router.
    lock: Option<RouterLock>,
    since: Instant,
    from: &'a Dir,
    to: Dir,
    barrier: Barrier,
    report: BackupReport,
    progress: &'a mut dyn FnMut(u64),
}

impl BackupRun<'_> {
    fn begin(&mut self) -> Result<()> {
        self.to.replace(
            layout::INCOMPLETE,
            b"This copy of a mailbag room is not complete. Delete it.\n",
        )?;
        // Otherwise a power cut could leave the copy without the mark, on a file system that keeps no order.
        self.sync_place()
    }

    /// Makes the names in the directory of the copy durable, and its own name.
    fn sync_place(&self) -> Result<()> {
        self.to.sync()?;
        let parent = self
            .to
            .path()
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty());
        Dir::open(parent.unwrap_or(Path::new(".")))?.sync()
    }

    /// Copies the mail, which routers and recipients move but do not change. A file that is moved afterwards is copied again.
    fn mail(&mut self) -> Result<()> {
        for directory in [layout::SENT, layout::REJECTED] {
            if self.from.stat(directory)?.is_some() {
                self.tree(Path::new(directory))?;
            }
        }
        for agent in self.room.directories(layout::INBOXES)? {
            for directory in [layout::inbox(&agent), layout::seen(&agent)] {
                if self.from.stat(&directory)?.is_some() {
                    let (files, _) = self.look(&directory)?;
                    self.files(&directory, files)?;
                }
            }
        }
        Ok(())
    }

    fn all(&mut self) -> Result<()> {
        let (files, directories) = self.look(Path::new(""))?;
        for directory in directories {
            match directory.to_str() {
                // Session leases are not copied: no session uses the copy.
                Some(layout::SESSIONS) => {}
                Some(layout::INBOXES) => self.inboxes()?,
                _ => self.tree(Path::new(&directory))?,
            }
        }
        self.files(Path::new(""), files)?;
        self.barrier.pass()?;
        self.look_at_time()?;
        self.to.remove(layout::INCOMPLETE)?;
        self.sync_place()
    }

    fn inboxes(&mut self) -> Result<()> {
        let (files, agents) = self.look(Path::new(layout::INBOXES))?;
        self.files(Path::new(layout::INBOXES), files)?;
        agents.iter().try_for_each(|agent| match agent.to_str() {
            Some(agent) => self.inbox(agent),
            None => self.tree(&layout::below(Path::new(layout::INBOXES), agent)),
        })
    }

    // Mail moves from the inbox to `taken/` and `seen/`. A file that moves between the two listings is copied twice; only the
    // later copy is kept.
    fn inbox(&mut self, agent: &str) -> Result<()> {
        let inbox = layout::inbox(agent);
        let (files, mut directories) = self.look(&inbox)?;
        self.files(&inbox, files)?;
        directories.sort_by_key(|name| name != layout::TAKEN);
        for directory in &directories {
            self.tree(&layout::below(&inbox, directory))?;
        }
        let (again, _) = self.look(&inbox)?;
        self.files(&inbox, again)?;
        let to = self.to.sub(&inbox)?;
        let elsewhere = [
            layout::taken(agent),
            layout::seen(agent),
            layout::expired(agent),
        ];
        for entry in to.list()?.collect::<Result<Vec<_>>>()? {
            if entry.kind != FileType::Directory
                && elsewhere.iter().any(|directory| {
                    self.to
                        .stat(layout::below(directory, &entry.name))
                        .is_ok_and(|meta| meta.is_some())
                })
            {
                to.remove(&entry.name)?;
            }
        }
        Ok(())
    }

    fn tree(&mut self, below: &Path) -> Result<()> {
        let (files, directories) = self.look(below)?;
        self.files(below, files)?;
        directories
            .iter()
            .try_for_each(|directory| self.tree(&layout::below(below, directory)))
    }

    /// Lets a waiting router take the lock (it waits for the copy by another one), and stops a copy that takes too long.
    fn look_at_time(&mut self) -> Result<()> {
        if self.lock.is_some() && self.room.is_wanted() {
            self.lock = None;
        }
        if self.since.elapsed() < limits::PAUSE {
            return Ok(());
        }
        Err(Error::busy(
            format!(
                "the backup is incomplete: it took longer than {} minutes",
                limits::PAUSE.as_secs() / 60
            ),
            "delete the incomplete copy, pack old mail with `mailbag archive`, and try again; the router continues",
        ))
    }

    /// Lists files and subdirectories of a directory, and creates the directory in the copy.
    fn look(&mut self, below: &Path) -> Result<(Vec<OsString>, Vec<OsString>)> {
        self.look_at_time()?;
        let (mut files, mut directories) = (Vec::new(), Vec::new());
        if !below.as_os_str().is_empty() {
            self.to.make_with(below, &mut self.barrier)?;
        }
        let from = directory_at(self.from, below)?;
        for entry in from.list()? {
            let entry = entry?;
            let is_directory = from
                .stat(&entry.name)?
                .is_some_and(|meta| meta.is_directory());
            if is_directory {
                &mut directories
            } else {
                &mut files
            }
            .push(entry.name);
        }
        Ok((files, directories))
    }

    fn files(&mut self, below: &Path, names: Vec<OsString>) -> Result<()> {
        let (from, to) = (
            directory_at(self.from, below)?,
            directory_at(&self.to, below)?,
        );
        let is_outbox = below.starts_with(layout::OUTBOXES);
        let mut derived = features::ALL
            .iter()
            .flat_map(|feature| feature.derived_names());
        let is_derived = derived.any(|name| below.starts_with(name));
        for name in names {
            let path = layout::below(below, &name);
            if layout::is_of_the_moment(&path)
                || (is_outbox && layout::is_unsent(&name))
                || to.stat(&name)?.is_some()
            {
                continue;
            }
            match disk::copy(&from, &name, &to, is_outbox, &mut self.barrier)? {
                CopyResult::Done(bytes) => {
                    self.report.files += 1;
                    self.report.bytes += bytes;
                    (self.progress)(self.report.files);
                }
                CopyResult::Gone => {}
                // The router makes derived files again.
                CopyResult::NoFile if is_derived => {}
                CopyResult::NoFile => self.report.skipped.push(SkippedFile {
                    path,
                    reason: "not a regular file".into(),
                }),
                CopyResult::Writer => self.report.skipped.push(SkippedFile {
                    path,
                    reason: "a process was still writing it".into(),
                }),
            }
        }
        Ok(())
    }
}

/// The directory at a path below `top`, or `top` itself if the path is empty.
fn directory_at(top: &Dir, below: &Path) -> Result<Dir> {
    if below.as_os_str().is_empty() {
        Ok(top.clone())
    } else {
        top.sub(below)
    }
}
