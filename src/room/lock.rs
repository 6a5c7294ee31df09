//! Who may route in a room, edit its registry, or pack its archive: who holds the lock. What a lock's file says of its
//! holder is for people: a number of a process means nothing in another namespace, and may be another's by now.

use super::Room;
use crate::base::error::{Doing, Error, Result};
use crate::base::limits;
use crate::disk::{Dir, file_meta, layout, machine};
use serde::{Deserialize, Serialize};
use std::fs::{File, TryLockError};
use std::io::{Read, Seek, Write};
use std::time::{Duration, Instant};

impl Room {
    /// Waits for whoever edits the registry, then holds it until the lock is dropped.
    pub fn lock_registry(&self) -> Result<File> {
        self.dir.lock_within(layout::REGISTRY_LOCK, limits::EDIT_WAIT)
    }

    /// Holds the registry if nobody edits it: what the router does, which must not wait for a stopped editor.
    pub fn try_lock_registry(&self) -> Result<File> {
        self.dir.lock_within(layout::REGISTRY_LOCK, Duration::ZERO)
    }

    /// Holds the archive if nobody else packs.
    pub fn lock_archive(&self) -> Result<File> {
        self.dir.lock_within(layout::ARCHIVE_LOCK, Duration::ZERO).map_err(|e| match e {
            Error::Busy { what, .. } => Error::Busy {
                what: format!("another `mailbag archive` is at work in this room: {what}"),
                cure: "one is enough; it does the work".into(),
            },
            e => e,
        })
    }

    /// Takes the right to route in this room, or says who has it. Doesn't wait for a router that goes on. Waits for
    /// single passes to end: for each at most `patience`, for all of them at most [`limits::LOCK_WAIT`].
    pub fn lock(&self, mode: Mode, patience: Duration) -> Result<Locking> {
        let mut file = match self.dir.lock_file(layout::LOCK) {
            Err(e) if matches!(e.errno(), Some(libc::EROFS | libc::EACCES | libc::EPERM)) => {
                return self.lock_from_outside(e);
            }
            file => file?,
        };
        let begun = Instant::now();
        let (mut same, mut since) = (None, begun);
        loop {
            match file.try_lock() {
                Ok(()) => return Lock::hold(self.dir.clone(), file, mode).map(Locking::Ours),
                Err(TryLockError::Error(e)) => return Err(e).doing("lock", self.dir.at(layout::LOCK)),
                Err(TryLockError::WouldBlock) => {}
            }
            let holder = self.who_holds(&mut file);
            if holder.mode != Mode::Pass {
                return Ok(Locking::Theirs(holder));
            }
            if same.as_ref() != Some(&holder) {
                (same, since) = (Some(holder), Instant::now());
            }
            if since.elapsed() >= patience || begun.elapsed() >= limits::LOCK_WAIT {
                return Err(self.pass_takes_long(&file));
            }
            // There is no wait with a deadline for a file lock; a pass takes milliseconds.
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    // In a sandbox that lets this process write its agent's directories and no other, a router outside does the work.
    fn lock_from_outside(&self, e: Error) -> Result<Locking> {
        match self.holder()? {
            Some(holder) => Ok(Locking::Theirs(holder)),
            None => Err(Error::Busy {
                what: format!("this process may not route, and nobody else does: {e}"),
                cure: "start `mailbag run` where the room can be written; what is in outboxes is kept".into(),
            }),
        }
    }

    fn pass_takes_long(&self, file: &File) -> Error {
        let Error::Busy { what, cure } = self.dir.locked(layout::LOCK, file) else { unreachable!("it is held") };
        Error::Busy { what: format!("another command is routing here: {what}"), cure }
    }

    /// As [`Room::lock`] for a router that is to run: who only routes while it waits for something else hands over.
    pub fn lock_to_run(&self) -> Result<Locking> {
        let wanted = self.dir.lock_file(layout::WANTED)?;
        let deadline = Instant::now() + limits::LOCK_WAIT;
        loop {
            match self.lock(Mode::Run, limits::LOCK_WAIT)? {
                Locking::Theirs(holder) if holder.mode == Mode::Alongside && Instant::now() < deadline => {
                    // Another one that wants the same is as good.
                    let _ = wanted.try_lock();
                    std::thread::sleep(Duration::from_millis(10));
                }
                locked => return Ok(locked),
            }
        }
    }

    /// Does a router want to run that waits for the lock?
    pub fn is_wanted(&self) -> bool {
        self.is_locked(layout::WANTED)
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
            Err(TryLockError::WouldBlock) => Ok(Some(self.who_holds(&mut file))),
            Err(TryLockError::Error(e)) => Err(e).doing("lock", self.dir.at(layout::LOCK)),
        }
    }

    /// Who holds the lock, which somebody does. That it goes on is what the second lock says; the file says the rest,
    /// unless the disk was full.
    fn who_holds(&self, file: &mut File) -> Holder {
        let goes_on = self.is_locked(layout::ROUTING);
        let said = Holder::read(file);
        let mode = match (goes_on, said.as_ref().map(|holder| holder.mode)) {
            (false, _) => Mode::Pass,
            (true, Some(Mode::Run)) => Mode::Run,
            (true, _) => Mode::Alongside,
        };
        let unknown = || Holder { pid: machine::lock_holder(file).unwrap_or_default(), mode, since: String::new() };
        said.map(|holder| Holder { mode, ..holder }).unwrap_or_else(unknown)
    }

    fn is_locked(&self, name: &str) -> bool {
        let file = self.dir.look(name);
        file.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
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
    /// The process, as it sees itself: a hint. 0 where nothing says it.
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
    /// Of one that goes on. Given up before the lock itself, so that a pass that follows isn't taken for it.
    routing: Option<File>,
    file: File,
    inode: u64,
    mode: Mode,
}

impl Lock {
    fn hold(dir: Dir, mut file: File, mode: Mode) -> Result<Lock> {
        let holder = Holder { pid: std::process::id(), mode, since: crate::base::clock::Stamp::now().to_string() };
        let text = serde_json::to_string(&holder).expect("a holder is plain data") + "\n";
        let inode = file_meta(&file).doing("look at", dir.at(layout::LOCK))?.inode;
        file.rewind().and_then(|()| file.set_len(0)).doing("write", dir.at(layout::LOCK))?;
        // Who holds it is only told to others; a full disk must not keep the router from starting.
        let _ = file.write_all(text.as_bytes());
        // After that, so that who finds it held reads what its holder wrote.
        let goes_on = mode != Mode::Pass;
        let routing = goes_on.then(|| dir.lock_within(layout::ROUTING, limits::PASS_WAIT)).transpose()?;
        Ok(Lock { dir, routing, file, inode, mode })
    }

    /// How long its holder waits for a backup: only a router has nothing else to do.
    pub fn patience(&self) -> Duration {
        if self.mode == Mode::Run { limits::STILL_WAIT } else { limits::PASS_WAIT }
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
        drop(self.routing.take());
        let _ = self.file.set_len(0);
    }
}
