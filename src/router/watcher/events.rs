//! The events of a room, as hints for the router.
//!
//! Limits of `notify`: an overflow or an error has no path, and a file written right after its directory was made
//! gives no event. After a move of the room, events keep the old path, and no directory can be added.

use super::{FileHint, RouterEvent, WatchedPlace, add, start};
use crate::base::error::{Error, Result};
use crate::disk::Dir;
use crate::disk::paths::PathQuestions;
use notify::event::{AccessKind, AccessMode, CreateKind, ModifyKind, RenameMode};
use notify::{Event, EventKind, EventKindMask, RecommendedWatcher, Watcher as _};
use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};

/// The watched kinds of events. Opening and reading are not watched, because the router's own reads would wake it.
const KINDS: EventKindMask = EventKindMask::CREATE
    .union(EventKindMask::REMOVE)
    .union(EventKindMask::MODIFY_NAME)
    // A removed second name, or a changed permission.
    .union(EventKindMask::MODIFY_META)
    .union(WRITTEN);
/// Other systems than Linux report only a change of content, and not when a file is closed.
const WRITTEN: EventKindMask = if HAS_CLOSE {
    EventKindMask::ACCESS_CLOSE
} else {
    EventKindMask::MODIFY_DATA
};
const HAS_CLOSE: bool = cfg!(target_os = "linux");

/// A message of the watcher's thread to the router.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum WatcherSignal {
    Wake(RouterEvent),
    /// A file was made in an outbox. It is closed soon, or it is a hard link.
    NewFile(FileHint),
}

/// The watched directories, by their path when they were added.
#[derive(Default)]
struct WatchedPlaces(Mutex<HashMap<PathBuf, WatchedPlace>>);

/// The watches of one router.
pub(super) struct RoomWatches {
    room: Dir,
    watcher: RecommendedWatcher,
    places: Arc<WatchedPlaces>,
    root: PathBuf,
}

impl RoomWatches {
    pub(super) fn new(room: &Dir, sender: &Sender<WatcherSignal>) -> Result<RoomWatches> {
        // An absolute path stays valid if the router's working directory changes.
        let root = room
            .path()
            .real_path()
            .unwrap_or_else(|_| room.path().to_path_buf());
        let (places, sender) = (Arc::new(WatchedPlaces::default()), sender.clone());
        let known = places.clone();
        let watcher = start(&root, KINDS, move |event: notify::Result<Event>| {
            for signal in known.read(event) {
                // The receiver is gone only after the router has ended.
                let _ = sender.send(signal);
            }
        })?;
        Ok(RoomWatches {
            room: room.clone(),
            watcher,
            places,
            root,
        })
    }

    pub(super) fn add(&mut self, place: &WatchedPlace) -> Result<()> {
        let path = self.root.join(place.below());
        let known = self
            .places
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(path.clone(), place.clone());
        // A directory that was removed and made again has a new inode, which the old watch does not cover. `notify`
        // compares the path with all watched paths.
        if known.is_some() {
            let _ = self.watcher.unwatch(&path);
        }
        match add(&mut self.watcher, &path) {
            Err(e) if e.is_missing() => self.explain_missing(place),
            added => added,
        }
    }

    /// A missing directory needs no watch. A directory that is only missing at its path is in a moved room.
    fn explain_missing(&self, place: &WatchedPlace) -> Result<()> {
        match self.room.stat(place.below())? {
            None => Ok(()),
            Some(_) => Err(Error::busy(
                "the room was moved, so file events do not reach new directories",
                "looking every two seconds instead; start the router again",
            )),
        }
    }
}

