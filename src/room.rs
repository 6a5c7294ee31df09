//! A room as a whole: finding it, making it, and who may route in it.

mod near;
mod owners;
mod trusted;

pub use near::{Near, identity, near};

use crate::disk::{Dir, Readers, file_meta};
use crate::error::{Doing, Error, Result};
use crate::registry::Registry;
use crate::settings::Settings;
use crate::{id, layout, limits};
use serde::{Deserialize, Serialize};
use std::fs::{File, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// An open room.
#[derive(Clone)]
pub struct Room {
    /// The room's directory.
    pub dir: Dir,
}

/// What [`Room::init`] found or made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Made {
    /// There was no room.
    New,
    /// There was one already; nothing of it was changed.
    Already,
}

impl Room {
    /// Opens the room at a directory, unless it belongs to somebody else and the person did not agree to use it.
    pub fn open(path: &Path) -> Result<Room> {
        let room = Room::look(path)?;
        room.check_trusted()?;
        Ok(room)
    }

    /// As [`Room::open`], for whoever only says what stands there, whoever it belongs to. That the directory is there is
    /// not enough: a room has a `spool/`.
    pub fn look(path: &Path) -> Result<Room> {
        let none = || Error::NotFound {
            what: format!("no room at {}", path.display()),
            cure: format!("make one with `mailbag init {}`", path.display()),
        };
        let dir = match Dir::open_room(path) {
            Err(e) if e.errno() == Some(libc::EACCES) => return Err(e),
            dir => dir.map_err(|_| none())?,
        };
        match dir.stat(layout::SPOOL)?.is_some_and(|spool| spool.is_directory()) {
            true => Ok(Room { dir }),
            false => Err(none()),
        }
    }

    /// Makes a room at a directory, or completes what is missing of one. Files that stand there already are not
    /// touched: a harness may have made its inboxes and outboxes before. Safe to run at any time and any number of
    /// times, also after a kill in the middle of it.
    pub fn init(path: &Path) -> Result<(Room, Made)> {
        Room::init_for(path, Readers::Owner)
    }

    /// As [`Room::init`]; a new room can be read by these.
    pub fn init_for(path: &Path, readers: Readers) -> Result<(Room, Made)> {
        let room = Room { dir: Dir::make_room(path, readers)? };
        room.check_trusted()?;
        let dir = room.dir;
        let made = if dir.stat(layout::ROOM_ID)?.is_some() { Made::Already } else { Made::New };
        for directory in layout::DIRECTORIES {
            dir.make(directory)?;
        }
        let room = Room { dir };
        let _held = room.lock_registry()?;
        if room.dir.stat(layout::REGISTRY)?.is_none() {
            room.dir.replace(layout::REGISTRY, Registry::empty().to_json().as_bytes())?;
        }
        if room.dir.stat(layout::GITIGNORE)?.is_none() {
            room.dir.replace(layout::GITIGNORE, b"*\n")?;
        }
        for directory in [layout::outbox(id::HUMAN), layout::seen(id::HUMAN)] {
            room.dir.make(directory)?;
        }
        // Last, because its presence says that the room is whole.
        if room.dir.stat(layout::ROOM_ID)?.is_none() {
            room.dir.replace(layout::ROOM_ID, format!("{}\n", id::mint()).as_bytes())?;
        }
        Ok((room, made))
    }

