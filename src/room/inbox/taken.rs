//! Mail that was handed to one of several consumers: what stands in `taken/`, and whose it is until when.
//!
//! The rename into `taken/` decides who gets a message; a kill at any moment leaves it in one of the two directories.
//! The lease beside it only says who has it and how long. Whoever changes either holds `taken/.lock`, so that no message
//! is given back to which somebody has just got a new lease.

use super::{is_same, set_down};
use crate::base::clock::Stamp;
use crate::base::error::Result;
use crate::base::limits;
use crate::disk::{Dir, layout};
use rustix::fs::FileType;
use serde::{Deserialize, Serialize};
use std::ffi::{OsStr, OsString};
use std::fs::File;

/// Whose a taken message is, and until when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// Who has it.
    pub holder: String,
    /// Did it give itself that name? Else it is the process that took it.
    #[serde(default)]
    pub named: bool,
    /// Since when, RFC 3339.
    pub since: String,
    /// When it goes back into the inbox, RFC 3339.
    pub until: String,
    /// How often it was handed out so far.
    #[serde(default = "once")]
    pub times: u32,
}

fn once() -> u32 {
    1
}

/// The taken mail of one agent, held: nobody else takes, gives back or renews while this lives.
pub struct Shelf {
    room: Dir,
    agent: String,
    inbox: Dir,
    taken: Dir,
    _lock: File,
}

impl Shelf {
    /// Waits for whoever holds it, which takes milliseconds, and not without end.
    pub fn open(room: &Dir, agent: &str) -> Result<Shelf> {
        let taken = room.make_loose(layout::taken(agent))?;
        let lock = taken.lock_within(layout::TAKEN_LOCK, limits::EDIT_WAIT)?;
        let inbox = room.sub(layout::inbox(agent))?;
        Ok(Shelf { room: room.clone(), agent: agent.to_owned(), inbox, taken, _lock: lock })
    }

    /// The names of what is taken, oldest first.
    pub fn names(&self) -> Result<Vec<OsString>> {
        let mut names = Vec::new();
        for entry in self.taken.list()? {
            let entry = entry?;
            if entry.kind != FileType::Directory && layout::is_message_file(&entry.name) {
                names.push(entry.name);
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    /// Who has a message, or had it last. `None` if nothing that can be read says so: it was moved by hand.
    pub fn lease(&self, name: &OsStr) -> Option<Lease> {
        let bytes = self.taken.read(layout::lease(name)?, limits::LEASE_BYTES).ok()??;
        serde_json::from_slice(&bytes).ok()
    }

    /// When a taken message goes back. One without a lease does so some time after it was moved.
    pub fn until(&self, name: &OsStr) -> Result<Option<Stamp>> {
        if let Some(until) = self.lease(name).and_then(|lease| Stamp::parse(&lease.until)) {
            return Ok(Some(until));
        }
        let Some(meta) = self.taken.stat(name)? else { return Ok(None) };
        let moved = i64::try_from(meta.changed / 1000).unwrap_or_default();
        Ok(Some(Stamp::from_micros(moved + limits::LEASE.as_micros() as i64)))
    }

    /// Hands out a message of the inbox; `false` if it is there no more, or taken under the same name.
    pub fn take(&self, name: &OsStr, lease: &Lease) -> Result<bool> {
        // First, so that no taken message is without one, whenever the taker is killed.
        let before = self.lease(name);
        self.write(name, lease)?;
        match self.inbox.rename(name, &self.taken, name, "take") {
            Ok(()) => Ok(true),
            Err(e) if matches!(e.errno(), Some(libc::ENOENT | libc::EEXIST)) => {
                match before {
                    Some(before) => self.write(name, &before)?,
                    None => self.forget(name)?,
                }
                // What was handed out already is not handed out again.
                if e.errno() == Some(libc::EEXIST) && is_same(&self.inbox, name, &self.taken, name) {
                    self.inbox.remove(name)?;
                }
                Ok(false)
            }
            Err(e) => Err(e),
        }
    }

    /// Puts a message back into the inbox, never over another. Its lease stays, to say who had it and how often.
    pub fn give_back(&self, name: &OsStr) -> Result<bool> {
        set_down(&self.taken, name, &self.inbox, "give back to")
    }

    /// Changes the lease of a taken message in one step. Not durable, as in [`Shelf::take`]: to sync `taken/` alone would
    /// give what was just taken two names on btrfs.
    pub fn renew(&self, name: &OsStr, lease: &Lease) -> Result<()> {
        layout::lease(name).map_or(Ok(()), |file| self.taken.show(file, &text(lease)))
    }

    /// Moves a message to `seen/`, from `taken/`, or from the inbox if it was given back.
    pub fn done(&self, name: &OsStr, is_taken: bool) -> Result<()> {
        let seen = self.room.make_loose(layout::seen(&self.agent))?;
        let from = if is_taken { &self.taken } else { &self.inbox };
        set_down(from, name, &seen, "mark as seen")?;
        self.forget(name)
    }

    /// Removes the leases of messages that are neither taken nor in the inbox any more.
    pub fn tidy(&self) -> Result<()> {
        for entry in self.taken.list()? {
            let Some(message) = layout::leased(&entry?.name) else { continue };
            if self.taken.stat(&message)?.is_none() && self.inbox.stat(&message)?.is_none() {
                self.forget(&message)?;
            }
        }
        Ok(())
    }

    // Not durable: after a power cut the lease that a message without one has will do.
    fn write(&self, name: &OsStr, lease: &Lease) -> Result<()> {
        let Some(file) = layout::lease(name) else { return Ok(()) };
        self.taken.remove(&file)?;
        self.taken.create(&file, &text(lease)).map(drop)
    }

    fn forget(&self, name: &OsStr) -> Result<()> {
        layout::lease(name).map_or(Ok(()), |file| self.taken.remove(file))
    }
}

fn text(lease: &Lease) -> Vec<u8> {
    let mut text = serde_json::to_vec_pretty(lease).expect("a lease is plain data");
    text.push(b'\n');
    text
}
