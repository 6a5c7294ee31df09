//! File locks. Only the owner can open a lock file, every wait has a deadline, and errors name the holder.

use super::fs::Open;
use super::{Dir, File, machine};
use crate::base::error::{Error, ErrorContext, Result};
use crate::base::limits;
use std::ops::{Deref, DerefMut};
use std::path::Path;
use std::time::{Duration, Instant};

/// A process that can open a file can also lock it (flock(2)), so only the owner may open it.
const OWN: u32 = 0o600;

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
        let _ = self.0.set_modified(None);
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
        Ok(true) => file.unlock().is_err(),
        Ok(false) => true,
        Err(_) => false,
    }
}

impl Dir {
    /// Opens or creates a lock file, and removes the permissions of other users.
    pub fn lock_file(&self, name: impl AsRef<Path>) -> Result<LockFile> {
        let file = self.open_file(&name, Open::ChangeOrMake(OWN), "open")?;
        close(&file).doing_in("set the permissions of", self.path(), &name)?;
        Ok(LockFile(file))
    }

    /// Locks a file for the lifetime of the returned value. Fails after a time limit, and names the holder.
    pub fn lock_within(&self, name: impl AsRef<Path>, within: Duration) -> Result<LockFile> {
        let file = self.lock_file(&name)?;
        let (deadline, mut pause) = (Instant::now() + within, Duration::from_millis(1));
        loop {
            if file.try_lock().doing_in("lock", self.path(), &name)? {
                return Ok(file);
            }
            if Instant::now() >= deadline {
                return Err(self.locked(&name, &file));
            }
            // The system has no file lock with a deadline.
            std::thread::sleep(pause);
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

/// Removes other users' permissions from a lock file, which another program may have made. A process without the right
/// to do this did not create the file.
fn close(file: &File) -> std::io::Result<()> {
    if file.meta()?.mode & 0o077 == 0 {
        return Ok(());
    }
    match file.set_mode(OWN) {
        Err(e) if e.kind() == std::io::ErrorKind::PermissionDenied => Ok(()),
        done => done,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn mode(path: &Path) -> u32 {
        std::fs::metadata(path)
            .expect("it is there")
            .permissions()
            .mode()
            & 0o777
    }

    #[test]
    fn a_lock_can_be_opened_by_its_owner_alone() -> Result<(), Box<dyn std::error::Error>> {
        let there = tempfile::tempdir()?;
        let dir = Dir::open(there.path())?;
        dir.lock_file("new")?;
        std::fs::write(there.path().join("old"), "")?;
        std::fs::set_permissions(
            there.path().join("old"),
            std::fs::Permissions::from_mode(0o666),
        )?;
        dir.lock_file("old")?;
        assert_eq!(
            (
                mode(&there.path().join("new")),
                mode(&there.path().join("old"))
            ),
            (0o600, 0o600)
        );
        Ok(())
    }

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
        let copy = held.clone();
        drop(held);
        dir.lock_within("lock", Duration::ZERO)?;
        assert!(!is_locked(&copy));
        Ok(())
    }
}
