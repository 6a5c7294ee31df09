//! Watches one inbox, or the directory of a link, for a waiting reader.

use super::{add, start};
use crate::base::error::Result;
use crate::base::limits;
use crate::disk::{Dir, layout};
use notify::event::{ModifyKind, RenameMode};
use notify::{Event, EventKind, EventKindMask, RecommendedWatcher};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

/// Wakes a waiting reader when a file may have appeared in one inbox or in another directory of the room.
pub struct InboxWatch {
    room: Dir,
    inbox: PathBuf,
    /// The watched directory, which may be replaced.
    inode: u64,
    /// `None` if file events do not work; then the reader polls.
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

    /// Like [`InboxWatch::new`], for the outgoing items of a link.
    pub fn of_link(room: &Dir, tag: &str) -> Result<InboxWatch> {
        InboxWatch::at(room, layout::link_out(tag))
    }

    fn at(room: &Dir, inbox: PathBuf) -> Result<InboxWatch> {
        let (wakes, events) = channel();
        let mut watch = InboxWatch {
            room: room.clone(),
            inbox,
            inode: 0,
            watcher: None,
            events,
            wakes,
        };
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

    /// Waits at most this long, and at most two seconds. Returns true if a file may have appeared.
    pub fn wait(&mut self, at_most: Duration) -> bool {
        if self
            .events
            .recv_timeout(at_most.min(limits::SWEEP_UNTRUSTED))
            .is_ok()
        {
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
            match self.watch(dir.path()) {
                Ok(watcher) => self.watcher = Some(watcher),
                Err(e) => tracing::warn!("{e}; looking instead"),
            }
        }
        Ok(true)
    }

    fn watch(&self, path: &Path) -> Result<RecommendedWatcher> {
        let wake = self.waker();
        let mut watcher = start(path, KINDS, move |event: notify::Result<Event>| {
            if event.as_ref().map_or(true, may_bring_mail) {
                wake();
            }
        })?;
        add(&mut watcher, path)?;
        Ok(watcher)
    }
}

/// The kinds of events that can bring mail. The reader itself opens, reads and removes files.
const KINDS: EventKindMask = EventKindMask::CREATE
    .union(EventKindMask::MODIFY_NAME)
    .union(EventKindMask::MODIFY_DATA)
    .union(EventKindMask::ACCESS_CLOSE);

fn may_bring_mail(event: &Event) -> bool {
    event.need_rescan()
        || !matches!(
            event.kind,
            EventKind::Modify(ModifyKind::Name(RenameMode::From))
        )
}
