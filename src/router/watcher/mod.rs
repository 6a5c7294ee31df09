//! Step 1, notice: file events, and the only user of the watchers.
//!
//! An event is a hint; the directory is the truth. Watches are on single directories, never on a tree: a directory is
//! made before it is watched and watched before it is read, so that what comes in between is seen once or twice, but
//! not never. On Linux the router asks inotify for just the events it needs, on the thread that routes: `notify` asks
//! for all, and hands each over from a thread of its own, which was measured to cost more than the mail. Elsewhere, and
//! on Linux without the feature `native`, `notify` is the watcher.

mod log_watch;
#[cfg(all(target_os = "linux", feature = "native"))]
mod native;
#[cfg(not(all(target_os = "linux", feature = "native")))]
mod portable;
mod reader;

pub use log_watch::LogWatch;
pub use reader::InboxWatch;

#[cfg(all(target_os = "linux", feature = "native"))]
use native::{Bell, Events};
#[cfg(not(all(target_os = "linux", feature = "native")))]
use portable::{Bell, Events};

use crate::base::error::{Error, Result};
use crate::disk::{Dir, layout};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

/// What a file event hints at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hint {
    /// A file may have appeared in the outbox of this name.
    File(String, OsString),
    /// A command asks for a pass, by this file in the outbox of this name.
    Request(String, OsString),
    /// A file left the inbox of this name.
    Left(String, OsString),
    /// The outbox of this name may have appeared.
    Outbox(String),
    /// The directory of outboxes may have appeared.
    Outboxes,
    /// The outbox of this name was removed or moved. A new one may have the same inode, because file systems use inodes
    /// again, but it is not watched.
    OutboxGone(String),
    /// The directory of outboxes was removed or moved.
    OutboxesGone,
    /// An inbox, or a directory in an inbox, may have appeared.
    Inboxes,
    /// The registry or the settings may have changed.
    Registry,
    /// Anything may have happened: look everywhere.
    Everything,
}

/// What wakes a router.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wake {
    /// A file event.
    Hint(Hint),
    /// Another thread has something for the router.
    Called,
    /// Read the registry and the settings again.
    Reload,
    /// End cleanly.
    End,
}

/// A directory that is watched.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Place {
    Room,
    Outboxes,
    Outbox(String),
    Inboxes,
    Inbox(String),
    Taken(String),
}

impl Place {
    fn below(&self) -> PathBuf {
        match self {
            Place::Room => PathBuf::new(),
            Place::Outboxes => layout::OUTBOXES.into(),
            Place::Outbox(agent) => layout::outbox(agent),
            Place::Inboxes => layout::INBOXES.into(),
            Place::Inbox(agent) => layout::inbox(agent),
            Place::Taken(agent) => layout::taken(agent),
        }
    }

    /// Is it a directory of one agent?
    fn is_of_an_agent(&self) -> bool {
        matches!(self, Place::Outbox(_) | Place::Inbox(_) | Place::Taken(_))
    }

    /// The hint of a new name in this directory.
    fn came(&self, name: &OsStr) -> Option<Hint> {
        match self {
            Place::Room if [layout::REGISTRY, layout::SETTINGS, layout::CHARTER].iter().any(|file| name == *file) => {
                Some(Hint::Registry)
            }
            Place::Room if name == layout::OUTBOXES => Some(Hint::Outboxes),
            Place::Outboxes => Some(Hint::Outbox(name.to_str()?.to_owned())),
            Place::Inboxes => Some(Hint::Inboxes),
            Place::Inbox(_) if name == layout::TAKEN => Some(Hint::Inboxes),
            Place::Outbox(agent) if layout::is_message_file(name) => Some(Hint::File(agent.clone(), name.to_owned())),
            Place::Outbox(agent) if layout::is_pass_request(name) => {
                Some(Hint::Request(agent.clone(), name.to_owned()))
            }
            _ => None,
        }
    }

    /// The hint of a name that left this directory.
    fn went(&self, name: &OsStr) -> Option<Hint> {
        match self {
            Place::Room if name == layout::OUTBOXES => Some(Hint::OutboxesGone),
            Place::Room if name == layout::CHARTER => Some(Hint::Registry),
            Place::Outboxes => Some(Hint::OutboxGone(name.to_str()?.to_owned())),
            Place::Inbox(agent) | Place::Taken(agent) if layout::is_message_file(name) => {
                Some(Hint::Left(agent.clone(), name.to_owned()))
            }
            _ => None,
        }
    }
}

/// Wakes a [`Notice`] from another thread.
#[derive(Clone)]
pub struct Caller {
    wakes: Sender<Wake>,
    bell: Option<Bell>,
}

