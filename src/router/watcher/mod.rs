//! Step 1, notice: file events, and the only user of `notify`.
//!
//! An event is a hint; the directory is the truth. Watches are on single directories, never on a tree. A directory is
//! made before it is watched and watched before it is read, so that each change is seen at least once.

mod events;
mod log_watch;
mod reader;

pub use log_watch::LogWatch;
pub use reader::InboxWatch;

use crate::base::error::{Error, Result};
use crate::disk::{Dir, layout};
use crate::room::is_edited;
use events::{RoomWatches, WatcherSignal};
use notify::{
    Config, EventHandler, EventKindMask, RecommendedWatcher, RecursiveMode, WatchPathConfig,
    Watcher as _,
};
use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

/// Most files are closed within this time after they were made. The close causes another event, except
/// for a hard link.
const WRITTEN_WITHIN: Duration = Duration::from_millis(20);

/// The hint of a file event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileHint {
    /// A file may have appeared in the outbox of this name.
    File(String, OsString),
    /// A command asks for a pass, by this file in the outbox of this name.
    Request(String, OsString),
    /// A file left the inbox of this name.
    Left(String, OsString),
    /// A file appeared in the inbox of this name.
    Appeared(String, OsString),
    /// The outbox of this name may have appeared.
    Outbox(String),
    /// The directory of outboxes may have appeared.
    Outboxes,
    /// The outbox of this name was removed or moved. A new outbox may have the same inode, because file systems reuse
    /// inodes, but it is not watched.
    OutboxGone(String),
    /// The directory of outboxes was removed or moved.
    OutboxesGone,
    /// An inbox, or a directory in an inbox, may have appeared.
    Inboxes,
    /// The registry or the settings may have changed.
    Registry,
    /// Anything may have changed: scan all directories.
    Everything,
}

/// An event that wakes a router.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RouterEvent {
    /// A file event.
    Hint(FileHint),
    /// Another thread has something for the router.
    Called,
    /// Read the registry and the settings again.
    Reload,
    /// End cleanly.
    End,
}

/// A directory that is watched.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum WatchedPlace {
    Room,
    Outboxes,
    Outbox(String),
    Inboxes,
    Inbox(String),
    Taken(String),
}

impl WatchedPlace {
    fn below(&self) -> PathBuf {
        match self {
            WatchedPlace::Room => PathBuf::new(),
            WatchedPlace::Outboxes => layout::OUTBOXES.into(),
            WatchedPlace::Outbox(agent) => layout::outbox(agent),
            WatchedPlace::Inboxes => layout::INBOXES.into(),
            WatchedPlace::Inbox(agent) => layout::inbox(agent),
            WatchedPlace::Taken(agent) => layout::taken(agent),
        }
    }

    /// Returns true for a directory of one agent.
    fn is_of_an_agent(&self) -> bool {
        matches!(
            self,
            WatchedPlace::Outbox(_) | WatchedPlace::Inbox(_) | WatchedPlace::Taken(_)
        )
    }

    /// The hint of a new name in this directory.
    fn appeared(&self, name: &OsStr) -> Option<FileHint> {
        match self {
            WatchedPlace::Room if name.to_str().is_some_and(is_edited) => Some(FileHint::Registry),
            WatchedPlace::Room if name == layout::OUTBOXES => Some(FileHint::Outboxes),
            WatchedPlace::Outboxes => Some(FileHint::Outbox(name.to_str()?.to_owned())),
            WatchedPlace::Inboxes => Some(FileHint::Inboxes),
            WatchedPlace::Inbox(_) if name == layout::TAKEN => Some(FileHint::Inboxes),
            WatchedPlace::Inbox(agent) if layout::is_message_file(name) => {
                Some(FileHint::Appeared(agent.clone(), name.to_owned()))
            }
            WatchedPlace::Outbox(agent) if layout::is_message_file(name) => {
                Some(FileHint::File(agent.clone(), name.to_owned()))
            }
            WatchedPlace::Outbox(agent) if layout::is_pass_request(name) => {
                Some(FileHint::Request(agent.clone(), name.to_owned()))
            }
            _ => None,
        }
    }