    /// The room's id, as `spool/room` has it.
    pub fn id(&self) -> Result<Option<String>> {
        let bytes = self.dir.read(layout::ROOM_ID, 256)?;
        Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).trim().to_owned()).filter(|id| !id.is_empty()))
    }

    /// The registry as it stands on disk. A missing one is an error, never taken for an empty one.
    pub fn registry(&self) -> Result<Registry> {
        let bytes = self.dir.read(layout::REGISTRY, limits::REGISTRY_BYTES)?.ok_or_else(|| Error::State {
            path: self.dir.at(layout::REGISTRY),
            line: None,
            what: "is missing".into(),
            cure: "put it back, or run `mailbag init` for one with only the human in it".into(),
        })?;
        Registry::parse(&bytes).map_err(|problems| self.unreadable(layout::REGISTRY, problems))
    }

    /// The settings as they stand on disk; a room without the file has the defaults.
    pub fn settings(&self) -> Result<Settings> {
        let bytes = self.dir.read(layout::SETTINGS, limits::REGISTRY_BYTES)?.unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        Settings::parse(&text).map_err(|problems| self.unreadable(layout::SETTINGS, problems))
    }

    fn unreadable(&self, name: &str, problems: Vec<crate::error::Problem>) -> Error {
        let line = problems.first().and_then(|p| p.place.strip_prefix("line ")?.split(' ').next()?.parse().ok());
        Error::State {
            path: self.dir.at(name),
            line,
            what: problems.iter().map(|p| p.to_string()).collect::<Vec<_>>().join("; "),
            cure: "mend the file; it was not changed".into(),
        }
    }

    /// Waits for whoever edits the registry, then holds it until the lock is dropped.
    pub fn lock_registry(&self) -> Result<File> {
        let file = self.dir.lock_file(layout::REGISTRY_LOCK)?;
        file.lock().doing("lock", self.dir.at(layout::REGISTRY_LOCK))?;
        Ok(file)
    }

    /// Holds the registry if nobody edits it: what the router does, which must not wait for a stopped editor.
    pub fn try_lock_registry(&self) -> Result<File> {
        let file = self.dir.lock_file(layout::REGISTRY_LOCK)?;
        match file.try_lock() {
            Ok(()) => Ok(file),
            Err(TryLockError::Error(e)) => Err(e).doing("lock", self.dir.at(layout::REGISTRY_LOCK)),
            Err(TryLockError::WouldBlock) => {
                Err(Error::Busy { what: "somebody edits the registry".into(), cure: "it is tried again".into() })
            }
        }
    }

    /// Holds the archive if nobody else packs.
    pub fn lock_archive(&self) -> Result<File> {
        let file = self.dir.lock_file(layout::ARCHIVE_LOCK)?;
        match file.try_lock() {
            Ok(()) => Ok(file),
            Err(TryLockError::Error(e)) => Err(e).doing("lock", self.dir.at(layout::ARCHIVE_LOCK)),
            Err(TryLockError::WouldBlock) => Err(Error::Busy {
                what: "another `mailbag archive` is at work in this room".into(),
                cure: "one is enough; it does the work".into(),
            }),
        }
    }

    /// Takes the right to route in this room, or says who has it. Waits for another's single pass to end, at most
    /// [`limits::LOCK_WAIT`]; doesn't wait for a router that runs.
    pub fn lock(&self, mode: Mode) -> Result<Locking> {
        let deadline = Instant::now() + limits::LOCK_WAIT;
        let mut file = self.dir.lock_file(layout::LOCK)?;
        loop {
            match file.try_lock() {
                Ok(()) => return Lock::hold(self.dir.clone(), file, mode).map(Locking::Ours),
                Err(TryLockError::Error(e)) => return Err(e).doing("lock", self.dir.at(layout::LOCK)),
                Err(TryLockError::WouldBlock) => {}
            }
            match Holder::read(&mut file).filter(Holder::is_alive) {
                Some(holder) if holder.mode != Mode::Pass => return Ok(Locking::Theirs(holder)),
                holder if Instant::now() > deadline => {
                    let who = holder.map_or("another process".into(), |h| format!("process {}", h.pid));
                    let what = format!("{who} has been routing in {} for too long", self.dir.path().display());
                    return Err(Error::Busy { what, cure: "end it, or try again later".into() });
                }
                // There is no wait with a deadline for a file lock; a pass takes milliseconds.
                _ => std::thread::sleep(std::time::Duration::from_millis(2)),
            }
        }
    }

    /// As [`Room::lock`] for a router that is to run: who only routes while it waits for something else hands over.
    pub fn lock_to_run(&self) -> Result<Locking> {
        let wanted = self.dir.lock_file(layout::WANTED)?;
        let deadline = Instant::now() + limits::LOCK_WAIT;
        loop {
            match self.lock(Mode::Run)? {
                Locking::Theirs(holder) if holder.mode == Mode::Alongside && Instant::now() < deadline => {
                    // Another one that wants the same is as good.
                    let _ = wanted.try_lock();
                    std::thread::sleep(std::time::Duration::from_millis(10));
                }
                locked => return Ok(locked),
            }
        }
    }

    /// Does a router want to run that waits for the lock?
    pub fn is_wanted(&self) -> bool {
        let wanted = self.dir.look(layout::WANTED);
        wanted.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
    }

    /// A process that ended without giving up the right to route: it was killed. The system gave it up.
    pub fn left_behind(&self) -> Option<Holder> {
        let mut file = self.dir.look(layout::LOCK).ok()?;
        file.try_lock_shared().ok()?;
        Holder::read(&mut file)
    }

    /// Who routes in this room right now, if anybody does.
    pub fn holder(&self) -> Result<Option<Holder>> {
        let Ok(mut file) = self.dir.look(layout::LOCK) else { return Ok(None) };
        match file.try_lock_shared() {
            Ok(()) => Ok(None),
            Err(TryLockError::WouldBlock) => Ok(Holder::read(&mut file).filter(Holder::is_alive)),
            Err(TryLockError::Error(e)) => Err(e).doing("lock", self.dir.at(layout::LOCK)),
        }
    }
}

