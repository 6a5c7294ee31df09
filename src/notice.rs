//! Step 1, notice: file events, and the only user of the watcher.
//!
//! An event is a hint; the directory is the truth. Watches are on single directories, never on a tree: a directory is
//! made before it is watched and watched before it is read, so that what comes in between is seen once or twice, but
//! not never. Known of the watcher: an overflow or an error comes without a path, and a file written right after its
//! directory was made gives no event.

use crate::disk::Dir;
use crate::error::{Error, Result};
use crate::layout;
use notify::event::{AccessKind, AccessMode, ModifyKind, RenameMode};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};
use std::sync::mpsc::Sender;

/// What a file event hints at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hint {
    /// A file may have come into the outbox of this name.
    File(String, OsString),
    /// The outbox of this name may have come.
    Outbox(String),
    /// The directory of outboxes may have come.
    Outboxes,
    /// The outbox of this name went, or was moved. One that stands there now may look the same, since file systems use
    /// identities again, but nobody watches it.
    OutboxGone(String),
    /// The directory of outboxes went, or was moved.
    OutboxesGone,
    /// The registry or the settings may have changed.
    Registry,
    /// Anything may have happened: look everywhere.
    Everything,
}

/// Watches the room's root, the directory of outboxes, and each outbox.
pub struct Watcher {
    watcher: RecommendedWatcher,
    root: PathBuf,
    failed: bool,
}

impl Watcher {
    /// Begins to watch the room itself; every hint goes to `hints`, as whatever `wrap` makes of it.
    pub fn new<T: Send + 'static>(room: &Dir, hints: Sender<T>, wrap: fn(Hint) -> T) -> Result<Watcher> {
        // Events carry the path as it was watched, so the real one is watched and cut off again.
        let root = room.path().canonicalize().unwrap_or_else(|_| room.path().to_path_buf());
        let cut = root.clone();
        let handler = move |event: notify::Result<Event>| {
            for hint in read(&cut, event) {
                // The receiver is gone only when the router ends.
                let _ = hints.send(wrap(hint));
            }
        };
        let watcher = notify::recommended_watcher(handler).map_err(|e| cannot(&root, e))?;
        let mut watcher = Watcher { watcher, root, failed: false };
        watcher.watch(Path::new(""))?;
        watcher.watch(Path::new(layout::OUTBOXES))?;
        Ok(watcher)
    }

    /// Watches the directory of outboxes anew, after it was replaced.
    pub fn outboxes(&mut self) -> Result<()> {
        self.watch(Path::new(layout::OUTBOXES))
    }

    /// Watches an agent's outbox, anew if it was replaced.
    pub fn outbox(&mut self, agent: &str) -> Result<()> {
        self.watch(&layout::outbox(agent))
    }

    /// Did the system refuse a watch, as it does when there are too many? Then events can't be trusted.
    pub fn has_failed(&self) -> bool {
        self.failed
    }

    fn watch(&mut self, below: &Path) -> Result<()> {
        let path = self.root.join(below);
        // A directory that was removed and made again has a new identity, which the old watch doesn't know.
        let _ = self.watcher.unwatch(&path);
        self.watcher.watch(&path, RecursiveMode::NonRecursive).map_err(|e| {
            self.failed = true;
            cannot(&path, e)
        })
    }
}

/// Tells when the log may have grown.
pub struct LogWatch {
    _watcher: RecommendedWatcher,
}

impl LogWatch {
    /// Begins to watch the log's directory; `told` is called, by a thread of the watcher's, whenever a segment may have
    /// grown or come.
    pub fn new(room: &Dir, told: impl Fn() + Send + 'static) -> Result<LogWatch> {
        let path = room.make(layout::LOG)?.path().to_path_buf();
        let handler = move |event: notify::Result<Event>| {
            // Whoever reads the log makes events of reading it, and must not be woken by them.
            if !event.is_ok_and(|event| matches!(event.kind, EventKind::Access(_)) && !event.need_rescan()) {
                told();
            }
        };
        let mut watcher = notify::recommended_watcher(handler).map_err(|e| cannot(&path, e))?;
        watcher.watch(&path, RecursiveMode::NonRecursive).map_err(|e| cannot(&path, e))?;
        Ok(LogWatch { _watcher: watcher })
    }
}

fn cannot(path: &Path, e: notify::Error) -> Error {
    let source = match e.kind {
        notify::ErrorKind::Io(source) => source,
        kind => std::io::Error::other(format!("{kind:?}")),
    };
    Error::Io { verb: "watch", path: path.to_path_buf(), source }
}

