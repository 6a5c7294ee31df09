//! A consistent copy of a room, also of one in use.
//!
//! Two things make it consistent: the router stands still between two batches, so that log, spool, inboxes and `sent/`
//! say the same; and what agents move meanwhile is looked for in the order in which it moves, so that nothing is missed.

use crate::base::error::{Error, Result};
use crate::base::limits;
use crate::disk::{self, Barrier, Copy, Dir, Durability, Readers, layout};
use crate::room::{Lock, Locking, Mode, Room, hold_still};
use crate::router::daemon;
use rustix::fs::FileType;
use serde::Serialize;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// What was copied.
#[derive(Debug, Serialize)]
pub struct Report {
    /// The room.
    pub room: PathBuf,
    /// Its copy.
    pub backup: PathBuf,
    /// How many files.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// What was left out, and why.
    pub left: Vec<Left>,
}

/// Something that was not copied.
#[derive(Debug, Serialize)]
pub struct Left {
    /// Its path in the room.
    pub path: PathBuf,
    /// Why.
    pub why: &'static str,
}

/// Copies a room into a directory that is new or empty. When this returns, the copy is durable; a directory without
/// `spool/room` is one that was not finished.
pub fn backup(room: &Room, asked: &Path) -> Result<Report> {
    // Nothing is archived meanwhile, and nothing routed.
    let _archive = room.lock_archive()?;
    let lock = match room.lock(Mode::Alongside, limits::LOCK_WAIT)? {
        Locking::Ours(lock) => Some(lock),
        Locking::Theirs(_) => None,
    };
    let since = Instant::now();
    let still = hold_still(&room.dir)?;
    let to = empty(room, asked)?;
    let report = Report {
        room: room.dir.path().to_path_buf(),
        backup: asked.to_path_buf(),
        files: 0,
        bytes: 0,
        left: Vec::new(),
    };
    let barrier = Barrier::new(Durability::Power, to.clone());
    let mut run = Run { room, lock, since, from: &room.dir, to, barrier, report };
    run.all()?;
    let Run { lock, report, .. } = run;
    drop((still, lock));
    // Who dropped something meanwhile took this for the router, or saw one that has ended since.
    daemon::pass(room)?;
    Ok(report)
}

fn empty(room: &Room, asked: &Path) -> Result<Dir> {
    let refused = |what: &str| Error::Usage {
        what: format!("can't copy the room to {}: {what}", asked.display()),
        cure: "name a directory that is new or empty, outside the room; nothing was changed".into(),
    };
    if let Ok(dir) = Dir::open(asked)
        && dir.list()?.next().is_some()
    {
        return Err(refused("it is not empty"));
    }
    let own = room.dir.path().canonicalize().unwrap_or_else(|_| room.dir.path().to_path_buf());
    let is_inside = |path: &Path| path.canonicalize().is_ok_and(|path| path.starts_with(&own));
    if std::path::absolute(asked).is_ok_and(|path| path.ancestors().any(is_inside)) {
        return Err(refused("it is inside the room"));
    }
    let is_shared = room.dir.meta()?.mode & 0o2000 != 0;
    let to = Dir::make_room(asked, if is_shared { Readers::Group } else { Readers::Owner })?;
    let owner = room.owner()?;
    if ![owner, rustix::process::geteuid().as_raw()].contains(&to.meta()?.uid) {
        return Err(refused("it belongs to somebody else"));
    }
    // Nobody else may read the copy of the mail, whoever made the directory.
    to.give(owner)?;
    to.close_to_others(is_shared)
}

struct Run<'a> {
    room: &'a Room,
    /// Where no router runs, this process is taken for one.
    lock: Option<Lock>,
    since: Instant,
    from: &'a Dir,
    to: Dir,
    barrier: Barrier,
    report: Report,
}

