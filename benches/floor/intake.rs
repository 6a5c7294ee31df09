//! Where the floor learns of messages: a scan of the outboxes, then inotify.

use super::calls;
use anyhow::{Context, Result};
use mailbag::base::limits;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{RawDir, inotify};
use rustix::io::Errno;
use std::collections::{HashMap, VecDeque};
use std::mem::MaybeUninit;
use std::rc::Rc;

/// A possible message file: the outbox, the name, and the outbox's handle if the scan holds it
/// open.
pub(super) struct Candidate {
    pub(super) agent: usize,
    pub(super) name: String,
    pub(super) outbox: Option<Rc<OwnedFd>>,
}

/// The files that wait for pickup.
pub(super) struct Intake {
    noticed: VecDeque<Candidate>,
    /// Files that a program seems to write, to be looked at again.
    unfinished: Vec<Candidate>,
    scan: Scan,
}

impl Intake {
    /// Starts with a scan of every outbox.
    pub(super) fn new(agents: usize) -> Intake {
        let waiting = (0..agents)
            .map(|agent| Outbox {
                agent,
                opened: None,
                names: Vec::new(),
                ended: false,
            })
            .collect();
        Intake {
            noticed: VecDeque::new(),
            unfinished: Vec::new(),
            scan: Scan {
                waiting,
                turn: 0,
                buffer: Box::new([MaybeUninit::uninit(); 32 << 10]),
            },
        }
    }

    /// The next candidate that is here now.
    pub(super) fn next(
        &mut self,
        outboxes: BorrowedFd<'_>,
        names: &[String],
    ) -> Result<Option<Candidate>> {
        match self.noticed.pop_front() {
            Some(candidate) => Ok(Some(candidate)),
            None => self.scan.next(outboxes, names),
        }
    }

    /// Takes note of a file that an event named.
    pub(super) fn note(&mut self, agent: usize, name: String) {
        self.noticed.push_back(Candidate {
            agent,
            name,
            outbox: None,
        });
    }

    /// Looks at a file again after the next wait: the event that it was closed comes before its writer counts as gone.
    pub(super) fn again(&mut self, agent: usize, name: String) {
        self.unfinished.push(Candidate {
            agent,
            name,
            outbox: None,
        });
    }
}

/// A scan of all outboxes that goes on across batches, outbox by outbox in turns.
struct Scan {
    waiting: VecDeque<Outbox>,
    turn: usize,
    buffer: Box<[MaybeUninit<u8>; 32 << 10]>,
}

/// One outbox of the scan.
struct Outbox {
    agent: usize,
    opened: Option<Rc<OwnedFd>>,
    names: Vec<String>,
    ended: bool,
}

impl Scan {
    /// `openat` once per outbox, `getdents64` until the end (32 KiB, about 800 names, for each
    /// call).
    fn next(&mut self, outboxes: BorrowedFd<'_>, names: &[String]) -> Result<Option<Candidate>> {
        while let Some(mut outbox) = self.waiting.pop_front() {
            let directory = match &outbox.opened {
                Some(directory) => Rc::clone(directory),
                None => {
                    let name = &names[outbox.agent];
                    let opened = calls::open_directory(outboxes, name)
                        .with_context(|| format!("outbox/{name}"))?;
                    Rc::clone(outbox.opened.insert(Rc::new(opened)))
                }
            };
            if outbox.names.is_empty() && !outbox.ended {
                outbox.ended = !list(&directory, &mut self.buffer[..], &mut outbox.names)?;
            }
            let Some(name) = outbox.names.pop() else {
                if !outbox.ended {
                    self.waiting.push_front(outbox);
                }
                continue;
            };
            let candidate = Candidate {
                agent: outbox.agent,
                name,
                outbox: Some(directory),
            };
            self.turn += 1;
            if self.turn.is_multiple_of(limits::TURN) {
                self.waiting.push_back(outbox);
            } else {
                self.waiting.push_front(outbox);
            }
            return Ok(Some(candidate));
        }
        Ok(None)
    }
}

/// `getdents64`, once: adds the names of one buffer full; false at the end of the directory.
fn list(
    directory: &OwnedFd,
    buffer: &mut [MaybeUninit<u8>],
    names: &mut Vec<String>,
) -> Result<bool> {
    let mut entries = RawDir::new(directory, buffer);
    let mut any = false;
    while let Some(entry) = entries.next() {
        any = true;
        let entry = entry?;
        if let Some(name) = wanted(entry.file_name()) {
            names.push(name);
        }
        if entries.is_buffer_empty() {
            break;
        }
    }
    Ok(any)
}

/// The file's name if it is one that an agent drops messages under.
fn wanted(name: &std::ffi::CStr) -> Option<String> {
    let name = name.to_str().ok()?;
    (name.ends_with(".json") && !name.starts_with('.')).then(|| name.to_owned())
}

/// The watches: one per outbox.
pub(super) struct Notice {
    inotify: OwnedFd,
    agents: HashMap<i32, usize>,
}

impl Notice {
    /// `inotify_init1`, and `inotify_add_watch` per outbox. Only the two events that a plain drop ends with are asked
    /// for; the router also has to hear of creation, which is all that a hard link gives, so this favours the floor.
    pub(super) fn start(outboxes: &std::path::Path, names: &[String]) -> Result<Notice> {
        let inotify = inotify::init(inotify::CreateFlags::CLOEXEC)?;
        let mut agents = HashMap::new();
        for (agent, name) in names.iter().enumerate() {
            let flags = inotify::WatchFlags::CLOSE_WRITE
                | inotify::WatchFlags::MOVED_TO
                | inotify::WatchFlags::ONLYDIR;
            let watch = inotify::add_watch(&inotify, outboxes.join(name), flags)
                .context("inotify_add_watch")?;
            agents.insert(watch, agent);
        }
        Ok(Notice { inotify, agents })
    }

    /// `read`, once, blocking: notes every event of one read. If files wait for another check, it
    /// waits no longer than the router does for them.
    pub(super) fn wait(&self, buffer: &mut [MaybeUninit<u8>], intake: &mut Intake) -> Result<()> {
        if !intake.unfinished.is_empty() {
            let pause = Timespec {
                tv_sec: 0,
                tv_nsec: i64::from(limits::OPEN_FIRST.subsec_nanos()),
            };
            // A signal ends the pause early, which is harmless: the files are looked at again.
            let events = poll(
                &mut [PollFd::new(&self.inotify, PollFlags::IN)],
                Some(&pause),
            )
            .unwrap_or(0);
            intake.noticed.extend(intake.unfinished.drain(..));
            if events == 0 {
                return Ok(());
            }
        }
        let mut events = inotify::Reader::new(self.inotify.as_fd(), buffer);
        loop {
            match events.next() {
                Ok(event) => {
                    if let (Some(&agent), Some(name)) = (
                        self.agents.get(&event.wd()),
                        event.file_name().and_then(wanted),
                    ) {
                        intake.note(agent, name);
                    }
                }
                Err(Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            }
            if events.is_buffer_empty() {
                return Ok(());
            }
        }
    }
}
