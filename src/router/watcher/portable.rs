//! Other systems: the `notify` crate, which delivers events from a thread of its own.
//!
//! Known of it: an overflow or an error comes without a path, and a file written right after its directory was made
//! gives no event.

use super::{Hint, Place, Wake, cannot};
use crate::base::error::Result;
use crate::disk::{Dir, layout};
use notify::event::{AccessKind, AccessMode, ModifyKind, RenameMode};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender};
use std::time::Duration;

/// The watches of one router.
pub(super) struct Events {
    watcher: RecommendedWatcher,
    root: PathBuf,
}

impl Events {
    pub(super) fn new(room: &Dir, wakes: &Sender<Wake>) -> Result<Events> {
        // Events have the path as it was watched, so the real path is watched, and removed from each event.
        let root = room.path().canonicalize().unwrap_or_else(|_| room.path().to_path_buf());
        let (cut, wakes) = (root.clone(), wakes.clone());
        let handler = move |event: notify::Result<Event>| {
            for hint in read(&cut, event) {
                // The receiver is gone only after the router has ended.
                let _ = wakes.send(Wake::Hint(hint));
            }
        };
        let watcher = notify::recommended_watcher(handler).map_err(|e| cannot(&root, e))?;
        Ok(Events { watcher, root })
    }

    pub(super) fn add(&mut self, place: &Place) -> Result<()> {
        let path = self.root.join(place.below());
        // A directory that was removed and made again has a new inode, which the old watch does not cover.
        let _ = self.watcher.unwatch(&path);
        self.watcher.watch(&path, RecursiveMode::NonRecursive).map_err(|e| cannot(&path, e))
    }

    pub(super) fn bell(&self) -> Bell {
        Bell
    }

    pub(super) fn wait(&mut self, patience: Duration, wakes: &Receiver<Wake>, woken: &mut Vec<Wake>) {
        woken.extend(wakes.recv_timeout(patience).ok());
    }
}

/// Calls and events come through one channel, so that a call needs no further signal.
#[derive(Clone)]
pub(super) struct Bell;

impl Bell {
    pub(super) fn ring(&self) {}
}

fn read(root: &Path, event: notify::Result<Event>) -> Vec<Hint> {
    let event = match event {
        Ok(event) if !event.need_rescan() => event,
        _ => return vec![Hint::Everything],
    };
    let (mut came, mut went) = (Vec::new(), Vec::new());
    match event.kind {
        // Events of opening and reading are left out: the router's own reads would wake it.
        EventKind::Access(AccessKind::Close(AccessMode::Write))
        | EventKind::Create(_)
        // A removed link, or a changed permission.
        | EventKind::Modify(ModifyKind::Metadata(_))
        | EventKind::Modify(ModifyKind::Name(RenameMode::To)) => came.extend(event.paths.last()),
        EventKind::Modify(ModifyKind::Name(RenameMode::Both)) => {
            went.extend(event.paths.first());
            came.extend(event.paths.last());
        }
        // The event does not say in which direction.
        EventKind::Modify(ModifyKind::Name(RenameMode::Any)) | EventKind::Any => {
            went.extend(&event.paths);
            came.extend(&event.paths);
        }
        EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(RenameMode::From)) => went.extend(&event.paths),
        // Other systems than Linux report only a change of content.
        EventKind::Modify(_) if cfg!(not(target_os = "linux")) => came.extend(&event.paths),
        _ => {}
    }
    let hint = |path: &PathBuf, of: fn(&Place, &OsStr) -> Option<Hint>| {
        let (place, name) = split(root, path)?;
        of(&place, name)
    };
    let went = went.into_iter().filter_map(|path| hint(path, Place::went));
    went.chain(came.into_iter().filter_map(|path| hint(path, Place::came))).collect()
}

/// The watched directory that a path is in, and its name there.
fn split<'p>(root: &Path, path: &'p Path) -> Option<(Place, &'p OsStr)> {
    let name = path.file_name()?;
    let parts: Option<Vec<&str>> = path
        .parent()?
        .strip_prefix(root)
        .ok()?
        .components()
        .map(|part| match part {
            Component::Normal(part) => part.to_str(),
            _ => None,
        })
        .collect();
    let place = match *parts? {
        [] => Place::Room,
        [layout::OUTBOXES] => Place::Outboxes,
        [layout::OUTBOXES, agent] => Place::Outbox(agent.to_owned()),
        [layout::INBOXES] => Place::Inboxes,
        [layout::INBOXES, agent] => Place::Inbox(agent.to_owned()),
        [layout::INBOXES, agent, layout::TAKEN] => Place::Taken(agent.to_owned()),
        _ => return None,
    };
    Some((place, name))
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
    fn a_file_that_leaves_an_inbox_is_a_hint_and_one_that_comes_is_not() {
        let left = vec![Hint::Left("bob".into(), "x.json".into())];
        assert_eq!(hints(EventKind::Remove(RemoveKind::File), "/room/inbox/bob/x.json"), left);
        assert_eq!(hints(EventKind::Modify(ModifyKind::Name(RenameMode::From)), "/room/inbox/bob/x.json"), left);
        assert_eq!(hints(EventKind::Modify(ModifyKind::Name(RenameMode::To)), "/room/inbox/bob/x.json"), []);
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
