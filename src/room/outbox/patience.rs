//! How long unfinished files have stood still.

use crate::base::limits;
use crate::disk::{Dir, Meta};
use std::collections::HashMap;
use std::ffi::OsStr;
use std::time::{Duration, Instant};

/// Remembers how files stood that were not ready, and since when they have stood like that.
pub struct Patience {
    stood: HashMap<std::path::PathBuf, (Meta, Instant)>,
    /// What the file system's clock says, for a single pass that can't wait and see.
    now: Option<i128>,
}

impl Patience {
    /// For a router that runs on: by the monotonic clock. For a single pass, by the file system's own clock, given as
    /// the change time of a file just written there.
    pub fn new(now: Option<i128>) -> Patience {
        Patience { stood: HashMap::new(), now }
    }

    // How long to wait until this file has stood still for long enough; None when it has.
    pub(super) fn wait(&mut self, dir: &Dir, name: &OsStr, meta: &Meta) -> Option<Duration> {
        if let Some(now) = self.now {
            let stood = u64::try_from(now - meta.changed).map_or(Duration::ZERO, Duration::from_nanos);
            return limits::STAND_STILL.checked_sub(stood).filter(|wait| !wait.is_zero());
        }
        let (last, since) = self.stood.entry(dir.at(name)).or_insert_with(|| (*meta, Instant::now()));
        if last != meta {
            (*last, *since) = (*meta, Instant::now());
        }
        limits::STAND_STILL.checked_sub(since.elapsed()).filter(|wait| !wait.is_zero())
    }

    pub(super) fn forget(&mut self, dir: &Dir, name: &OsStr) {
        if !self.stood.is_empty() {
            self.stood.remove(&dir.at(name));
        }
    }

    /// Forgets files that stopped being waited for.
    pub fn tidy(&mut self) {
        self.stood.retain(|_, (_, since)| since.elapsed() < limits::SWEEP_TRUSTED * 4);
    }
}
