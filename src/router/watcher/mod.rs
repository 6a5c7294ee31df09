//! Step 1, notice: file events, and the only user of the watchers.
//!
//! An event is a hint; the directory is the truth. Watches are on single directories, never on a tree: a directory is
//! made before it is watched and watched before it is read, so that what comes in between is seen once or twice, but
//! not never. On Linux the router asks inotify for just the events it needs, on the thread that routes: `notify` asks
//! for all, and hands each over from a thread of its own, which was measured to cost more than the mail. Elsewhere
//! `notify` is the watcher; the tests run on both.

mod log_watch;
#[cfg(target_os = "linux")]
mod native;
mod portable;
mod reader;

pub use reader::InboxWatch;

pub use log_watch::LogWatch;

use crate::base::error::{Error, Result};
use crate::disk::{Dir, layout};
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

/// What a file event hints at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hint {
    /// A file may have come into the outbox of this name.
    File(String, OsString),
    /// A file left the inbox of this name.
    Left(String, OsString),
    /// The outbox of this name may have come.
    Outbox(String),
    /// The directory of outboxes may have come.
    Outboxes,
    /// The outbox of this name went, or was moved. One that stands there now may look the same, since file systems use
    /// identities again, but nobody watches it.
    OutboxGone(String),
    /// The directory of outboxes went, or was moved.
    OutboxesGone,
    /// An inbox may have come, or a directory in one.
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

    /// What it means that a name came into this directory.
    fn came(&self, name: &OsStr) -> Option<Hint> {
        match self {
            Place::Room if name == layout::REGISTRY || name == layout::SETTINGS => Some(Hint::Registry),
            Place::Room if name == layout::OUTBOXES => Some(Hint::Outboxes),
            Place::Outboxes => Some(Hint::Outbox(name.to_str()?.to_owned())),
            Place::Inboxes => Some(Hint::Inboxes),
            Place::Inbox(_) if name == layout::TAKEN => Some(Hint::Inboxes),
            Place::Outbox(agent) if layout::is_message_file(name) => Some(Hint::File(agent.clone(), name.to_owned())),
            _ => None,
        }
    }

    /// What it means that a name left this directory.
    fn went(&self, name: &OsStr) -> Option<Hint> {
        match self {
            Place::Room if name == layout::OUTBOXES => Some(Hint::OutboxesGone),
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
    #[cfg(target_os = "linux")]
    bell: Option<native::Bell>,
}

impl Caller {
    /// Wakes the router. One that has ended hears nothing.
    pub fn call(&self, wake: Wake) {
        // The receiver is gone only when the router has ended.
        let _ = self.wakes.send(wake);
        #[cfg(target_os = "linux")]
        self.bell.iter().for_each(native::Bell::ring);
    }
}

/// What a router waits on: file events, and calls from other threads.
pub struct Notice {
    calls: Sender<Wake>,
    wakes: Receiver<Wake>,
    events: Events,
    failed: bool,
}

enum Events {
    Silent,
    #[cfg(target_os = "linux")]
    Native(native::Inotify),
    Portable(portable::Watcher),
}

impl Notice {
    /// Without file events: only calls wake.
    pub fn silent() -> Notice {
        let (calls, wakes) = channel();
        Notice { calls, wakes, events: Events::Silent, failed: false }
    }

    /// Begins to watch the room itself and its directory of outboxes.
    pub fn watch(room: &Dir) -> Result<Notice> {
        let mut notice = Notice::silent();
        notice.events = notice.listen(room)?;
        notice.add(&Place::Room)?;
        notice.add(&Place::Outboxes)?;
        notice.add(&Place::Inboxes)?;
        Ok(notice)
    }

    #[cfg(target_os = "linux")]
    fn listen(&self, room: &Dir) -> Result<Events> {
        if is_portable_wanted() {
            return portable::Watcher::new(room, self.calls.clone()).map(Events::Portable);
        }
        native::Inotify::new(room).map(Events::Native)
    }

    #[cfg(not(target_os = "linux"))]
    fn listen(&self, room: &Dir) -> Result<Events> {
        portable::Watcher::new(room, self.calls.clone()).map(Events::Portable)
    }

    /// Are there file events at all?
    pub fn has_events(&self) -> bool {
        !matches!(self.events, Events::Silent)
    }

    /// Are there file events, and was no watch refused, as it is when there are too many?
    pub fn can_be_trusted(&self) -> bool {
        self.has_events() && !self.failed
    }

    /// For other threads to wake this one.
    pub fn caller(&self) -> Caller {
        Caller {
            wakes: self.calls.clone(),
            #[cfg(target_os = "linux")]
            bell: match &self.events {
                Events::Native(inotify) => Some(inotify.bell()),
                _ => None,
            },
        }
    }

    /// Watches the directory of outboxes anew, after it was replaced.
    pub fn outboxes(&mut self) -> Result<()> {
        self.add(&Place::Outboxes)
    }

    /// Watches an agent's outbox, anew if it was replaced.
    pub fn outbox(&mut self, agent: &str) -> Result<()> {
        self.add(&Place::Outbox(agent.to_owned()))
    }

    /// Watches what leaves an agent's inbox, anew if it was replaced.
    pub fn inbox(&mut self, agent: &str) -> Result<()> {
        self.add(&Place::Inbox(agent.to_owned()))
    }

    /// Watches what leaves the mail that was handed out to one of several consumers.
    pub fn taken(&mut self, agent: &str) -> Result<()> {
        self.add(&Place::Taken(agent.to_owned()))
    }

    fn add(&mut self, place: &Place) -> Result<()> {
        if self.failed {
            // It was said, and the router looks everywhere in any case.
            return Ok(());
        }
        let added = match &mut self.events {
            Events::Silent => Ok(()),
            #[cfg(target_os = "linux")]
            Events::Native(inotify) => inotify.add(place),
            Events::Portable(watcher) => watcher.add(place),
        };
        match added {
            // What is gone again needs no watch.
            Err(e) if e.errno() == Some(libc::ENOENT) => Ok(()),
            Err(e) if is_at_the_limit(&e) || !place.is_of_an_agent() => {
                self.failed = true;
                Err(too_many(&e))
            }
            // Whatever it is, it is wrong with this directory alone.
            added => added,
        }
    }

    /// Waits until something wakes, at most this long, and gives all that is there.
    pub fn wait(&mut self, patience: Duration) -> Vec<Wake> {
        let mut woken = Vec::new();
        match &mut self.events {
            #[cfg(target_os = "linux")]
            Events::Native(inotify) => inotify.wait(patience, &mut woken),
            _ if patience.is_zero() => {}
            _ => woken.extend(self.wakes.recv_timeout(patience).ok()),
        }
        woken.extend(self.wakes.try_iter());
        woken
    }
}

// The portable watcher doesn't always say which error it was.
fn is_at_the_limit(e: &Error) -> bool {
    matches!(e.errno(), None | Some(libc::ENOSPC | libc::EMFILE | libc::ENFILE | libc::ENOMEM))
}

/// The system has no more watches for this user, or no watcher at all: what to raise.
pub fn too_many(e: &Error) -> Error {
    let raise = match e.errno() {
        Some(libc::EMFILE) => "; raise fs.inotify.max_user_instances with sysctl, and start the router again",
        Some(libc::ENOSPC) | None => "; raise fs.inotify.max_user_watches with sysctl, and start the router again",
        _ => "",
    };
    let what = format!("file events don't reach the whole room: {e}");
    Error::Busy { what, cure: format!("looking every two seconds instead{raise}") }
}

/// Builds for tests may ask for the portable watcher, so that it is tried where nobody needs it.
#[cfg(target_os = "linux")]
fn is_portable_wanted() -> bool {
    cfg!(any(debug_assertions, feature = "failpoints")) && std::env::var_os("MAILBAG_TEST_PORTABLE").is_some()
}