impl Run<'_> {
    fn all(&mut self) -> Result<()> {
        let (files, directories) = self.look(Path::new(""))?;
        for directory in directories {
            match directory.to_str() {
                // Leases of sessions say who is here, and nobody is there.
                Some(layout::SESSIONS) => {}
                Some(layout::INBOXES) => self.inboxes()?,
                _ => self.tree(Path::new(&directory))?,
            }
        }
        self.files(Path::new(""), files)?;
        self.barrier.pass()?;
        self.look_at_time()?;
        // Last, because its presence says that the copy is whole.
        let id = self.from.read(layout::ROOM_ID, 256)?.unwrap_or_default();
        self.to.replace(layout::ROOM_ID, &id)?;
        self.report.files += 1;
        self.report.bytes += id.len() as u64;
        let parent = self.to.path().parent().filter(|parent| !parent.as_os_str().is_empty());
        Dir::open(parent.unwrap_or(Path::new(".")))?.sync()
    }

    fn inboxes(&mut self) -> Result<()> {
        let (files, agents) = self.look(Path::new(layout::INBOXES))?;
        self.files(Path::new(layout::INBOXES), files)?;
        agents.iter().try_for_each(|agent| match agent.to_str() {
            Some(agent) => self.inbox(agent),
            None => self.tree(&layout::below(Path::new(layout::INBOXES), agent)),
        })
    }

    // Mail moves from the inbox to `taken/` and `seen/`. What moves on between the looks is copied twice, and stays where
    // it came to; who gives back what was taken waits.
    fn inbox(&mut self, agent: &str) -> Result<()> {
        let inbox = layout::inbox(agent);
        let taken = self.from.sub(layout::taken(agent)).ok();
        let _held = taken.map(|taken| taken.lock_within(layout::TAKEN_LOCK, limits::EDIT_WAIT)).transpose()?;
        let (files, mut directories) = self.look(&inbox)?;
        self.files(&inbox, files)?;
        directories.sort_by_key(|name| name != layout::TAKEN);
        for directory in &directories {
            self.tree(&layout::below(&inbox, directory))?;
        }
        let (again, _) = self.look(&inbox)?;
        self.files(&inbox, again)?;
        let to = self.to.sub(&inbox)?;
        let elsewhere = [layout::taken(agent), layout::seen(agent), layout::expired(agent)];
        for entry in to.list()?.collect::<Result<Vec<_>>>()? {
            let stands =
                |directory: &PathBuf| self.to.stat(layout::below(directory, &entry.name)).is_ok_and(|m| m.is_some());
            if entry.kind != FileType::Directory && elsewhere.iter().any(stands) {
                to.remove(&entry.name)?;
            }
        }
        Ok(())
    }

    fn tree(&mut self, below: &Path) -> Result<()> {
        let (files, directories) = self.look(below)?;
        self.files(below, files)?;
        directories.iter().try_for_each(|directory| self.tree(&layout::below(below, directory)))
    }

    /// A router that is to run is waited for by others, and waits for this copy itself, but not without end.
    fn look_at_time(&mut self) -> Result<()> {
        if self.lock.is_some() && self.room.is_wanted() {
            self.lock = None;
        }
        if self.since.elapsed() < limits::STILL {
            return Ok(());
        }
        Err(Error::Busy {
            what: format!("the copy took longer than {} minutes and is not whole", limits::STILL.as_secs() / 60),
            cure: "the router goes on; remove the copy, pack old mail with `mailbag archive`, and try again".into(),
        })
    }

    /// The files and the directories in a directory, which is made in the copy.
    fn look(&mut self, below: &Path) -> Result<(Vec<OsString>, Vec<OsString>)> {
        self.look_at_time()?;
        let (mut files, mut directories) = (Vec::new(), Vec::new());
        let from = match below.as_os_str().is_empty() {
            true => self.from.clone(),
            false => {
                self.to.make_with(below, &mut self.barrier)?;
                self.from.sub(below)?
            }
        };
        for entry in from.list()? {
            let entry = entry?;
            let is_directory = from.stat(&entry.name)?.is_some_and(|meta| meta.is_directory());
            if is_directory { &mut directories } else { &mut files }.push(entry.name);
        }
        Ok((files, directories))
    }

    fn files(&mut self, below: &Path, names: Vec<OsString>) -> Result<()> {
        let is_top = below.as_os_str().is_empty();
        let sub = |dir: &Dir| if is_top { Ok(dir.clone()) } else { dir.sub(below) };
        let (from, to) = (sub(self.from)?, sub(&self.to)?);
        let is_outbox = below.starts_with(layout::OUTBOXES);
        for name in names {
            let path = layout::below(below, &name);
            if layout::is_of_the_moment(&path) || (is_outbox && layout::is_unsent(&name)) || to.stat(&name)?.is_some() {
                continue;
            }
            match disk::copy(&from, &name, &to, is_outbox, &mut self.barrier)? {
                Copy::Done(bytes) => {
                    self.report.files += 1;
                    self.report.bytes += bytes;
                }
                Copy::Gone => {}
                // The router makes those of conversations again.
                Copy::NoFile if below.starts_with(layout::CHANNELS) => {}
                Copy::NoFile => self.report.left.push(Left { path, why: "it is no regular file" }),
                Copy::Writer => self.report.left.push(Left { path, why: "somebody was still writing it" }),
            }
        }
        Ok(())
    }
}
