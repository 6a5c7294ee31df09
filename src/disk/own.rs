//! A person's own directory outside any room, for files that nobody else may write.
//!
//! What others could have written there is never read: owner and mode are asked of the opened directory and file, and
//! not of their paths.

use super::{Dir, Meta, file_meta, system};
use crate::base::error::{Doing, Error, Result};
use crate::base::limits;
use rustix::fs::{Mode, OFlags};
use std::fs::{File, TryLockError};
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::time::{Duration, Instant};

/// Whoever may write here is the group or anybody.
const BY_OTHERS: u32 = 0o022;

/// Such a directory, opened.
pub struct Own {
    dir: Dir,
}

impl Own {
    /// Opens it; `None` if there is none.
    pub fn open(path: &Path) -> Result<Option<Own>> {
        match Dir::open(path) {
            Ok(dir) => {
                check(&dir.meta()?, path, "700")?;
                Ok(Some(Own { dir }))
            }
            Err(e) if e.errno() == Some(libc::ENOENT) => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// Opens it, and makes it first if there is none, with the directories above it. Survives a power cut.
    pub fn make(path: &Path) -> Result<Own> {
        if let Some(own) = Own::open(path)? {
            return Ok(own);
        }
        let above = path.ancestors().find(|above| above.exists()).unwrap_or(Path::new("/"));
        let dir = Dir::open(above)?;
        // Root with the home of somebody else would leave files there that their owner can't read.
        let owner = dir.meta()?.uid;
        if owner != 0 && owner != own_user() {
            return Err(Error::State {
                path: above.to_path_buf(),
                line: None,
                what: format!("belongs to {}", super::machine::user(owner)),
                cure: "name a directory of your own with MAILBAG_TRUST_DIR".into(),
            });
        }
        let mut at = dir;
        for part in path.strip_prefix(above).unwrap_or(path).components() {
            match rustix::fs::mkdirat(&at, part.as_os_str(), Mode::RWXU) {
                Ok(()) => at.sync()?,
                Err(rustix::io::Errno::EXIST) => {}
                Err(e) => return Err(e).doing("make the directory", at.at(part)),
            }
            at = at.sub(part)?;
        }
        check(&at.meta()?, path, "700")?;
        Ok(Own { dir: at })
    }

    /// The content of a file of at most `most` bytes, or `None` if there is none.
    pub fn read(&self, name: &str, most: u64) -> Result<Option<Vec<u8>>> {
        let file = match self.dir.look(name) {
            Err(e) if e.errno() == Some(libc::ENOENT) => return Ok(None),
            file => file?,
        };
        let meta = file_meta(&file).doing("look at", self.dir.at(name))?;
        check(&meta, &self.dir.at(name), "600")?;
        if meta.kind != rustix::fs::FileType::RegularFile || meta.size > most {
            let what = "is no regular file, or too large".to_owned();
            return Err(Error::State { path: self.dir.at(name), line: None, what, cure: "move it away".into() });
        }
        let mut bytes = Vec::new();
        file.take(most).read_to_end(&mut bytes).doing("read", self.dir.at(name))?;
        Ok(Some(bytes))
    }

    /// Gives a file this content in one step, readable by its owner alone. Survives a kill at any instant, and a power
    /// cut once it has returned.
    pub fn replace(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let temporary = format!(".{name}.{}.tmp", std::process::id());
        self.dir.remove(&temporary)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(&self.dir, temporary.as_str(), flags, Mode::RUSR | Mode::WUSR);
        let mut file = File::from(fd.doing("make", self.dir.at(&temporary))?);
        let written = file.write_all(bytes).doing("write", self.dir.at(&temporary)).and_then(|()| {
            let synced = system::sync_file(file.as_fd());
            synced.map_err(|source| Error::Sync { path: self.dir.at(&temporary), source })?;
            rustix::fs::renameat(&self.dir, temporary.as_str(), &self.dir, name).doing("replace", self.dir.at(name))
        });
        if written.is_err() {
            let _ = self.dir.remove(&temporary);
        }
        written.and_then(|()| self.dir.sync())
    }

    /// Holds a lock in it, or says after a while that somebody else does.
    pub fn hold(&self, name: &str) -> Result<File> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(&self.dir, name, flags, Mode::RUSR | Mode::WUSR);
        let file = File::from(fd.doing("open", self.dir.at(name))?);
        let deadline = Instant::now() + limits::TRUST_WAIT;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::Error(e)) => return Err(e).doing("lock", self.dir.at(name)),
                Err(TryLockError::WouldBlock) if Instant::now() < deadline => {
                    std::thread::sleep(Duration::from_millis(5));
                }
                Err(TryLockError::WouldBlock) => {
                    let what = format!("another process holds {}", self.dir.at(name).display());
                    return Err(Error::Busy { what, cure: "try again later".into() });
                }
            }
        }
    }
}

fn own_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Fails if anybody but this user and root may have written it.
fn check(meta: &Meta, path: &Path, mode: &str) -> Result<()> {
    let wrong = |what: String, cure: String| Error::State { path: path.to_path_buf(), line: None, what, cure };
    if meta.uid != 0 && meta.uid != own_user() {
        let what = format!("belongs to {}, so nothing in it counts", super::machine::user(meta.uid));
        return Err(wrong(what, "name a directory of your own with MAILBAG_TRUST_DIR".into()));
    }
    if meta.mode & BY_OTHERS != 0 {
        let what = "can be written by others, so nothing in it counts".to_owned();
        return Err(wrong(what, format!("look at it, then run `chmod {mode} {}`", path.display())));
    }
    Ok(())
}
