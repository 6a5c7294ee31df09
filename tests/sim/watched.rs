//! A file system with a hook before each call.

use super::CallName;
use mailbag::disk::fs::{Existing, Fs, Listing, Lock, Meta, Open, ReadLeaseResult, Sync, Volume};
use mailbag::disk::root::{root, with_root};
use std::any::Any;
use std::collections::HashMap;
use std::fmt;
use std::io::Result;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Calls `act` on the files of the system, in this thread. `hook` is called before each call, with the paths of its files
/// when they were opened, the old path first. It can change files, or return an error, which the call then gives. The hook
/// is not called for its own calls.
pub(crate) fn watched<T>(
    hook: impl FnMut(CallName, &[PathBuf]) -> Result<()> + Send + 'static,
    act: impl FnOnce() -> T,
) -> T {
    with_root(Arc::new(Watched::new(root(), hook)), act)
}

/// An open file or directory of another file system, with its path.
pub(crate) struct Watched {
    inner: Arc<dyn Fs>,
    path: PathBuf,
    is_directory: bool,
    watch: Arc<Watch>,
}

type Hook = Box<dyn FnMut(CallName, &[PathBuf]) -> Result<()> + Send>;

/// The hook, and the open files that it knows.
struct Watch {
    hook: Mutex<Hook>,
    /// The paths of open directories, by the addresses of the wrapped ones: a rename gets its target as any [`Fs`].
    open: Mutex<HashMap<usize, PathBuf>>,
}

impl Watched {
    /// Wraps the root directory of a file system.
    pub(crate) fn new(
        root: Arc<dyn Fs>,
        hook: impl FnMut(CallName, &[PathBuf]) -> Result<()> + Send + 'static,
    ) -> Watched {
        let watch = Watch {
            hook: Mutex::new(Box::new(hook)),
            open: Mutex::default(),
        };
        Watched::wrap(root, PathBuf::from("/"), true, Arc::new(watch))
    }

    fn wrap(inner: Arc<dyn Fs>, path: PathBuf, is_directory: bool, watch: Arc<Watch>) -> Watched {
        watch.open().insert(address(&*inner), path.clone());
        Watched {
            inner,
            path,
            is_directory,
            watch,
        }
    }

    /// Calls the hook for a call on this file.
    fn before(&self, call: CallName) -> Result<()> {
        self.watch.before(call, std::slice::from_ref(&self.path))
    }

    /// Calls the hook for a call on a name in this directory.
    fn before_name(&self, call: CallName, name: &Path) -> Result<()> {
        self.watch.before(call, &[self.path.join(name)])
    }
}

impl Watch {
    fn before(&self, call: CallName, paths: &[PathBuf]) -> Result<()> {
        match self.hook.try_lock() {
            Ok(mut hook) => hook(call, paths),
            Err(_) => Ok(()), // The hook is at work.
        }
    }

    fn open(&self) -> MutexGuard<'_, HashMap<usize, PathBuf>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The place of an open file in memory.
fn address(file: &dyn Fs) -> usize {
    std::ptr::from_ref(file.as_any()).cast::<()>().addr()
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.watch.open().remove(&address(&*self.inner));
    }
}

impl fmt::Debug for Watched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} at {}", self.inner, self.path.display())
    }
}

impl Fs for Watched {
    fn open(&self, below: &Path, how: Open) -> Result<Arc<dyn Fs>> {
        let call = match how {
            Open::Directory | Open::Outside | Open::Look => CallName::Open,
            Open::Make(_) => CallName::Make,
            Open::ChangeOrMake(_) | Open::AppendOrMake(_) if self.inner.stat(below).is_err() => {
                CallName::Make
            }
            _ => CallName::OpenToWrite,
        };
        self.before_name(call, below)?;
        Ok(Arc::new(Watched::wrap(
            self.inner.open(below, how)?,
            self.path.join(below),
            matches!(how, Open::Directory | Open::Outside),
            Arc::clone(&self.watch),
        )))
    }

    fn make_directory(&self, name: &Path, mode: u32) -> Result<()> {
        self.before_name(CallName::MakeDirectory, name)?;
        self.inner.make_directory(name, mode)
    }

    fn make_link(&self, name: &Path, target: &Path) -> Result<()> {
        self.before_name(CallName::MakeLink, name)?;
        self.inner.make_link(name, target)
    }

    fn read_link(&self, name: &Path) -> Result<PathBuf> {
        self.before_name(CallName::ReadLink, name)?;
        self.inner.read_link(name)
    }

    fn rename(&self, name: &Path, to: &dyn Fs, new: &Path, existing: Existing) -> Result<()> {
        let directory = self.watch.open().get(&address(to)).cloned();
        let target = directory.unwrap_or_default().join(new);
        self.watch
            .before(CallName::Rename, &[self.path.join(name), target])?;
        self.inner.rename(name, to, new, existing)
    }

    fn remove(&self, name: &Path) -> Result<()> {
        self.before_name(CallName::Remove, name)?;
        self.inner.remove(name)
    }

    fn remove_directory(&self, name: &Path) -> Result<()> {
        self.before_name(CallName::RemoveDirectory, name)?;
        self.inner.remove_directory(name)
    }

    fn stat(&self, name: &Path) -> Result<Meta> {
        self.before_name(CallName::Stat, name)?;
        self.inner.stat(name)
    }

    fn list(&self) -> Result<Listing> {
        self.before(CallName::List)?;
        self.inner.list()
    }

    fn may_write(&self) -> bool {
        self.inner.may_write()
    }

    fn canonical(&self, path: &Path) -> Result<PathBuf> {
        self.before_name(CallName::Canonical, path)?;
        self.inner.canonical(path)
    }

    fn meta(&self) -> Result<Meta> {
        self.before(CallName::Meta)?;
        self.inner.meta()
    }

    fn read_at(&self, bytes: &mut [u8], at: u64) -> Result<usize> {
        self.before(CallName::Read)?;
        self.inner.read_at(bytes, at)
    }

    fn write_at(&self, bytes: &[u8], at: u64) -> Result<usize> {
        self.before(CallName::Write)?;
        self.inner.write_at(bytes, at)
    }

    fn set_len(&self, length: u64) -> Result<()> {
        let is_longer = length > self.inner.meta()?.size;
        self.before(if is_longer {
            CallName::Grow
        } else {
            CallName::Shrink
        })?;
        self.inner.set_len(length)
    }

    fn set_modified(&self, time: Option<i128>) -> Result<()> {
        self.before(CallName::SetModified)?;
        self.inner.set_modified(time)
    }

    fn set_mode(&self, mode: u32) -> Result<()> {
        self.before(CallName::SetMode)?;
        self.inner.set_mode(mode)
    }

    fn lock(&self, lock: Lock) -> Result<bool> {
        self.before(CallName::Lock)?;
        self.inner.lock(lock)
    }

    fn lease(&self) -> ReadLeaseResult {
        self.before(CallName::Lease)
            .map_or(ReadLeaseResult::Unknown, |()| self.inner.lease())
    }

    fn sync(&self, what: Sync) -> Result<()> {
        self.before(match what {
            Sync::All => CallName::SyncAll,
            Sync::Data => CallName::SyncData,
            Sync::Full if self.is_directory => CallName::SyncDirectory,
            Sync::Full => CallName::SyncFile,
        })?;
        self.inner.sync(what)
    }

    fn forget(&self) -> Result<()> {
        self.before(CallName::Forget)?;
        self.inner.forget()
    }

    fn volume(&self) -> Option<Volume> {
        self.inner.volume()
    }

    fn as_any(&self) -> &dyn Any {
        self.inner.as_any()
    }
}
