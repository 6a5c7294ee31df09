//! Open files and directories, and the common part of their calls.

use super::calls::{Call, CallName, Injection};
use super::disk::{Change, Content, Disk, Id, Inode, Name, ROOT};
use super::machine::{Inner, lock};
use super::paths;
use super::state::Durability;
use mailbag::disk::fs::{Existing, Meta, Open};
use rustix::fs::FileType;
use rustix::io::Errno;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

type Result<T> = std::result::Result<T, Errno>;

/// The permissions that new files do not get.
pub(super) const UMASK: u32 = 0o022;

/// An open file or directory.
#[derive(Debug)]
pub(super) struct Handle {
    pub(super) inner: Arc<Mutex<Inner>>,
    pub(super) id: Id,
    /// Differs between open files of the same inode, for their locks.
    pub(super) number: u64,
    /// The path when it was opened, for messages.
    pub(super) path: PathBuf,
    pub(super) access: Access,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
    Append,
}

impl Handle {
    pub(super) fn root(machine: &Arc<Mutex<Inner>>) -> Handle {
        let mut inner = lock(machine);
        inner.handle(machine, ROOT, PathBuf::from("/"), Access::Read)
    }

    /// Does and notes a call, unless it is one that must fail.
    pub(super) fn call<T>(
        &self,
        name: CallName,
        names: &[&Path],
        act: impl FnOnce(&mut Inner, &[PathBuf]) -> Result<T>,
    ) -> std::io::Result<T> {
        let paths = self.paths(names);
        let mut inner = lock(&self.inner);
        let number = inner.begin(name, &paths);
        let result = match inner.failing.injection(number, name, 0) {
            Injection::Fail(errno) => inner.injected(number, errno),
            Injection::None | Injection::Short => act(&mut inner, &paths),
        };
        inner.end(number, result)
    }

    pub(super) fn paths(&self, names: &[&Path]) -> Vec<PathBuf> {
        match names {
            [] => vec![self.path.clone()],
            names => names.iter().map(|name| self.path.join(name)).collect(),
        }
    }

    /// A change of this file that has no place.
    pub(super) fn change(
        &self,
        name: CallName,
        change: impl FnOnce(&mut Inner) -> Result<Change>,
    ) -> std::io::Result<()> {
        self.call(name, &[], |inner, paths| {
            let change = change(inner)?;
            inner.step(change, paths, Durability::BySync);
            Ok(())
        })
    }

    pub(super) fn make(
        &self,
        name: CallName,
        at: &Path,
        content: Content,
        mode: u32,
    ) -> std::io::Result<()> {
        self.call(name, &[at], |inner, paths| {
            inner.make(self.id, at, content, mode, paths).map(|_| ())
        })
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        let mut inner = lock(&self.inner);
        inner.unlock(self.id, self.number);
        if self.access != Access::Read
            && let Some(writers) = inner.writers.get_mut(&self.id)
        {
            *writers -= 1;
        }
    }
}

impl Inner {
    pub(super) fn begin(&mut self, name: CallName, paths: &[PathBuf]) -> usize {
        if self.notes_calls() {
            self.calls.push(Call {
                name,
                paths: paths.to_vec(),
                result: Ok(()),
                is_injected: false,
                step: self.steps.len(),
            });
        }
        self.calls.len().saturating_sub(1)
    }

    pub(super) fn injected<T>(&mut self, number: usize, errno: Errno) -> Result<T> {
        self.calls[number].is_injected = true;
        Err(errno)
    }

    pub(super) fn end<T>(&mut self, number: usize, result: Result<T>) -> std::io::Result<T> {
        if let Err(errno) = &result
            && self.notes_calls()
            && let Some(call) = self.calls.get_mut(number)
        {
            call.result = Err(errno.raw_os_error());
        }
        Ok(result?)
    }

    pub(super) fn handle(
        &mut self,
        machine: &Arc<Mutex<Inner>>,
        id: Id,
        path: PathBuf,
        access: Access,
    ) -> Handle {
        self.handles += 1;
        if access != Access::Read {
            *self.writers.entry(id).or_default() += 1;
        }
        Handle {
            inner: Arc::clone(machine),
            id,
            number: self.handles,
            path,
            access,
        }
    }