fn read(root: &Path, event: notify::Result<Event>) -> Vec<Hint> {
    let event = match event {
        Ok(event) if !event.need_rescan() => event,
        _ => return vec![Hint::Everything],
    };
    match event.kind {
        // Opening and reading are what the router itself does: to react to them would feed back.
        EventKind::Access(AccessKind::Close(AccessMode::Write))
        | EventKind::Create(_)
        // A link that went, or a permission that came.
        | EventKind::Modify(ModifyKind::Metadata(_))
        | EventKind::Modify(ModifyKind::Name(RenameMode::To | RenameMode::Both | RenameMode::Any))
        | EventKind::Any => event.paths.iter().rev().take(1).filter_map(|path| place(root, path)).collect(),
        EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(RenameMode::From)) => {
            event.paths.iter().filter_map(|path| place(root, path)).filter_map(gone).collect()
        }
        // Elsewhere than on Linux a change of content is all that is told.
        EventKind::Modify(_) if cfg!(not(target_os = "linux")) => {
            event.paths.iter().filter_map(|path| place(root, path)).collect()
        }
        _ => Vec::new(),
    }
}

fn place(root: &Path, path: &Path) -> Option<Hint> {
    let mut parts = path.strip_prefix(root).ok()?.components().map(|part| match part {
        Component::Normal(part) => Some(part),
        _ => None,
    });
    let first = parts.next()??;
    if first == layout::REGISTRY || first == layout::SETTINGS {
        return Some(Hint::Registry);
    }
    if first != layout::OUTBOXES {
        return None;
    }
    match (parts.next().flatten(), parts.next().flatten()) {
        (Some(agent), Some(name)) if layout::is_message_file(name) => {
            Some(Hint::File(agent.to_str()?.to_owned(), name.to_owned()))
        }
        (Some(agent), None) => Some(Hint::Outbox(agent.to_str()?.to_owned())),
        (None, _) => Some(Hint::Outboxes),
        _ => None,
    }
}

fn gone(there: Hint) -> Option<Hint> {
    match there {
        Hint::Outbox(agent) => Some(Hint::OutboxGone(agent)),
        Hint::Outboxes => Some(Hint::OutboxesGone),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use notify::event::{CreateKind, Flag, RemoveKind};

    fn hints(kind: EventKind, path: &str) -> Vec<Hint> {
        read(Path::new("/room"), Ok(Event::new(kind).add_path(path.into())))
    }

    #[test]
    fn a_closed_renamed_or_linked_file_is_a_hint_and_a_read_one_is_not() {
        let file = vec![Hint::File("bob".into(), "x.json".into())];
        let closed = EventKind::Access(AccessKind::Close(AccessMode::Write));
        assert_eq!(hints(closed, "/room/outbox/bob/x.json"), file);
        assert_eq!(hints(EventKind::Modify(ModifyKind::Name(RenameMode::To)), "/room/outbox/bob/x.json"), file);
        assert_eq!(hints(EventKind::Create(CreateKind::File), "/room/outbox/bob/x.json"), file);
        assert_eq!(hints(EventKind::Access(AccessKind::Open(AccessMode::Any)), "/room/outbox/bob/x.json"), []);
        assert_eq!(hints(closed, "/room/outbox/bob/.x.json.tmp"), []);
    }

    #[test]
    fn an_overflow_without_a_path_means_look_everywhere() {
        let overflow = Event::new(EventKind::Other).set_flag(Flag::Rescan);
        assert_eq!(read(Path::new("/room"), Ok(overflow)), [Hint::Everything]);
    }

    #[test]
    fn the_registry_and_new_outboxes_are_told_apart() {
        let closed = EventKind::Access(AccessKind::Close(AccessMode::Write));
        assert_eq!(hints(closed, "/room/registry.json"), [Hint::Registry]);
        assert_eq!(hints(EventKind::Create(CreateKind::Folder), "/room/outbox/new"), [Hint::Outbox("new".into())]);
        let removed = EventKind::Remove(RemoveKind::Folder);
        assert_eq!(hints(removed, "/room/outbox/old"), [Hint::OutboxGone("old".into())]);
        assert_eq!(hints(removed, "/room/outbox"), [Hint::OutboxesGone]);
        assert_eq!(hints(removed, "/room/outbox/old/x.json"), []);
        assert_eq!(hints(EventKind::Create(CreateKind::File), "/room/roster.json"), []);
    }
}