    /// The hint of a name that left this directory.
    fn left(&self, name: &OsStr) -> Option<FileHint> {
        match self {
            WatchedPlace::Room if name == layout::OUTBOXES => Some(FileHint::OutboxesGone),
            WatchedPlace::Room if name.to_str().is_some_and(is_edited) => Some(FileHint::Registry),
            WatchedPlace::Outboxes => Some(FileHint::OutboxGone(name.to_str()?.to_owned())),
            WatchedPlace::Inbox(agent) | WatchedPlace::Taken(agent)
                if layout::is_message_file(name) =>
            {
                Some(FileHint::Left(agent.clone(), name.to_owned()))
            }
            _ => None,
        }
    }
}

/// Wakes a [`RouterEvents`] from another thread.
#[derive(Clone)]
pub struct RouterWaker(Sender<WatcherSignal>);

impl RouterWaker {
    /// Wakes the router, if it has not ended.
    pub fn call(&self, wake: RouterEvent) {
        // The receiver is gone only when the router has ended.
        let _ = self.0.send(WatcherSignal::Wake(wake));
    }
}

/// The events of a router: file events, and calls from other threads.
pub struct RouterEvents {
    sender: Sender<WatcherSignal>,
    signals: Receiver<WatcherSignal>,
    /// New files that may still be open, each with the time of the next look.
    new_files: VecDeque<(Instant, FileHint)>,
    /// `None` for a router without file events.
    events: Option<RoomWatches>,
    failed: bool,
}

impl RouterEvents {
    /// Without file events, only calls wake.
    pub fn silent() -> RouterEvents {
        let (sender, signals) = channel();
        RouterEvents {
            sender,
            signals,
            new_files: VecDeque::new(),
            events: None,
            failed: false,
        }
    }

    /// Starts to watch the room itself and its directories of outboxes and inboxes.
    pub fn watch(room: &Dir) -> Result<RouterEvents> {
        let mut notice = RouterEvents::silent();
        notice.events = Some(RoomWatches::new(room, &notice.sender)?);
        notice.add(&WatchedPlace::Room)?;
        notice.add(&WatchedPlace::Outboxes)?;
        notice.add(&WatchedPlace::Inboxes)?;
        Ok(notice)
    }

    /// Returns true if file events are used.
    pub fn has_events(&self) -> bool {
        self.events.is_some()
    }

    /// Returns true if file events are used, and no watch was rejected because of a limit.
    pub fn can_be_trusted(&self) -> bool {
        self.has_events() && !self.failed
    }

    /// A handle for other threads to wake this one.
    pub fn caller(&self) -> RouterWaker {
        RouterWaker(self.sender.clone())
    }

    /// Watches the directory of outboxes again, after it was replaced.
    pub fn outboxes(&mut self) -> Result<()> {
        self.add(&WatchedPlace::Outboxes)
    }

    /// Watches an agent's outbox. Called again if the outbox was replaced.
    pub fn outbox(&mut self, agent: &str) -> Result<()> {
        self.add(&WatchedPlace::Outbox(agent.to_owned()))
    }

    /// Watches an agent's inbox. Called again if the inbox was replaced.
    pub fn inbox(&mut self, agent: &str) -> Result<()> {
        self.add(&WatchedPlace::Inbox(agent.to_owned()))
    }

    /// Watches an agent's `taken/`.
    pub fn taken(&mut self, agent: &str) -> Result<()> {
        self.add(&WatchedPlace::Taken(agent.to_owned()))
    }

    fn add(&mut self, place: &WatchedPlace) -> Result<()> {
        if self.failed {
            // The failure was reported; the router scans all directories.
            return Ok(());
        }
        let Some(events) = &mut self.events else {
            return Ok(());
        };
        match events.add(place) {
            Err(e @ Error::Busy { .. }) => {
                self.failed = true;
                Err(e)
            }
            Err(e) if is_at_the_limit(&e) || !place.is_of_an_agent() => {
                self.failed = true;
                Err(too_many(&e))
            }
            // Any other error concerns this directory only.
            added => added,
        }
    }

