//! The calls that a machine has seen, and which of them fail or have no effect.

use rustix::io::Errno;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// The errors that a test gives a call.
pub(crate) const ERRORS: [Errno; 5] = [
    Errno::NOSPC,
    Errno::IO,
    Errno::MFILE,
    Errno::ROFS,
    Errno::ACCESS,
];

/// One call.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) name: CallName,
    /// The paths of its files when they were opened; the old path first.
    pub(crate) paths: Vec<PathBuf>,
    /// The error number of a failed call.
    pub(crate) result: Result<(), i32>,
    /// Whether the failure was injected.
    pub(crate) is_injected: bool,
    /// The number of changes before it: the crash point between it and the call before.
    pub(crate) step: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallName {
    Open,
    /// An existing file.
    OpenToWrite,
    /// A new file.
    Make,
    MakeDirectory,
    MakeLink,
    ReadLink,
    Rename,
    Remove,
    RemoveDirectory,
    Stat,
    List,
    Canonical,
    Meta,
    Read,
    Write,
    /// A smaller length.
    Shrink,
    /// A greater length.
    Grow,
    SetModified,
    SetMode,
    Lock,
    Lease,
    SyncFile,
    SyncData,
    SyncDirectory,
    SyncAll,
    Forget,
}

impl CallName {
    pub(crate) fn is_sync(self) -> bool {
        use CallName::{SyncAll, SyncData, SyncDirectory, SyncFile};
        matches!(self, SyncFile | SyncData | SyncDirectory | SyncAll)
    }

    /// Returns true if it changes the disk.
    pub(crate) fn is_change(self) -> bool {
        use CallName::{Grow, SetMode, SetModified, Shrink, Write};
        self.changes_names() || matches!(self, Write | Shrink | Grow | SetModified | SetMode)
    }

    fn changes_names(self) -> bool {
        use CallName::{MakeDirectory, MakeLink, Remove, RemoveDirectory, Rename};
        self.makes_name()
            || matches!(
                self,
                MakeDirectory | MakeLink | Rename | Remove | RemoveDirectory
            )
    }

    fn makes_name(self) -> bool {
        use CallName::{Make, MakeDirectory, MakeLink};
        matches!(self, Make | MakeDirectory | MakeLink)
    }

    fn opens(self) -> bool {
        use CallName::{List, Make, Open, OpenToWrite};
        matches!(self, Open | OpenToWrite | Make | List)
    }

    /// Returns true if a lasting condition with this error makes such a call fail.
    pub(crate) fn can_fail_with(self, errno: i32) -> bool {
        use CallName::{Grow, OpenToWrite, Read, Write};
        match Errno::from_raw_os_error(errno) {
            Errno::NOSPC => self.makes_name() || matches!(self, Write | Grow),
            Errno::IO => self.is_sync() || matches!(self, Read | Write),
            Errno::MFILE | Errno::NFILE => self.opens(),
            Errno::ROFS => self.is_change() || self == OpenToWrite,
            Errno::ACCESS => self.opens() || self.changes_names(),
            _ => false,
        }
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.name)?;
        for path in &self.paths {
            write!(f, " {}", path.display())?;
        }
        match self.result {
            Ok(()) => Ok(()),
            Err(errno) => write!(f, " ({})", std::io::Error::from_raw_os_error(errno)),
        }
    }
}

/// A call that fails.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Failure {
    /// Its number in [`super::Machine::calls`].
    pub(crate) call: usize,
    pub(crate) errno: i32,
    /// Whether every later call of a kind that has this error also fails.
    pub(crate) lasts: bool,
    /// Whether a write writes a half, and the next write fails.
    pub(crate) short: bool,
}

/// A call that succeeds without its effect.
#[derive(Clone)]
pub(crate) struct Control {
    pub(crate) kind: ControlKind,
    pub(crate) matches: Arc<dyn Fn(&Call) -> bool + Send + Sync>,
}

impl fmt::Debug for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.kind)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ControlKind {
    /// A matching sync makes nothing durable.
    Swallow,
    /// A matching rename becomes durable as if it had happened after the next batch of the log was synced.
    Late,
}

/// A failure of one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Injection {
    None,
    Fail(Errno),
    Short,
}

/// The failure that a test wants, and its progress.
#[derive(Debug, Default)]
pub(super) struct Failing {
    failure: Option<Failure>,
    has_begun: bool,
    fails_next_write: bool,
}

impl Failing {
    pub(super) fn new(failure: Option<Failure>) -> Failing {
        Failing {
            failure,
            ..Failing::default()
        }
    }

    pub(super) fn is_active(&self) -> bool {
        self.failure.is_some()
    }

    /// The failure of the call with this number. `bytes` is the length of a write.
    pub(super) fn injection(&mut self, number: usize, name: CallName, bytes: usize) -> Injection {
        let Some(failure) = self.failure else {
            return Injection::None;
        };
        let is_write = name == CallName::Write;
        if number == failure.call && failure.short && is_write && bytes > 1 {
            self.fails_next_write = true;
            return Injection::Short;
        }
        let is_it = number == failure.call || is_write && self.fails_next_write;
        if is_it || failure.lasts && self.has_begun && name.can_fail_with(failure.errno) {
            self.fails_next_write &= !is_write;
            self.has_begun = true;
            return Injection::Fail(Errno::from_raw_os_error(failure.errno));
        }
        Injection::None
    }
}
