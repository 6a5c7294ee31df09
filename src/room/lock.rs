//! The room's locks: routing, editing the registry, and archiving. A router writes its kind into its lock file. The process
//! number there is only a hint for people: it has no meaning in another namespace, and can be reused.

use super::Room;
use crate::base::clock::Stamp;
use crate::base::error::{Error, ErrorContext, Result};
use crate::base::limits;
use crate::disk::File;
use crate::disk::{Dir, LockFile, has_stable_inodes, is_locked, layout, machine};
use crate::room::trusted::check_path_of;
use serde::{Deserialize, Serialize};
use std::io::{Read, Seek};
use std::time::{Duration, Instant};

impl Room {
    /// Locks the registry. Waits for another editor a limited time.
    pub fn lock_registry(&self) -> Result<LockFile> {
        self.dir
            .lock_within(layout::REGISTRY_LOCK, limits::EDIT_WAIT)
    }

    /// As [`Room::lock_registry`], with another limit of the wait.
    pub fn lock_registry_within(&self, within: Duration) -> Result<LockFile> {
        self.dir.lock_within(layout::REGISTRY_LOCK, within)
    }

    /// Locks the registry without waiting. The router uses this, because it must not wait for a suspended editor.
    pub fn try_lock_registry(&self) -> Result<LockFile> {
        self.dir.lock_within(layout::REGISTRY_LOCK, Duration::ZERO)
    }

    /// Locks the archive, or fails if another archiver is running.
    pub fn lock_archive(&self) -> Result<LockFile> {
        self.dir
            .lock_within(layout::ARCHIVE_LOCK, Duration::ZERO)
            .map_err(|e| match e {
                Error::Busy { what, .. } => Error::busy(
                    format!("another `mailbag archive` is running in this room: {what}"),
                    "wait for it to end",
                ),
                e => e,
            })
    }

    /// Takes the right to route in this room, or reports its holder. Does not wait for a router that runs continuously.
    /// Waits for single passes: at most `patience` for each, and at most [`limits::LOCK_WAIT`] for all.
    pub fn lock(&self, mode: RouterMode, patience: Duration) -> Result<LockAttempt> {
        let mut file = match self.dir.lock_file(layout::LOCK) {
            Err(e) if matches!(e.errno(), Some(libc::EROFS | libc::EACCES | libc::EPERM)) => {
                return self.lock_from_outside(e);
            }
            file => file?,
        };
        let begun = Instant::now();
        let (mut same, mut since) = (None, begun);
        loop {
            if file
                .try_lock()
                .doing_in("lock", self.dir.path(), layout::LOCK)?
            {
                let lock = RouterLock::hold(self.dir.clone(), file, mode);
                return Ok(LockAttempt::Ours(lock));
            }
            let holder = self.who_holds(&mut file);
            if holder.mode != RouterMode::Pass {
                return Ok(LockAttempt::Theirs(holder));
            }
            if same.as_ref() != Some(&holder) {
                (same, since) = (Some(holder), Instant::now());
            }
            if since.elapsed() >= patience || begun.elapsed() >= limits::LOCK_WAIT {
                return Err(self.pass_takes_long(&file));
            }
            // The system has no file lock with a deadline. A pass takes milliseconds.
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    // If a sandbox allows writes only to the agent's own directories, a router outside the sandbox must run.
    fn lock_from_outside(&self, e: Error) -> Result<LockAttempt> {
        match self.running_router()? {
            Some(holder) => Ok(LockAttempt::Theirs(holder)),
            None => Err(Error::busy(
                format!("this process has no permission to route, and no router is running: {e}"),
                "start `mailbag run` where it can write to the room; messages in outboxes are kept",
            )),
        }
    }

    fn pass_takes_long(&self, file: &File) -> Error {
        let Error::Busy { what, fix } = self.dir.locked(layout::LOCK, file) else {
            unreachable!("it is held")
        };
        Error::busy(
            format!("another command is routing in this room: {what}"),
            fix,
        )
    }

    /// As [`Room::lock`], for a continuous router. A command that routes only while it waits hands over.
    pub fn lock_to_run(&self) -> Result<LockAttempt> {
        let wanted = self.dir.lock_file(layout::WANTED)?;
        let deadline = Instant::now() + limits::LOCK_WAIT;
        loop {
            match self.lock(RouterMode::Run, limits::LOCK_WAIT)? {
                LockAttempt::Theirs(holder)
                    if holder.mode == RouterMode::Alongside && Instant::now() < deadline =>
                {
                    // If another starting router holds this lock, the effect is the same.
                    let _ = wanted.try_lock();
                    std::thread::sleep(Duration::from_millis(10));
                }
                locked => return Ok(locked),
            }
        }
    }

    /// Returns true if a starting router waits for the lock.
    pub fn is_wanted(&self) -> bool {
        self.is_locked(layout::WANTED)
    }

    /// A holder that was killed before it released the right to route. The system has released the lock.
    pub fn left_behind(&self) -> Option<RouterHolder> {
        let mut file = LockFile::from(self.dir.look(layout::LOCK).ok()?);
        if file.try_lock_shared().is_ok_and(|is_free| is_free) {
            RouterHolder::read(&mut file)
        } else {
            None
        }
    }

    /// The process that routes, as far as the calling user can see. Fails if the lock file is invalid or cannot be opened.
    pub fn running_router(&self) -> Result<Option<RouterHolder>> {
        let mut file = match self.dir.look(layout::LOCK) {
            Ok(file) => file,
            Err(e) if e.is_missing() => return Ok(None),
            Err(e) => return Err(e),
        };
        // The system also locks a directory or a FIFO, but a router cannot use it.
        file.meta()
            .doing_in("look at", self.dir.path(), layout::LOCK)?
            .check_regular(&self.dir.at(layout::LOCK))?;
        match file.try_lock_shared() {
            Ok(true) => {
                file.unlock()
                    .map(|()| None)
                    .doing_in("unlock", self.dir.path(), layout::LOCK)
            }
            Ok(false) => Ok(Some(self.who_holds(&mut file))),
            Err(e) => Err(e).doing_in("lock", self.dir.path(), layout::LOCK),
        }
    }

    /// The holder of a lock that is held. Without a text, which a full disk may prevent, it counts as a single pass.
    fn who_holds(&self, file: &mut File) -> RouterHolder {
        RouterHolder::read(file).unwrap_or_else(|| RouterHolder {
            pid: machine::lock_holder(file).unwrap_or_default(),
            mode: RouterMode::Pass,
            since: file
                .meta()
                .map(|meta| meta.modified_at().to_string())
                .unwrap_or_default(),
        })
    }

    pub(super) fn is_locked(&self, name: &str) -> bool {
        self.dir.look(name).is_ok_and(|file| is_locked(&file))
    }
}

/// Why the lock is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RouterMode {
    /// A router that runs until it is stopped.
    Run,
    /// A router inside a command that waits for mail.
    Alongside,
    /// A single pass by a command.
    Pass,
}

/// The holder of the right to route.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RouterHolder {
    /// The process number in the holder's own namespace: a hint. 0 if unknown.
    pub pid: u32,
    /// Why it holds the lock.
    pub mode: RouterMode,
    /// The start time, RFC 3339.
    pub since: String,
}

