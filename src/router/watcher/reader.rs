//! Watching one inbox, for a reader that waits: by the `notify` crate everywhere, since so few events cost nothing.

use super::cannot;
use crate::base::error::Result;
use crate::base::limits;
use crate::disk::{Dir, layout};
use notify::event::{AccessKind, AccessMode, ModifyKind, RenameMode};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

/// Tells a reader that waits when something may have come into one inbox.
pub struct InboxWatch {
    room: Dir,
    inbox: PathBuf,
    /// The directory that is watched; somebody may replace it.
    inode: u64,
    /// None where file events don't work; then the reader looks again and again.
    watcher: Option<RecommendedWatcher>,
    events: Receiver<()>,
    wakes: Sender<()>,
}

impl InboxWatch {
    /// Watches an agent's inbox, which is made if there is none. What comes after this is told, so list it now.
    pub fn new(room: &Dir, agent: &str) -> Result<InboxWatch> {
        let (wakes, events) = channel();
        let inbox = layout::inbox(agent);
        let mut watch = InboxWatch { room: room.clone(), inbox, inode: 0, watcher: None, events, wakes };
        watch.renew()?;
        Ok(watch)
    }

    /// What ends the current wait from another thread, or the next one.
    pub fn waker(&self) -> impl Fn() + Send + 'static {
        let wakes = self.wakes.clone();
        move || {
            // The receiver is gone only when nobody waits any more.
            let _ = wakes.send(());
        }
    }

    /// Waits, at most so long and at most two seconds. `true` when something may have come.
    pub fn wait(&mut self, at_most: Duration) -> bool {
        if self.events.recv_timeout(at_most.min(limits::SWEEP_UNTRUSTED)).is_ok() {
            while self.events.try_recv().is_ok() {}
            return true;
        }
        self.renew().unwrap_or(true) || self.watcher.is_none()
    }

    /// Watches the directory that stands there now, if it isn't watched yet.
    fn renew(&mut self) -> Result<bool> {
        let dir = self.room.make(&self.inbox)?;
        let inode = dir.meta()?.inode;
        if inode == self.inode {
            return Ok(false);
        }
        self.inode = inode;
        self.watcher = None;
        if crate::disk::events_work(&dir) {
            self.watcher = self.watch(dir.path()).map_err(|e| tracing::warn!("{e}; looking instead")).ok();
        }
        Ok(true)
    }

    fn watch(&self, path: &Path) -> Result<RecommendedWatcher> {
        let wake = self.waker();
        let handler = move |event: notify::Result<Event>| {
            if !event.is_ok_and(|event| !may_bring_mail(&event)) {
                wake();
            }
        };
        let mut watcher = notify::recommended_watcher(handler).map_err(|e| cannot(path, e))?;
        watcher.watch(path, RecursiveMode::NonRecursive).map_err(|e| cannot(path, e))?;
        Ok(watcher)
    }
}

/// Not opening and reading, which is what the reader itself does, and not what leaves.
fn may_bring_mail(event: &Event) -> bool {
    let leaves = matches!(event.kind, EventKind::Modify(ModifyKind::Name(RenameMode::From)));
    let is_touched = matches!(event.kind, EventKind::Modify(ModifyKind::Metadata(_)));
    let is_read = matches!(event.kind, EventKind::Access(access) if access != AccessKind::Close(AccessMode::Write));
    event.need_rescan() || !(leaves || is_touched || is_read)
}
