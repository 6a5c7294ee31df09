//! The calls of the program.

use super::calls::{CallName, ControlKind, Injection};
use super::disk::{Change, Content};
use super::handles::{Access, Handle, UMASK, access, meta, rename};
use super::machine::lock;
use super::paths;
use super::state::Durability;
use mailbag::disk::fs::{
    DirectoryEntry, Existing, Fs, Listing, Lock, Meta, Open, ReadLeaseResult, Sync, Volume,
};
use rustix::fs::FileType;
use rustix::io::Errno;
use std::any::Any;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Result;
use std::path::{Path, PathBuf};
use std::sync::Arc;

impl Fs for Handle {
    fn open(&self, below: &Path, how: Open) -> Result<Arc<dyn Fs>> {
        let is_there = paths::find(&lock(&self.inner).now.now, self.id, below).is_ok();
        let name = match (access(how), how) {
            (Access::Read, _) => CallName::Open,
            (_, Open::Make(_)) => CallName::Make,
            (_, Open::ChangeOrMake(_) | Open::AppendOrMake(_)) if !is_there => CallName::Make,
            _ => CallName::OpenToWrite,
        };
        self.call(name, &[below], |inner, paths| {
            let id = inner.open(self.id, below, how, paths)?;
            let handle = inner.handle(&self.inner, id, paths[0].clone(), access(how));
            Ok(Arc::new(handle) as Arc<dyn Fs>)
        })
    }

    fn make_directory(&self, name: &Path, mode: u32) -> Result<()> {
        let directory = Content::Directory(BTreeMap::new());
        self.make(CallName::MakeDirectory, name, directory, mode & !UMASK)
    }

    fn make_link(&self, name: &Path, target: &Path) -> Result<()> {
        let link = Content::Link(target.to_owned());
        self.make(CallName::MakeLink, name, link, 0o777)
    }

    fn read_link(&self, name: &Path) -> Result<PathBuf> {
        self.call(CallName::ReadLink, &[name], |inner, _| {
            let disk = &inner.now.now;
            match &disk.get(paths::find(disk, self.id, name)?).content {
                Content::Link(target) => Ok(target.clone()),
                _ => Err(Errno::INVAL),
            }
        })
    }

    fn rename(&self, name: &Path, to: &dyn Fs, new: &Path, existing: Existing) -> Result<()> {
        let to = to.as_any().downcast_ref::<Handle>();
        let Some(to) = to.filter(|to| Arc::ptr_eq(&to.inner, &self.inner)) else {
            return Err(Errno::XDEV.into());
        };
        let paths = [self.path.join(name), to.path.join(new)];
        self.call(CallName::Rename, &[&paths[0], &paths[1]], |inner, paths| {
            let disk = &inner.now.now;
            let from = paths::place(disk, self.id, name)?;
            let to = paths::new_place(disk, to.id, new)?;
            let Some(change) = rename(disk, from, to, existing)? else {
                return Ok(());
            };
            let durability = if inner.is_controlled(ControlKind::Late) {
                Durability::ByLaterSync
            } else {
                Durability::BySync
            };
            inner.step(change, paths, durability);
            Ok(())
        })
    }

    fn remove(&self, name: &Path) -> Result<()> {
        self.call(CallName::Remove, &[name], |inner, paths| {
            let disk = &inner.now.now;
            let at = paths::place(disk, self.id, name)?;
            let inode = disk.at(&at).ok_or(Errno::NOENT)?;
            if disk.get(inode).is_directory() {
                return Err(Errno::ISDIR);
            }
            inner.step(Change::Remove { at, inode }, paths, Durability::BySync);
            Ok(())
        })
    }

    fn remove_directory(&self, name: &Path) -> Result<()> {
        self.call(CallName::RemoveDirectory, &[name], |inner, paths| {
            let disk = &inner.now.now;
            let at = paths::place(disk, self.id, name)?;
            let inode = disk.at(&at).ok_or(Errno::NOENT)?;
            match &disk.get(inode).content {
                Content::Directory(entries) if entries.is_empty() => {}
                Content::Directory(_) => return Err(Errno::NOTEMPTY),
                _ => return Err(Errno::NOTDIR),
            }
            inner.step(Change::Remove { at, inode }, paths, Durability::BySync);
            Ok(())
        })
    }

    fn stat(&self, name: &Path) -> Result<Meta> {
        self.call(CallName::Stat, &[name], |inner, _| {
            let id = paths::find(&inner.now.now, self.id, name)?;
            Ok(meta(&inner.now.now, id, inner.device))
        })
    }

    fn list(&self) -> Result<Listing> {
        self.call(CallName::List, &[], |inner, _| {
            let disk = &inner.now.now;
            let entries = disk.entries(self.id)?.iter();
            let mut list: Vec<_> = entries
                .map(|(name, id)| (place_in_list(name), name.clone(), *id))
                .collect();
            list.sort();
            let kinds: Vec<FileType> = list
                .iter()
                .map(|(_, _, id)| meta(disk, *id, 0).kind)
                .collect();
            let list = list.into_iter().zip(kinds);
            Ok(Box::new(
                list.map(|((_, name, inode), kind)| Ok(DirectoryEntry { name, kind, inode })),
            ) as Listing)
        })
    }

    fn may_write(&self) -> bool {
        lock(&self.inner).now.now.get(self.id).mode & 0o200 != 0
    }

    fn canonical(&self, path: &Path) -> Result<PathBuf> {
        self.call(CallName::Canonical, &[path], |inner, _| {
            paths::follow(&inner.now.now, self.id, path).map(|(_, path)| path)
        })
    }

