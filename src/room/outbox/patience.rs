//! How long unfinished files have been unchanged.

use crate::base::limits;
use crate::disk::{Dir, Meta};
use std::collections::HashMap;
use std::ffi::OsStr;
use std::time::{Duration, Instant};

/// Remembers the metadata of unfinished files, and since when it has not changed.
pub struct Patience {
    stood: HashMap<std::path::PathBuf, (Meta, Instant)>,
    /// The time of the file system's clock, for a single pass, which cannot wait.
    now: Option<i128>,
}

impl Patience {
    /// For a continuous router, `None`: it uses the monotonic clock. For a single pass, the time of the file system's
    /// clock: the change time of a newly written file.
    pub fn new(now: Option<i128>) -> Patience {
        Patience { stood: HashMap::new(), now }
    }

    /// The time of the file system's clock, for a single pass.
    pub fn now(&self) -> Option<i128> {
        self.now
    }

    // A single pass takes a file that looks complete: perhaps no later pass takes it.
    pub(super) fn can_wait(&self) -> bool {
        self.now.is_none()
    }

    // The remaining time until this file has been unchanged long enough. `None` if it has.
    pub(super) fn wait(&mut self, dir: &Dir, name: &OsStr, meta: &Meta) -> Option<Duration> {
        if let Some(now) = self.now {
            let stood = u64::try_from(now - meta.changed).map_or(Duration::ZERO, Duration::from_nanos);
            return limits::UNCHANGED_FOR.checked_sub(stood).filter(|wait| !wait.is_zero());
        }
        let (last, since) = self.stood.entry(dir.at(name)).or_insert_with(|| (*meta, Instant::now()));
        if last != meta {
            (*last, *since) = (*meta, Instant::now());
        }
        limits::UNCHANGED_FOR.checked_sub(since.elapsed()).filter(|wait| !wait.is_zero())
    }

    pub(super) fn forget(&mut self, dir: &Dir, name: &OsStr) {
        if !self.stood.is_empty() {
            self.stood.remove(&dir.at(name));
        }
    }

    /// Forgets files that no longer exist or are ready.
    pub fn tidy(&mut self) {
        self.stood.retain(|_, (_, since)| since.elapsed() < limits::SWEEP_TRUSTED * 4);
    }
}