    /// Waits for a wake, at most this long, and returns all wakes that have arrived. A new file that is still open
    /// wakes no router.
    pub fn wait(&mut self, patience: Duration) -> Vec<RouterEvent> {
        let end = Instant::now() + patience;
        let mut woken = Vec::new();
        loop {
            let until = self.new_files.front().map_or(end, |(due, _)| end.min(*due));
            let first = self
                .signals
                .recv_timeout(until.saturating_duration_since(Instant::now()));
            let mut next = first.ok();
            while let Some(signal) = next {
                self.take(signal, &mut woken);
                next = self.signals.try_recv().ok();
            }
            let now = Instant::now();
            while self.new_files.front().is_some_and(|(due, _)| *due <= now) {
                woken.extend(
                    self.new_files
                        .pop_front()
                        .map(|(_, hint)| RouterEvent::Hint(hint)),
                );
            }
            if !woken.is_empty() || now >= end {
                return woken;
            }
        }
    }

    fn take(&mut self, signal: WatcherSignal, woken: &mut Vec<RouterEvent>) {
        match signal {
            WatcherSignal::NewFile(hint) => self
                .new_files
                .push_back((Instant::now() + WRITTEN_WITHIN, hint)),
            WatcherSignal::Wake(wake) => {
                if let RouterEvent::Hint(hint) = &wake {
                    self.new_files.retain(|(_, new)| new != hint);
                    // A pass includes the files that were dropped before its request.
                    if matches!(hint, FileHint::Request(..)) {
                        let dropped = std::mem::take(&mut self.new_files);
                        woken.extend(dropped.into_iter().map(|(_, hint)| RouterEvent::Hint(hint)));
                    }
                }
                woken.push(wake);
            }
        }
    }
}

/// Starts a watcher for events of these kinds. It watches nothing yet.
fn start(
    path: &Path,
    kinds: EventKindMask,
    handler: impl EventHandler,
) -> Result<RecommendedWatcher> {
    let config = Config::default().with_event_kinds(kinds);
    RecommendedWatcher::new(handler, config).map_err(|e| cannot(path, e))
}

/// Watches one directory, and not the target of a link in its place.
fn add(watcher: &mut RecommendedWatcher, path: &Path) -> Result<()> {
    let config = WatchPathConfig::new(RecursiveMode::NonRecursive).with_dereference_symlinks(false);
    watcher
        .watch_with(path, config)
        .map_err(|e| cannot(path, e))
}

/// Converts an error of `notify` about a path.
fn cannot(path: &Path, e: notify::Error) -> Error {
    let source = match e.kind {
        notify::ErrorKind::Io(source) => source,
        notify::ErrorKind::PathNotFound => std::io::Error::from_raw_os_error(libc::ENOENT),
        notify::ErrorKind::MaxFilesWatch => std::io::Error::from_raw_os_error(libc::ENOSPC),
        kind => std::io::Error::other(notify::Error::new(kind)),
    };
    Error::Io {
        verb: "watch",
        path: path.to_path_buf(),
        source,
    }
}

fn is_at_the_limit(e: &Error) -> bool {
    matches!(
        e.errno(),
        None | Some(libc::ENOSPC | libc::EMFILE | libc::ENFILE | libc::ENOMEM)
    )
}

/// The error if the system has no more watches for this user, or no watcher. It names the limit to raise.
pub fn too_many(e: &Error) -> Error {
    let raise = match e.errno() {
        Some(libc::EMFILE) => {
            "; raise fs.inotify.max_user_instances with sysctl, and start the router again"
        }
        Some(libc::ENOSPC) | None => {
            "; raise fs.inotify.max_user_watches with sysctl, and start the router again"
        }
        _ => "",
    };
    let what = format!("file events don't reach the whole room: {e}");
    Error::busy(what, format!("looking every two seconds instead{raise}"))
}
