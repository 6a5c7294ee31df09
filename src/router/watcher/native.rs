//! Linux: inotify, with only the events that matter, read by the thread that routes.

use super::{Hint, Place, Wake};
use crate::base::error::{Doing, Result};
use crate::disk::Dir;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::io::Errno;
use std::collections::{HashMap, VecDeque};
use std::ffi::OsStr;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};
use std::time::{Duration, Instant};

/// Events of opening and reading are left out: the router's own reads would wake it.
const CAME: WatchFlags = WatchFlags::CLOSE_WRITE
    .union(WatchFlags::MOVED_TO)
    // The only event of a hard link.
    .union(WatchFlags::CREATE)
    // A removed second name, or a changed permission.
    .union(WatchFlags::ATTRIB);
const WENT: WatchFlags = WatchFlags::MOVED_FROM.union(WatchFlags::DELETE);

/// Most files are closed this soon after they were made, which gives another event. A link gives no other event.
const WRITTEN_WITHIN: Duration = Duration::from_millis(20);

/// The watches of one router.
pub(super) struct Events {
    fd: OwnedFd,
    bell: Bell,
    path: PathBuf,
    /// New files, and when to look at those that are not closed.
    made: VecDeque<(Instant, Hint)>,
    places: HashMap<i32, Place>,
    watches: HashMap<Place, i32>,
    buffer: Box<[MaybeUninit<u8>; 64 << 10]>,
}

/// Ends the wait from another thread.
#[derive(Clone)]
pub(super) struct Bell(Arc<OwnedFd>);

impl Bell {
    pub(super) fn ring(&self) {
        // The counter overflows only after four billion calls without a read.
        let _ = rustix::io::write(&*self.0, &1u64.to_ne_bytes());
    }

    fn quiet(&self) {
        let _ = rustix::io::read(&*self.0, &mut [0u8; 8]);
    }
}

impl Events {
    pub(super) fn new(room: &Dir, _: &Sender<Wake>) -> Result<Events> {
        let fd = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).doing("watch", room.path())?;
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).doing("watch", room.path())?;
        // An absolute path stays valid when the router's working directory changes.
        let path = room.path().canonicalize().unwrap_or_else(|_| room.path().to_path_buf());
        Ok(Events {
            fd,
            bell: Bell(Arc::new(bell)),
            path,
            made: VecDeque::new(),
            places: HashMap::new(),
            watches: HashMap::new(),
            buffer: Box::new([MaybeUninit::uninit(); 64 << 10]),
        })
    }

    pub(super) fn bell(&self) -> Bell {
        self.bell.clone()
    }

    pub(super) fn add(&mut self, place: &Place) -> Result<()> {
        let wanted = match place {
            Place::Room | Place::Outboxes => CAME | WENT,
            // A delivery is a rename, which gives none of these events.
            Place::Inboxes => WatchFlags::CREATE | WatchFlags::MOVED_TO,
            Place::Inbox(_) => WENT | WatchFlags::CREATE,
            Place::Outbox(_) => CAME,
            Place::Taken(_) => WENT,
        };
        // A directory that was removed and made again has a new inode, which the old watch does not cover.
        if let Some(old) = self.watches.remove(place) {
            self.places.remove(&old);
            let _ = inotify::remove_watch(&self.fd, old);
        }
        let path = self.path.join(place.below());
        let flags = wanted | WatchFlags::ONLYDIR | WatchFlags::DONT_FOLLOW | WatchFlags::EXCL_UNLINK;
        let watch = inotify::add_watch(&self.fd, &path, flags).doing("watch", &path)?;
        self.places.insert(watch, place.clone());
        self.watches.insert(place.clone(), watch);
        Ok(())
    }

    /// Waits until there is something for the router to do. For a new file that is still open there is nothing.
    pub(super) fn wait(&mut self, patience: Duration, _: &Receiver<Wake>, woken: &mut Vec<Wake>) {
        let end = Instant::now() + patience;
        loop {
            let until = self.made.front().map_or(end, |(due, _)| end.min(*due));
            let has_rung = self.poll(until.saturating_duration_since(Instant::now()), woken);
            let now = Instant::now();
            while self.made.front().is_some_and(|(due, _)| *due <= now) {
                woken.extend(self.made.pop_front().map(|(_, hint)| Wake::Hint(hint)));
            }
            if has_rung || !woken.is_empty() || now >= end {
                return;
            }
        }
    }

    /// Takes the events of one wait; `true` if another thread rang.
    fn poll(&mut self, patience: Duration, woken: &mut Vec<Wake>) -> bool {
        let limit = Timespec { tv_sec: patience.as_secs() as i64, tv_nsec: i64::from(patience.subsec_nanos()) };
        let mut both = [PollFd::new(&self.fd, PollFlags::IN), PollFd::new(&self.bell.0, PollFlags::IN)];
        // A signal ends the wait early, which is harmless: the router waits again.
        if poll(&mut both, Some(&limit)).unwrap_or(0) == 0 {
            return false;
        }
        let (files, has_rung) = (!both[0].revents().is_empty(), !both[1].revents().is_empty());
        if has_rung {
            self.bell.quiet();
        }
        if files {
            self.read(woken);
        }
        has_rung
    }

    /// Reads once. What does not fit into the buffer, or comes meanwhile, ends the next wait.
    fn read(&mut self, woken: &mut Vec<Wake>) {
        let Events { fd, buffer, places, made, .. } = self;
        let mut events = inotify::Reader::new(fd.as_fd(), &mut buffer[..]);
        loop {
            match events.next() {
                Ok(event) => take(&event, places, made, woken),
                Err(Errno::INTR | Errno::AGAIN) => return,
                // After any error the router looks at the directories themselves.
                Err(_) => return woken.push(Wake::Hint(Hint::Everything)),
            }
            if events.is_buffer_empty() {
                return;
            }
        }
    }
}

/// What an event tells: now, or unless the new file is closed first.
fn take(
    event: &inotify::Event<'_>,
    places: &HashMap<i32, Place>,
    made: &mut VecDeque<(Instant, Hint)>,
    woken: &mut Vec<Wake>,
) {
    let flags = event.events();
    if flags.contains(ReadFlags::QUEUE_OVERFLOW) {
        return woken.push(Wake::Hint(Hint::Everything));
    }
    let Some(place) = places.get(&event.wd()) else { return };
    let Some(name) = event.file_name().map(|name| OsStr::from_bytes(name.to_bytes())) else { return };
    let went = flags.intersects(ReadFlags::MOVED_FROM | ReadFlags::DELETE);
    let Some(hint) = (if went { place.went(name) } else { place.came(name) }) else { return };
    if flags.contains(ReadFlags::CREATE) {
        match hint {
            Hint::File(..) => return made.push_back((Instant::now() + WRITTEN_WITHIN, hint)),
            // Another event follows when the file is closed.
            Hint::Request(..) => return,
            _ => {}
        }
    }
    if matches!(hint, Hint::Request(..)) {
        // The pass includes the files that were dropped before the request.
        woken.extend(made.drain(..).map(|(_, hint)| Wake::Hint(hint)));
    }
    if let Some(at) = made.iter().rposition(|(_, made)| *made == hint) {
        made.remove(at);
    }
    woken.push(Wake::Hint(hint));
}