    fn meta(&self) -> Result<Meta> {
        self.call(CallName::Meta, &[], |inner, _| {
            Ok(meta(&inner.now.now, self.id, inner.device))
        })
    }

    fn read_at(&self, bytes: &mut [u8], at: u64) -> Result<usize> {
        self.call(CallName::Read, &[], |inner, _| {
            let Content::File(content) = &inner.now.now.get(self.id).content else {
                return Err(Errno::ISDIR);
            };
            let rest = content.get(at as usize..).unwrap_or_default();
            let length = rest.len().min(bytes.len());
            bytes[..length].copy_from_slice(&rest[..length]);
            Ok(length)
        })
    }

    fn write_at(&self, bytes: &[u8], at: u64) -> Result<usize> {
        let paths = self.paths(&[]);
        let mut inner = lock(&self.inner);
        let number = inner.begin(CallName::Write, &paths);
        let injection = inner
            .failing
            .injection(number, CallName::Write, bytes.len());
        let bytes = match injection {
            Injection::None => bytes,
            Injection::Short => &bytes[..bytes.len() / 2],
            Injection::Fail(errno) => {
                let failed = inner.injected(number, errno);
                return inner.end(number, failed);
            }
        };
        let at = match self.access {
            Access::Read => return inner.end(number, Err(Errno::BADF)),
            Access::Write => at,
            Access::Append => inner.now.now.get(self.id).bytes().len() as u64,
        };
        if !bytes.is_empty() {
            let (file, bytes) = (self.id, bytes.to_vec());
            inner.step(
                Change::Write { file, at, bytes },
                &paths,
                Durability::BySync,
            );
        }
        inner.end(number, Ok(bytes.len()))
    }

    fn set_len(&self, length: u64) -> Result<()> {
        let before = lock(&self.inner).now.now.get(self.id).bytes().len() as u64;
        let name = if length > before {
            CallName::Grow
        } else {
            CallName::Shrink
        };
        self.change(name, |_| match self.access {
            Access::Read => Err(Errno::INVAL),
            _ => Ok(Change::SetLength {
                file: self.id,
                length,
            }),
        })
    }

    fn set_modified(&self, time: Option<i128>) -> Result<()> {
        self.change(CallName::SetModified, |inner| {
            let time = time.unwrap_or_else(|| inner.time());
            Ok(Change::SetModified {
                file: self.id,
                time,
            })
        })
    }

    fn set_mode(&self, mode: u32) -> Result<()> {
        self.change(CallName::SetMode, |_| {
            Ok(Change::SetMode {
                file: self.id,
                mode,
            })
        })
    }

    fn lock(&self, lock: Lock) -> Result<bool> {
        self.call(CallName::Lock, &[], |inner, _| {
            let locks = inner.locks.entry(self.id).or_default();
            let others = || locks.iter().filter(|(holder, _)| *holder != self.number);
            let is_possible = match lock {
                Lock::Exclusive => others().next().is_none(),
                Lock::Shared => others().all(|(_, held)| *held == Lock::Shared),
                Lock::Free => true,
            };
            if is_possible {
                inner.unlock(self.id, self.number);
                if lock != Lock::Free {
                    let locks = inner.locks.entry(self.id).or_default();
                    locks.push((self.number, lock));
                }
            }
            Ok(is_possible)
        })
    }

    fn lease(&self) -> ReadLeaseResult {
        let result = self.call(CallName::Lease, &[], |inner, _| {
            let is_file = matches!(inner.now.now.get(self.id).content, Content::File(_));
            Ok(match inner.writers.get(&self.id) {
                _ if !is_file => ReadLeaseResult::Unknown,
                Some(1..) => ReadLeaseResult::Writer,
                _ => ReadLeaseResult::Free,
            })
        });
        result.unwrap_or(ReadLeaseResult::Unknown)
    }

    fn sync(&self, what: Sync) -> Result<()> {
        let paths = self.paths(&[]);
        let mut inner = lock(&self.inner);
        let is_directory = inner.now.now.get(self.id).is_directory();
        let (name, change, file) = match what {
            Sync::All => (CallName::SyncAll, Change::SyncAll, None),
            _ if is_directory => (
                CallName::SyncDirectory,
                Change::Sync(self.id),
                Some(self.id),
            ),
            Sync::Full => (CallName::SyncFile, Change::Sync(self.id), Some(self.id)),
            Sync::Data => (CallName::SyncData, Change::SyncData(self.id), Some(self.id)),
        };
        let number = inner.begin(name, &paths);
        if let Injection::Fail(errno) = inner.failing.injection(number, name, 0) {
            inner.step(Change::FailedSync(file), &paths, Durability::BySync);
            let failed = inner.injected(number, errno);
            return inner.end(number, failed);
        }
        if !inner.is_controlled(ControlKind::Swallow) {
            inner.step(change, &paths, Durability::BySync);
        }
        inner.end(number, Ok(()))
    }

    fn forget(&self) -> Result<()> {
        self.call(CallName::Forget, &[], |inner, paths| {
            if inner.now.lost.contains(&self.id) {
                inner.step(Change::Forget(self.id), paths, Durability::BySync);
            }
            Ok(())
        })
    }

    fn volume(&self) -> Option<Volume> {
        Some(Volume {
            bytes: 1 << 40,
            files: Some(1 << 30),
            is_read_only: false,
            magic: 0xef53,
        })
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// A place that has nothing to do with the order of the alphabet.
fn place_in_list(name: &std::ffi::OsStr) -> u64 {
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    hasher.finish()
}