    pub(super) fn make(
        &mut self,
        from: Id,
        at: &Path,
        content: Content,
        mode: u32,
        paths: &[PathBuf],
    ) -> Result<Id> {
        let disk = &self.now.now;
        let at = paths::new_place(disk, from, at)?;
        if disk.at(&at).is_some() {
            return Err(Errno::EXIST);
        }
        let inode = disk.next();
        let when = self.time();
        let new = Arc::new(Inode::new(content, mode, when));
        self.step(Change::Make { at, inode, new }, paths, Durability::BySync);
        Ok(inode)
    }

    pub(super) fn open(
        &mut self,
        from: Id,
        below: &Path,
        how: Open,
        paths: &[PathBuf],
    ) -> Result<Id> {
        let disk = &self.now.now;
        let found = match how {
            Open::Outside => paths::follow(disk, from, below).map(|(id, _)| id),
            _ => paths::find(disk, from, below),
        };
        let (id, mode) = match (found, how) {
            (
                Err(Errno::NOENT),
                Open::ChangeOrMake(mode) | Open::AppendOrMake(mode) | Open::Make(mode),
            ) => {
                let file = Content::File(Vec::new());
                return self.make(from, below, file, mode & !UMASK, paths);
            }
            (Ok(_), Open::Make(_)) => return Err(Errno::EXIST),
            (found, how) => (found?, how),
        };
        match (&disk.get(id).content, mode) {
            (Content::Link(_), _) => Err(Errno::LOOP),
            (Content::File(_), Open::Directory | Open::Outside) => Err(Errno::NOTDIR),
            (Content::Directory(_), how) if access(how) != Access::Read => Err(Errno::ISDIR),
            _ => Ok(id),
        }
    }

    pub(super) fn unlock(&mut self, id: Id, number: u64) {
        if let Some(locks) = self.locks.get_mut(&id) {
            locks.retain(|(holder, _)| *holder != number);
        }
    }
}

pub(super) fn access(how: Open) -> Access {
    match how {
        Open::Directory | Open::Outside | Open::Look => Access::Read,
        Open::Change | Open::ChangeOrMake(_) | Open::Make(_) => Access::Write,
        Open::Append | Open::AppendOrMake(_) => Access::Append,
    }
}

pub(super) fn meta(disk: &Disk, id: Id, device: u64) -> Meta {
    let inode = disk.get(id);
    let (kind, size) = match &inode.content {
        Content::Directory(_) => (FileType::Directory, 4096),
        Content::File(bytes) => (FileType::RegularFile, bytes.len()),
        Content::Link(target) => (FileType::Symlink, target.as_os_str().len()),
    };
    Meta {
        kind,
        size: size as u64,
        inode: id,
        device,
        links: inode.links,
        mode: inode.mode,
        uid: rustix::process::geteuid().as_raw(),
        gid: rustix::process::getegid().as_raw(),
        modified: inode.modified,
        changed: inode.changed,
    }
}

/// The change that a rename makes. `None` if both names are of one file: then there is nothing to do.
pub(super) fn rename(
    disk: &Disk,
    from: Name,
    to: Name,
    existing: Existing,
) -> Result<Option<Change>> {
    let inode = disk.at(&from).ok_or(Errno::NOENT)?;
    let is_directory = disk.get(inode).is_directory();
    if is_directory && paths::is_below(disk, to.directory, inode) {
        return Err(Errno::INVAL);
    }
    let replaced = disk.at(&to);
    if let Some(replaced) = replaced {
        if existing == Existing::Keep {
            return Err(Errno::EXIST);
        }
        if replaced == inode {
            return Ok(None);
        }
        match &disk.get(replaced).content {
            Content::Directory(_) if !is_directory => return Err(Errno::ISDIR),
            Content::Directory(entries) if !entries.is_empty() => return Err(Errno::NOTEMPTY),
            Content::File(_) | Content::Link(_) if is_directory => return Err(Errno::NOTDIR),
            _ => {}
        }
    }
    Ok(Some(Change::Rename {
        from,
        to,
        inode,
        replaced,
    }))
}