impl WatchedPlaces {
    fn read(&self, event: notify::Result<Event>) -> Vec<WatcherSignal> {
        let event = match event {
            Ok(event) if !event.need_rescan() => event,
            _ => return vec![WatcherSignal::Wake(RouterEvent::Hint(FileHint::Everything))],
        };
        let (mut appeared, mut left) = (Vec::new(), Vec::new());
        match event.kind {
            EventKind::Modify(ModifyKind::Name(RenameMode::Both)) => {
                left.extend(event.paths.first());
                appeared.extend(event.paths.last());
            }
            // The event has no direction.
            EventKind::Modify(ModifyKind::Name(RenameMode::Any)) | EventKind::Any => {
                left.extend(&event.paths);
                appeared.extend(&event.paths);
            }
            EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(RenameMode::From)) => {
                left.extend(&event.paths)
            }
            EventKind::Access(AccessKind::Close(AccessMode::Write))
            | EventKind::Create(_)
            | EventKind::Modify(_) => {
                appeared.extend(&event.paths);
            }
            _ => {}
        }
        let is_open = HAS_CLOSE && event.kind == EventKind::Create(CreateKind::File);
        let mut signals = Vec::new();
        for path in left {
            let hint = self.hint(path, WatchedPlace::left);
            signals.extend(hint.map(|hint| WatcherSignal::Wake(RouterEvent::Hint(hint))));
        }
        for path in appeared {
            match self.hint(path, WatchedPlace::appeared) {
                Some(hint @ FileHint::File(..)) if is_open => {
                    signals.push(WatcherSignal::NewFile(hint))
                }
                // Another event follows when the file is closed.
                Some(FileHint::Request(..)) if is_open => {}
                Some(hint) => signals.push(WatcherSignal::Wake(RouterEvent::Hint(hint))),
                None => {}
            }
        }
        signals
    }

    fn hint(
        &self,
        path: &Path,
        direction: fn(&WatchedPlace, &OsStr) -> Option<FileHint>,
    ) -> Option<FileHint> {
        let places = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        direction(places.get(path.parent()?)?, path.file_name()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::layout;
    use notify::event::{Flag, RemoveKind};

    fn places() -> WatchedPlaces {
        let agents = ["bob".into(), "old".into(), layout::link_id("po")];
        let all = agents.iter().flat_map(|agent| {
            [
                WatchedPlace::Outbox(agent.clone()),
                WatchedPlace::Inbox(agent.clone()),
            ]
        });
        let all = all.chain([
            WatchedPlace::Room,
            WatchedPlace::Outboxes,
            WatchedPlace::Inboxes,
        ]);
        WatchedPlaces(Mutex::new(
            all.map(|place| (Path::new("/room").join(place.below()), place))
                .collect(),
        ))
    }

    fn hints(kind: EventKind, path: &str) -> Vec<FileHint> {
        let signals = places().read(Ok(Event::new(kind).add_path(path.into())));
        let hints = signals.into_iter().map(|signal| match signal {
            WatcherSignal::Wake(RouterEvent::Hint(hint)) | WatcherSignal::NewFile(hint) => hint,
            WatcherSignal::Wake(wake) => panic!("{wake:?}"),
        });
        hints.collect()
    }

    #[test]
    fn a_closed_renamed_or_linked_file_is_a_hint_and_a_read_file_is_not() {
        let file = vec![FileHint::File("bob".into(), "x.json".into())];
        let closed = EventKind::Access(AccessKind::Close(AccessMode::Write));
        assert_eq!(hints(closed, "/room/outbox/bob/x.json"), file);
        assert_eq!(
            hints(
                EventKind::Modify(ModifyKind::Name(RenameMode::To)),
                "/room/outbox/bob/x.json"
            ),
            file
        );
        assert_eq!(
            hints(
                EventKind::Create(CreateKind::File),
                "/room/outbox/bob/x.json"
            ),
            file
        );
        assert_eq!(
            hints(
                EventKind::Access(AccessKind::Open(AccessMode::Any)),
                "/room/outbox/bob/x.json"
            ),
            []
        );
        assert!(
            !KINDS.intersects(EventKindMask::ACCESS_OPEN | EventKindMask::ACCESS_CLOSE_NOWRITE)
        );
        assert_eq!(hints(closed, "/room/outbox/bob/.x.json.tmp"), []);
        let item = vec![FileHint::File(
            layout::link_id("po"),
            "000000000001.json".into(),
        )];
        let renamed = EventKind::Modify(ModifyKind::Name(RenameMode::To));
        assert_eq!(hints(renamed, "/room/links/po/in/000000000001.json"), item);
    }

    #[test]
    fn a_file_that_leaves_an_inbox_and_a_file_that_appears_there_are_hints() {
        let left = vec![FileHint::Left("bob".into(), "x.json".into())];
        assert_eq!(
            hints(
                EventKind::Remove(RemoveKind::File),
                "/room/inbox/bob/x.json"
            ),
            left
        );
        assert_eq!(
            hints(
                EventKind::Modify(ModifyKind::Name(RenameMode::From)),
                "/room/inbox/bob/x.json"
            ),
            left
        );
        assert_eq!(
            hints(
                EventKind::Modify(ModifyKind::Name(RenameMode::To)),
                "/room/inbox/bob/x.json"
            ),
            [FileHint::Appeared("bob".into(), "x.json".into())]
        );
    }

    #[test]
    fn an_overflow_without_a_path_scans_all_directories() {
        let overflow = Event::new(EventKind::Other).set_flag(Flag::Rescan);
        assert_eq!(
            places().read(Ok(overflow)),
            [WatcherSignal::Wake(RouterEvent::Hint(FileHint::Everything))]
        );
    }

    #[test]
    fn the_registry_and_new_outboxes_have_different_hints() {
        let closed = EventKind::Access(AccessKind::Close(AccessMode::Write));
        assert_eq!(hints(closed, "/room/registry.json"), [FileHint::Registry]);
        assert_eq!(
            hints(EventKind::Create(CreateKind::Folder), "/room/outbox/new"),
            [FileHint::Outbox("new".into())]
        );
        let removed = EventKind::Remove(RemoveKind::Folder);
        assert_eq!(
            hints(removed, "/room/outbox/old"),
            [FileHint::OutboxGone("old".into())]
        );
        assert_eq!(hints(removed, "/room/outbox"), [FileHint::OutboxesGone]);
        assert_eq!(hints(removed, "/room/outbox/old/x.json"), []);
        assert_eq!(
            hints(EventKind::Create(CreateKind::File), "/room/roster.json"),
            []
        );
    }
}
