//! The time since the last change of files that are not ready.

use crate::base::clock::Stamp;
use crate::base::limits;
use crate::disk::{Dir, Meta};
use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Remembers the metadata of files that are not ready, and since when it has not changed.
pub struct UnreadyFiles {
    /// The unfinished files that no program has open, as far as the system reports it.
    stood: HashMap<PathBuf, (Meta, Instant)>,
    /// The time of the file system's clock, for a single pass, which cannot wait.
    now: Option<i128>,
}

impl UnreadyFiles {
    /// For a continuous router, `None`: it uses the monotonic clock. For a single pass, the time of the file system's
    /// clock: the change time of a newly written file.
    pub fn new(now: Option<i128>) -> UnreadyFiles {
        UnreadyFiles {
            stood: HashMap::new(),
            now,
        }
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
            if meta.changed > now + limits::CLOCKS_APART.as_nanos() as i128 {
                // It was written before the clock was set back.
                return None;
            }
            let stood =
                u64::try_from(now - meta.changed).map_or(Duration::ZERO, Duration::from_nanos);
            return limits::UNCHANGED_FOR
                .checked_sub(stood)
                .filter(|wait| !wait.is_zero());
        }
        let (last, since) = self
            .stood
            .entry(dir.at(name))
            .or_insert_with(|| (*meta, Instant::now()));
        if last != meta {
            (*last, *since) = (*meta, Instant::now());
        }
        limits::UNCHANGED_FOR
            .checked_sub(since.elapsed())
            .filter(|wait| !wait.is_zero())
    }

    pub(super) fn forget(&mut self, dir: &Dir, name: &OsStr) {
        if !self.stood.is_empty() {
            self.stood.remove(&dir.at(name));
        }
    }

    /// Forgets files that no longer exist or are ready.
    pub fn tidy(&mut self) {
        self.stood
            .retain(|_, (_, since)| since.elapsed() < limits::SWEEP_TRUSTED * 4);
    }
}

/// The delay before the next look at a file that a program has open: as long as it has been unchanged so far.
pub(super) fn wait_for_writer(meta: &Meta) -> Duration {
    let (now, changed) = (Stamp::now(), meta.changed_at());
    if changed > now {
        return limits::OPEN_MOST;
    }
    now.saturating_duration_since(changed)
        .clamp(limits::OPEN_FIRST, limits::OPEN_MOST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_was_just_closed_is_looked_at_again_at_once_and_one_that_stays_open_ever_later() {
        let place = tempfile::tempdir().expect("a directory");
        std::fs::write(place.path().join("x.json"), "{}").expect("a file");
        let dir = Dir::open(place.path()).expect("a directory");
        let meta = dir.stat("x.json").ok().flatten().expect("its metadata");
        let wait = |open: Duration| {
            wait_for_writer(&Meta {
                changed: meta.changed - open.as_nanos() as i128,
                ..meta
            })
        };
        assert!(wait(Duration::ZERO) < Duration::from_millis(400));
        let later = wait(Duration::from_millis(500));
        assert!((500..1000).contains(&later.as_millis()), "{later:?}");
        assert_eq!(wait(Duration::from_secs(9)), limits::OPEN_MOST);
    }
}
