//! Watches one inbox, or the directory of a link, for a reader that waits, with the `notify` crate on all systems: few
//! events cost little.

use super::cannot;
use crate::base::error::Result;
use crate::base::limits;
use crate::disk::{Dir, layout};
use notify::event::{AccessKind, AccessMode, ModifyKind, RenameMode};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

/// Tells a waiting reader when a file may have appeared in one inbox, or in another directory of the room.
pub struct InboxWatch {
    room: Dir,
    inbox: PathBuf,
    /// The watched directory, which may be replaced.
    inode: u64,
    /// None where file events do not work; then the reader polls.
    watcher: Option<RecommendedWatcher>,
    events: Receiver<()>,
    wakes: Sender<()>,
}

impl InboxWatch {
    /// Watches an agent's inbox, and makes it if it is missing. List the inbox after this call: later files give
    /// events.
    pub fn new(room: &Dir, agent: &str) -> Result<InboxWatch> {
        InboxWatch::at(room, layout::inbox(agent))
    }

    /// As [`InboxWatch::new`], for what is sent over a link.
    pub fn of_link(room: &Dir, tag: &str) -> Result<InboxWatch> {
        InboxWatch::at(room, layout::link_out(tag))
    }

    fn at(room: &Dir, inbox: PathBuf) -> Result<InboxWatch> {
        let (wakes, events) = channel();
        let mut watch = InboxWatch { room: room.clone(), inbox, inode: 0, watcher: None, events, wakes };
        watch.renew()?;
        Ok(watch)
    }

    /// Ends the current or the next wait, from another thread.
    pub fn waker(&self) -> impl Fn() + Send + 'static {
        let wakes = self.wakes.clone();
        move || {
            // The receiver is gone only after the last wait.
            let _ = wakes.send(());
        }
    }

    /// Waits at most this long, and at most two seconds. `true` if a file may have appeared.
    pub fn wait(&mut self, at_most: Duration) -> bool {
        if self.events.recv_timeout(at_most.min(limits::SWEEP_UNTRUSTED)).is_ok() {
            while self.events.try_recv().is_ok() {}
            return true;
        }
        self.renew().unwrap_or(true) || self.watcher.is_none()
    }

    /// Watches the present directory, if it is not watched yet.
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

/// Events of opening, reading and removal are left out: the reader itself does these.
fn may_bring_mail(event: &Event) -> bool {
    let leaves = matches!(event.kind, EventKind::Modify(ModifyKind::Name(RenameMode::From)));
    let is_touched = matches!(event.kind, EventKind::Modify(ModifyKind::Metadata(_)));
    let is_read = matches!(event.kind, EventKind::Access(access) if access != AccessKind::Close(AccessMode::Write));
    event.need_rescan() || !(leaves || is_touched || is_read)
}