impl Caller {
    /// Wakes the router, if it has not ended.
    pub fn call(&self, wake: Wake) {
        // The receiver is gone only when the router has ended.
        let _ = self.wakes.send(wake);
        self.bell.iter().for_each(Bell::ring);
    }
}

/// What a router waits for: file events, and calls from other threads.
pub struct Notice {
    calls: Sender<Wake>,
    wakes: Receiver<Wake>,
    /// None for a router that only calls wake.
    events: Option<Events>,
    failed: bool,
}

impl Notice {
    /// Without file events: only calls wake.
    pub fn silent() -> Notice {
        let (calls, wakes) = channel();
        Notice { calls, wakes, events: None, failed: false }
    }

    /// Starts to watch the room itself and its directories of outboxes and inboxes.
    pub fn watch(room: &Dir) -> Result<Notice> {
        let mut notice = Notice::silent();
        notice.events = Some(Events::new(room, &notice.calls)?);
        notice.add(&Place::Room)?;
        notice.add(&Place::Outboxes)?;
        notice.add(&Place::Inboxes)?;
        Ok(notice)
    }

    /// Are there file events at all?
    pub fn has_events(&self) -> bool {
        self.events.is_some()
    }

    /// Are there file events, and was no watch refused, as it is when there are too many?
    pub fn can_be_trusted(&self) -> bool {
        self.has_events() && !self.failed
    }

    /// For other threads to wake this one.
    pub fn caller(&self) -> Caller {
        Caller { wakes: self.calls.clone(), bell: self.events.as_ref().map(Events::bell) }
    }

    /// Watches the directory of outboxes again, after it was replaced.
    pub fn outboxes(&mut self) -> Result<()> {
        self.add(&Place::Outboxes)
    }

    /// Watches an agent's outbox, again if it was replaced.
    pub fn outbox(&mut self, agent: &str) -> Result<()> {
        self.add(&Place::Outbox(agent.to_owned()))
    }

    /// Watches what leaves an agent's inbox, again if it was replaced.
    pub fn inbox(&mut self, agent: &str) -> Result<()> {
        self.add(&Place::Inbox(agent.to_owned()))
    }

    /// Watches what leaves an agent's directory of leased mail.
    pub fn taken(&mut self, agent: &str) -> Result<()> {
        self.add(&Place::Taken(agent.to_owned()))
    }

    fn add(&mut self, place: &Place) -> Result<()> {
        if self.failed {
            // Reported before; the router looks at all directories in any case.
            return Ok(());
        }
        let Some(events) = &mut self.events else { return Ok(()) };
        match events.add(place) {
            // A directory that is gone needs no watch.
            Err(e) if e.errno() == Some(libc::ENOENT) => Ok(()),
            Err(e) if is_at_the_limit(&e) || !place.is_of_an_agent() => {
                self.failed = true;
                Err(too_many(&e))
            }
            // Any other error concerns this directory only.
            added => added,
        }
    }

    /// Waits for a wake, at most this long, and returns all that are there.
    pub fn wait(&mut self, patience: Duration) -> Vec<Wake> {
        let mut woken = Vec::new();
        match &mut self.events {
            Some(events) => events.wait(patience, &self.wakes, &mut woken),
            None => woken.extend(self.wakes.recv_timeout(patience).ok()),
        }
        woken.extend(self.wakes.try_iter());
        woken
    }
}

/// Why `notify` can't watch a path.
fn cannot(path: &Path, e: notify::Error) -> Error {
    let source = match e.kind {
        notify::ErrorKind::Io(source) => source,
        kind => std::io::Error::other(format!("{kind:?}")),
    };
    Error::Io { verb: "watch", path: path.to_path_buf(), source }
}

// The portable watcher does not always report the error number.
fn is_at_the_limit(e: &Error) -> bool {
    matches!(e.errno(), None | Some(libc::ENOSPC | libc::EMFILE | libc::ENFILE | libc::ENOMEM))
}

/// The system has no more watches for this user, or no watcher at all: says which limit to raise.
pub fn too_many(e: &Error) -> Error {
    let raise = match e.errno() {
        Some(libc::EMFILE) => "; raise fs.inotify.max_user_instances with sysctl, and start the router again",
        Some(libc::ENOSPC) | None => "; raise fs.inotify.max_user_watches with sysctl, and start the router again",
        _ => "",
    };
    let what = format!("file events don't reach the whole room: {e}");
    Error::Busy { what, cure: format!("looking every two seconds instead{raise}") }
}
