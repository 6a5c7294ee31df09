//! File locks. Only the owner can open a lock file, every wait has a deadline, and errors name the holder.

use super::{Dir, machine};
use crate::base::error::{Error, ErrorContext, Result};
use crate::base::limits;
use rustix::fs::{Mode, OFlags, Timespec, Timestamps};
use std::fs::{File, TryLockError};
use std::ops::{Deref, DerefMut};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// A process that can open a file can also lock it (flock(2)), so only the owner may open it.
const OWN: Mode = Mode::RUSR.union(Mode::WUSR);

/// A lock file. Its lock ends when this is dropped, or when the process ends.
#[derive(Debug)]
pub struct LockFile(File);

impl From<File> for LockFile {
    fn from(file: File) -> LockFile {
        LockFile(file)
    }
}

impl Deref for LockFile {
    type Target = File;

    fn deref(&self) -> &File {
        &self.0
    }
}

impl DerefMut for LockFile {
    fn deref_mut(&mut self) -> &mut File {
        &mut self.0
    }
}

impl LockFile {
    /// The size of the text in a lock file.
    pub const HELD: usize = 512;

    /// Replaces the text of the file in place, padded to its full size: once the file has had a text, a full disk takes
    /// another one.
    pub fn put_text(&self, text: &str) -> std::io::Result<()> {
        self.0.write_all_at(
            format!("{text:<width$}", width = LockFile::HELD).as_bytes(),
            0,
        )
    }

    /// Sets the modification time to now. A full disk takes it. A failure is ignored: the time is only a sign of progress.
    pub fn touch(&self) {
        let now = Timespec {
            tv_sec: 0,
            tv_nsec: rustix::fs::UTIME_NOW,
        };
        let _ = rustix::fs::futimens(
            &self.0,
            &Timestamps {
                last_access: now,
                last_modification: now,
            },
        );
    }
}

impl Drop for LockFile {
    fn drop(&mut self) {
        // Closing does not release it while a program that another thread is starting still has a copy of the descriptor.
        let _ = self.0.unlock();
    }
}

/// Returns true if another process holds this lock. Takes the lock for a moment, shared, so that two callers do not see
/// each other.
pub fn is_locked(file: &File) -> bool {
    match file.try_lock_shared() {
        Ok(()) => file.unlock().is_err(),
        Err(e) => matches!(e, TryLockError::WouldBlock),
    }
}

impl Dir {
    /// Opens or creates a lock file.
    pub fn lock_file(&self, name: impl AsRef<Path>) -> Result<LockFile> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(self, name.as_ref(), flags, OWN);
        Ok(LockFile(File::from(fd.doing_in(
            "open",
            self.path(),
            &name,
        )?)))
    }

    /// Locks a file for the lifetime of the returned value. Fails after a time limit, and names the holder.
    pub fn lock_within(&self, name: impl AsRef<Path>, within: Duration) -> Result<LockFile> {
        let file = self.lock_file(&name)?;
        let (deadline, mut pause) = (Instant::now() + within, Duration::from_millis(1));
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::Error(e)) => return Err(e).doing_in("lock", self.path(), &name),
                Err(TryLockError::WouldBlock) if Instant::now() >= deadline => {
                    return Err(self.locked(&name, &file));
                }
                // The system has no file lock with a deadline.
                Err(TryLockError::WouldBlock) => std::thread::sleep(pause),
            }
            pause = (pause * 2).min(limits::LOCK_LOOK);
        }
    }

    /// The error for a lock that another process holds.
    pub fn locked(&self, name: impl AsRef<Path>, file: &File) -> Error {
        let path = self.at(name);
        let (who, advice) = match machine::lock_holder(file) {
            Some(pid) => (
                format!("process {pid}"),
                format!("if it does not respond, end it: `kill {pid}`"),
            ),
            None => (
                "another process".to_owned(),
                "`lslocks` may show it".to_owned(),
            ),
        };
        Error::busy(
            format!("{who} holds {}", path.display()),
            format!("try again later; {advice}"),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_for_a_lock_ends_and_names_the_holder() -> Result<(), Box<dyn std::error::Error>> {
        let there = tempfile::tempdir()?;
        let dir = Dir::open(there.path())?;
        let held = dir.lock_within("lock", Duration::ZERO)?;
        let refused = dir
            .lock_within("lock", Duration::from_millis(20))
            .expect_err("it is held")
            .to_string();
        assert!(refused.contains("lock; try again later"), "{refused}");
        if cfg!(target_os = "linux") {
            assert!(
                refused.contains(&format!("process {}", std::process::id())),
                "{refused}"
            );
        }
        drop(held);
        dir.lock_within("lock", Duration::ZERO)?;
        Ok(())
    }

    #[test]
    fn a_copied_descriptor_does_not_keep_the_lock() -> Result<(), Box<dyn std::error::Error>> {
        let there = tempfile::tempdir()?;
        let dir = Dir::open(there.path())?;
        let held = dir.lock_within("lock", Duration::ZERO)?;
        let copy = held.try_clone()?;
        drop(held);
        dir.lock_within("lock", Duration::ZERO)?;
        assert!(!is_locked(&copy));
        Ok(())
    }
}
