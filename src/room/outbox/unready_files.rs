//! The time since the last change of files that are not ready.

use crate::base::limits;
use crate::disk::{Dir, Meta};
use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Remembers the metadata of files that are not ready, and since when it has not changed.
pub struct UnreadyFiles {
    /// The unfinished files that no program has open, as far as the system reports it.
    stood: UnchangedFiles,
    /// The files that a program has open for writing.
    open: UnchangedFiles,
    /// The time of the file system's clock, for a single pass, which cannot wait.
    now: Option<i128>,
}

type UnchangedFiles = HashMap<PathBuf, (Meta, Instant)>;

impl UnreadyFiles {
    /// For a continuous router, `None`: it uses the monotonic clock. For a single pass, the time of the file system's
    /// clock: the change time of a newly written file.
    pub fn new(now: Option<i128>) -> UnreadyFiles {
        UnreadyFiles {
            stood: HashMap::new(),
            open: HashMap::new(),
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
        limits::UNCHANGED_FOR
            .checked_sub(unchanged_for(&mut self.stood, dir, name, meta))
            .filter(|wait| !wait.is_zero())
    }

    // The delay before the next look at a file that a program has open: as long as it has been unchanged so far.
    pub(super) fn wait_for_writer(&mut self, dir: &Dir, name: &OsStr, meta: &Meta) -> Duration {
        self.stood.remove(&dir.at(name));
        unchanged_for(&mut self.open, dir, name, meta).clamp(limits::OPEN_FIRST, limits::OPEN_MOST)
    }

    pub(super) fn forget(&mut self, dir: &Dir, name: &OsStr) {
        for known in [&mut self.stood, &mut self.open]
            .into_iter()
            .filter(|known| !known.is_empty())
        {
            known.remove(&dir.at(name));
        }
    }

    /// Forgets files that no longer exist or are ready.
    pub fn tidy(&mut self) {
        for known in [&mut self.stood, &mut self.open] {
            known.retain(|_, (_, since)| since.elapsed() < limits::SWEEP_TRUSTED * 4);
        }
    }
}

fn unchanged_for(known: &mut UnchangedFiles, dir: &Dir, name: &OsStr, meta: &Meta) -> Duration {
    let (last, since) = known
        .entry(dir.at(name))
        .or_insert_with(|| (*meta, Instant::now()));
    if last != meta {
        (*last, *since) = (*meta, Instant::now());
    }
    since.elapsed()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_file_that_was_just_closed_is_looked_at_again_at_once_and_one_that_stays_open_ever_later() {
        let place = tempfile::tempdir().expect("a directory");
        let mut file = std::fs::File::create(place.path().join("x.json")).expect("a file");
        let (dir, name) = (
            Dir::open(place.path()).expect("a directory"),
            OsStr::new("x.json"),
        );
        let mut patience = UnreadyFiles::new(None);
        let mut wait = |opened: Duration| {
            let since = Instant::now()
                .checked_sub(opened)
                .expect("an uptime of seconds");
            for (_, at) in patience.open.values_mut() {
                *at = since;
            }
            patience.wait_for_writer(
                &dir,
                name,
                &dir.stat("x.json").ok().flatten().expect("its metadata"),
            )
        };
        assert_eq!(wait(Duration::ZERO), limits::OPEN_FIRST);
        let later = wait(Duration::from_millis(500));
        assert!((500..1000).contains(&later.as_millis()), "{later:?}");
        assert_eq!(wait(Duration::from_secs(9)), limits::OPEN_MOST);
        file.write_all(b"{}").expect("a file");
        assert_eq!(
            wait(Duration::from_secs(9)),
            limits::OPEN_FIRST,
            "the rest may be written now"
        );
    }
}