/// Why the room is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// A router that goes on until it is ended.
    Run,
    /// A router inside a command that waits for something else.
    Alongside,
    /// A single pass of a command.
    Pass,
}

/// Who holds the room.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// The process.
    pub pid: u32,
    /// Why it holds it.
    pub mode: Mode,
    /// Since when, RFC 3339.
    pub since: String,
}

impl Holder {
    fn read(file: &mut File) -> Option<Holder> {
        let mut text = String::new();
        file.rewind().ok()?;
        file.take(1024).read_to_string(&mut text).ok()?;
        serde_json::from_str(&text).ok()
    }

    // What a killed holder left in the file must not be taken for a router that runs.
    fn is_alive(&self) -> bool {
        let pid = i32::try_from(self.pid).ok().and_then(rustix::process::Pid::from_raw);
        pid.is_some_and(|pid| rustix::process::test_kill_process(pid) != Err(rustix::io::Errno::SRCH))
    }
}

/// What came of asking for the lock.
pub enum Locking {
    /// This process may route.
    Ours(Lock),
    /// A router runs; it does the work.
    Theirs(Holder),
}

/// The right to route in a room. Given up when dropped, and by the system when the process ends in any way.
pub struct Lock {
    dir: Dir,
    file: File,
    inode: u64,
}

impl Lock {
    fn hold(dir: Dir, mut file: File, mode: Mode) -> Result<Lock> {
        let holder = Holder { pid: std::process::id(), mode, since: crate::clock::Stamp::now().to_string() };
        let text = serde_json::to_string(&holder).expect("a holder is plain data") + "\n";
        let inode = file_meta(&file).doing("look at", dir.at(layout::LOCK))?.inode;
        file.rewind().and_then(|()| file.set_len(0)).doing("write", dir.at(layout::LOCK))?;
        // Who holds it is only told to others; a full disk must not keep the router from starting.
        let _ = file.write_all(text.as_bytes());
        Ok(Lock { dir, file, inode })
    }

    /// Fails if the lock's file is no longer the one at its path: somebody cleaned or replaced the room, and another
    /// router may hold the new file.
    pub fn check(&self) -> Result<()> {
        let there = self.dir.stat(layout::LOCK)?.map(|meta| meta.inode);
        if there == Some(self.inode) {
            return Ok(());
        }
        Err(Error::Moved {
            what: format!("{} is gone or another file", self.dir.at(layout::LOCK).display()),
            cure: "start the router again; nothing more was changed".into(),
        })
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        let _ = self.file.set_len(0);
    }
}

/// Finds the room: what was asked for, else `.mailbag` in this directory or the nearest above it. In a linked git
/// worktree the main worktree's room comes first, so that sessions in several worktrees share one.
pub fn find(asked: Option<&Path>, from: &Path) -> Result<PathBuf> {
    if let Some(path) = asked {
        return Ok(path.to_path_buf());
    }
    let none = || Error::NotFound {
        what: format!("no room: there is no {} in {} or above it", layout::ROOM, from.display()),
        cure: "make one with `mailbag init`, or name one with --room DIR or MAILBAG_ROOM".into(),
    };
    from.ancestors()
        .flat_map(|directory| [main_worktree(directory), Some(directory.to_path_buf())])
        .flatten()
        .map(|directory| below(&directory))
        .find(|room| is_room(room))
        .ok_or_else(none)
}

/// Is this directory a room? One that this user may not enter is one: passed over, it would be taken for missing.
pub fn is_room(path: &Path) -> bool {
    match Dir::open(path).and_then(|dir| dir.stat(layout::SPOOL)) {
        Ok(spool) => spool.is_some_and(|spool| spool.is_directory()),
        Err(e) => e.errno() == Some(libc::EACCES),
    }
}

/// Where the room of a directory is, if it has one.
pub fn below(directory: &Path) -> PathBuf {
    directory.join(layout::ROOM)
}

/// Where `mailbag init` makes a room when no directory is named: here, or in a linked git worktree, beside the main
/// worktree's files.
pub fn default_place(from: &Path) -> PathBuf {
    from.ancestors().find_map(main_worktree).unwrap_or_else(|| from.to_path_buf()).join(layout::ROOM)
}

/// The main worktree that a linked one belongs to: its `.git` is a file that names its own directory in the main
/// repository, where `commondir` names the repository (gitrepository-layout(5)).
fn main_worktree(directory: &Path) -> Option<PathBuf> {
    let text = std::fs::read_to_string(directory.join(".git")).ok()?;
    let own = directory.join(text.strip_prefix("gitdir:")?.trim());
    let common = own.join(std::fs::read_to_string(own.join("commondir")).ok()?.trim());
    Some(common.canonicalize().ok()?.parent()?.to_path_buf())
}
