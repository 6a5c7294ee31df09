//! Orphans: processes below this one that lost their parent. This process becomes their parent, so that a command cannot
//! hide that `mailbag exec` started it.

use super::Dir;
use super::machine::{proc, stat_of};
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// The delay before an ended orphan is removed. A thread that waits for a child of ours takes it earlier.
const LEFT: Duration = Duration::from_secs(5);

/// The orphans of this process.
pub struct OrphanProcesses {
    /// Processes that had ended at the last look.
    ended: BTreeSet<u32>,
    looked: Instant,
}

impl OrphanProcesses {
    /// Becomes the parent of all further orphans, if the system supports it.
    pub fn adopt() -> OrphanProcesses {
        #[cfg(target_os = "linux")]
        if let Err(e) = rustix::process::set_child_subreaper(Some(rustix::process::getpid())) {
            tracing::debug!("cannot adopt orphans: {e}");
        }
        OrphanProcesses {
            ended: BTreeSet::new(),
            looked: Instant::now(),
        }
    }

    /// Removes orphans that have ended from the process table. `child` is left to the thread that waits for it.
    pub fn reap(&mut self, child: Option<Pid>) {
        if self.looked.elapsed() < LEFT {
            return;
        }
        self.looked = Instant::now();
        let peek = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        if !matches!(waitid(WaitId::All, peek), Ok(Some(_))) {
            self.ended.clear();
            return;
        }
        let child = child.map(|child| child.as_raw_nonzero().get().unsigned_abs());
        let ended: BTreeSet<u32> = ended_children()
            .into_iter()
            .filter(|pid| Some(*pid) != child)
            .collect();
        for pid in ended.intersection(&self.ended) {
            let pid = i32::try_from(*pid).ok().and_then(Pid::from_raw);
            let _ = pid.map(|pid| {
                waitid(
                    WaitId::Pid(pid),
                    WaitIdOptions::EXITED | WaitIdOptions::NOHANG,
                )
            });
        }
        self.ended = ended;
    }
}

/// The children of this process that have ended and that no thread has waited for.
fn ended_children() -> Vec<u32> {
    let Some(listing) = Dir::open(&proc()).ok().and_then(|proc| proc.list().ok()) else {
        return Vec::new();
    };
    let all = listing
        .flatten()
        .filter_map(|entry| stat_of(entry.name.to_str()?.parse().ok()?));
    all.filter(|stat| stat.state == "Z" && stat.parent == std::process::id())
        .map(|stat| stat.process.pid)
        .collect()
}