impl RouterHolder {
    /// The content of the lock file. A holder blanks it at its end.
    fn read(file: &mut File) -> Option<RouterHolder> {
        let mut text = String::new();
        file.rewind().ok()?;
        file.take(limits::NOTE_BYTES)
            .read_to_string(&mut text)
            .ok()?;
        serde_json::from_str(&text).ok()
    }
}

/// The result of requesting the lock.
pub enum LockAttempt {
    /// This process may route.
    Ours(RouterLock),
    /// Another router is running.
    Theirs(RouterHolder),
}

/// The right to route in a room. It ends when the value is dropped, or when the process ends.
pub struct RouterLock {
    dir: Dir,
    file: LockFile,
    mode: RouterMode,
    /// When a step was last noted.
    step: Instant,
}

impl RouterLock {
    fn hold(dir: Dir, file: LockFile, mode: RouterMode) -> RouterLock {
        let holder = RouterHolder {
            pid: std::process::id(),
            mode,
            since: Stamp::now().to_string(),
        };
        // A full disk must not keep the router from starting.
        let _ = file.put_text(&serde_json::to_string(&holder).expect("a holder is plain data"));
        file.touch();
        RouterLock {
            dir,
            file,
            mode,
            step: Instant::now(),
        }
    }

    /// Notes that the holder makes progress, at most once a second. Fails as [`RouterLock::check`].
    pub fn note_step(&mut self) -> Result<()> {
        if self.step.elapsed() < limits::IDLE {
            return Ok(());
        }
        self.step = Instant::now();
        match self.check() {
            Ok(()) => self.file.touch(),
            Err(e @ Error::Moved { .. }) => return Err(e),
            // It cannot be seen now.
            Err(e) => tracing::debug!("{e}"),
        }
        Ok(())
    }

    /// The time that the holder waits for a backup. Only a continuous router waits long.
    pub fn patience(&self) -> Duration {
        if self.mode == RouterMode::Run {
            limits::PAUSE_WAIT
        } else {
            limits::PASS_WAIT
        }
    }

    /// Fails if the path of the room or of its lock file leads to another file than the opened one: the room was removed,
    /// moved, cleaned, replaced, or covered by another file system, and another router may route there.
    pub fn check(&self) -> Result<()> {
        check_path_of(&self.dir)?;
        let opened = self
            .file
            .meta()
            .doing_in("look at", self.dir.path(), layout::LOCK)?;
        let there = self.dir.stat(layout::LOCK)?;
        if there.is_some_and(|there| there.is_same_file(&opened) || !has_stable_inodes(&self.dir)) {
            return Ok(());
        }
        let lock = self.dir.at(layout::LOCK);
        Err(Error::moved(
            format!("{} was removed or replaced", lock.display()),
            "start the router again; nothing was changed after that",
        ))
    }
}

impl Drop for RouterLock {
    fn drop(&mut self) {
        let _ = self.file.put_text("");
    }
}
