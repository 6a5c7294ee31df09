//! A user's own directory outside any room, for files that no other user may write.
//!
//! A file that another user could have written is never read. The opened directory is checked: no other user can replace a
//! file in it.

use super::fs::Meta;
use super::{Dir, LockFile};
use crate::base::error::{Error, Result};
use crate::disk::paths::PathQuestions;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The time that a command waits for another command that records consent.
const TRUST_WAIT: Duration = Duration::from_secs(5);

/// Write permission for the group or for other users.
const BY_OTHERS: u32 = 0o022;
/// Read permission for the group or for other users.
const READ_BY_OTHERS: u32 = 0o044;
/// Permission for the group or for other users to open the files of a directory by name.
const SEARCH_BY_OTHERS: u32 = 0o011;

const OWN: &str = "set MAILBAG_TRUST_DIR to a directory of your own";

/// An opened directory of this kind.
pub struct UserDirectory {
    dir: Dir,
}

impl UserDirectory {
    /// Opens the directory. `None` if it does not exist.
    pub fn open(path: &Path) -> Result<Option<UserDirectory>> {
        match Dir::open_room(path) {
            Ok(dir) => {
                check(&dir.meta()?, path, "700", OWN)?;
                Ok(Some(UserDirectory { dir }))
            }
            Err(e) if e.errno() == Some(libc::ENOENT) => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// Opens the directory, and creates it and its parents if needed. Survives a power cut.
    pub fn make(path: &Path) -> Result<UserDirectory> {
        if let Some(own) = UserDirectory::open(path)? {
            return Ok(own);
        }
        let above = path
            .ancestors()
            .find(|above| above.is_there())
            .unwrap_or(Path::new("/"));
        let dir = Dir::open_room(above)?;
        // As root with another user's home, this would leave files that this user cannot read.
        let owner = dir.meta()?.uid;
        if owner != 0 && owner != own_user() {
            return Err(Error::state(
                above,
                format!("belongs to {}", super::machine::user(owner)),
                OWN,
            ));
        }
        dir.make(path.strip_prefix(above).unwrap_or(path))?;
        UserDirectory::open(path)?.ok_or_else(|| Error::state(path, "was removed", OWN))
    }

    /// The path of a file in this directory, for messages.
    pub fn at(&self, name: &str) -> PathBuf {
        self.dir.at(name)
    }

    /// The content of a file of at most `most` bytes, or `None` if it does not exist.
    pub fn read(&self, name: &str, most: u64) -> Result<Option<Vec<u8>>> {
        if let Some(meta) = self.dir.stat(name)? {
            check(&meta, &self.dir.at(name), "600", OWN)?;
        }
        self.dir.read(name, most)
    }

    /// Returns true if other users can read this file. They also need permission to search the directory.
    pub fn is_readable_by_others(&self, name: &str) -> Result<bool> {
        let searched_by = (self.dir.meta()?.mode & SEARCH_BY_OTHERS) << 2;
        Ok(self
            .dir
            .stat(name)?
            .is_some_and(|meta| meta.mode & READ_BY_OTHERS & searched_by != 0))
    }

    /// Replaces the content of a file in one step, readable by its owner only. Survives a kill, and after it returns, a
    /// power cut.
    pub fn replace(&self, name: &str, bytes: &[u8]) -> Result<()> {
        self.dir.replace(name, bytes)
    }

    /// Locks a file in this directory. Fails after a time limit.
    pub fn hold(&self, name: &str) -> Result<LockFile> {
        self.dir.lock_within(name, TRUST_WAIT)
    }
}

fn own_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Fails if another user than this one or root could have written the file. `advice` is for another user's file.
pub(super) fn check(meta: &Meta, path: &Path, mode: &str, advice: &str) -> Result<()> {
    let (what, fix) = if meta.uid != 0 && meta.uid != own_user() {
        let owner = super::machine::user(meta.uid);
        let what = format!("belongs to {owner}, so its content is ignored");
        (what, advice.to_owned())
    } else if meta.mode & BY_OTHERS != 0 {
        let what = "can be written by other users, so its content is ignored".to_owned();
        let fix = format!("check it, then run `chmod {mode} {}`", path.display());
        (what, fix)
    } else {
        return Ok(());
    };
    Err(Error::state(path, what, fix))
}
