//! Shared inboxes: leased messages in `taken/`, and their leases.
//!
//! The rename into `taken/` decides which consumer gets a message. A kill leaves the message in one of the two
//! directories. The lease file only names the holder and the end of the lease. A process that changes either holds
//! `taken/.lock`, so that a message with a new lease is not given back.

use super::{is_same, move_file};
use crate::base::clock::Stamp;
use crate::base::error::Result;
use crate::base::limits;
use crate::disk::{Dir, LockFile, layout};
use rustix::fs::FileType;
use serde::{Deserialize, Serialize};
use std::ffi::{OsStr, OsString};
use std::time::Duration;

/// The default lease duration of a message that was taken from a shared inbox.
const LEASE: Duration = Duration::from_secs(10 * 60);

/// The lease of a taken message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageLease {
    /// The holder.
    pub holder: String,
    /// True if the holder chose its name. Otherwise the name describes the process.
    #[serde(default)]
    pub named: bool,
    /// The start of the lease, RFC 3339.
    pub since: String,
    /// The end of the lease, RFC 3339. The message then returns to the inbox.
    pub until: String,
    /// How often the message was leased.
    #[serde(default = "once")]
    pub times: u32,
}

fn once() -> u32 {
    1
}

/// The locked `taken/` directory of one agent. While it exists, no other process takes, returns or renews a message.
pub struct TakenMail {
    room: Dir,
    agent: String,
    inbox: Dir,
    taken: Dir,
    _lock: LockFile,
}

impl TakenMail {
    /// Waits a limited time for the lock, which other processes hold for milliseconds.
    pub fn open(room: &Dir, agent: &str) -> Result<TakenMail> {
        let taken = room.make_loose(layout::taken(agent))?;
        let lock = taken.lock_within(layout::TAKEN_LOCK, limits::EDIT_WAIT)?;
        let inbox = room.sub(layout::inbox(agent))?;
        Ok(TakenMail {
            room: room.clone(),
            agent: agent.to_owned(),
            inbox,
            taken,
            _lock: lock,
        })
    }

    /// The names of taken messages, oldest first.
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

    /// The last lease of a message. `None` without a readable lease file, for example if the message was moved by hand.
    pub fn lease(&self, name: &OsStr) -> Option<MessageLease> {
        let bytes = self
            .taken
            .read(layout::lease(name)?, limits::LEASE_BYTES)
            .ok()??;
        serde_json::from_slice(&bytes).ok()
    }

    /// The end of a taken message's lease. Without a lease file, the lease ends a fixed time after the move.
    pub fn until(&self, name: &OsStr) -> Result<Option<Stamp>> {
        if let Some(until) = self
            .lease(name)
            .and_then(|lease| Stamp::parse(&lease.until))
        {
            return Ok(Some(until));
        }
        let Some(meta) = self.taken.stat(name)? else {
            return Ok(None);
        };
        let moved = Stamp::from_micros(i64::try_from(meta.changed / 1000).unwrap_or_default());
        // A time ahead of the clock says nothing.
        Ok(Some(if moved.is_within(Duration::MAX, Stamp::now()) {
            moved.after(LEASE)
        } else {
            Stamp::now()
        }))
    }

    /// Leases a message of the inbox. `false` if it no longer exists, or if a taken message has the same name.
    pub fn take(&self, name: &OsStr, lease: &MessageLease) -> Result<bool> {
        // The lease is written first, so that a kill leaves no taken message without one.
        let before = self.lease(name);
        self.write(name, lease)?;
        match self.inbox.rename(name, &self.taken, name, "take") {
            Ok(()) => Ok(true),
            Err(e) if matches!(e.errno(), Some(libc::ENOENT | libc::EEXIST)) => {
                match before {
                    Some(before) => self.write(name, &before)?,
                    None => self.forget(name)?,
                }
                // The same message was leased before, so it is not leased again.
                if e.errno() == Some(libc::EEXIST) && is_same(&self.inbox, name, &self.taken, name)
                {
                    self.inbox.remove(name)?;
                }
                Ok(false)
            }
            Err(e) => Err(e),
        }
    }

    /// Returns a message to the inbox, never over another. The lease file stays, to record the last holder and the
    /// count.
    pub fn give_back(&self, name: &OsStr) -> Result<bool> {
        move_file(&self.taken, name, &self.inbox, "return to")
    }

    /// Moves a message to `expired/`, never over another.
    pub fn expire(&self, name: &OsStr) -> Result<()> {
        let expired = self.room.make_loose(layout::expired(&self.agent))?;
        move_file(&self.taken, name, &expired, "move to expired")?;
        self.forget(name)
    }

    /// Changes the lease of a taken message in one step. Not durable, for the same reason as in [`TakenMail::take`]: on
    /// btrfs a sync of `taken/` alone would leave the message under two names.
    pub fn renew(&self, name: &OsStr, lease: &MessageLease) -> Result<()> {
        layout::lease(name).map_or(Ok(()), |file| self.taken.show(file, &text(lease)))
    }

    /// Moves a message to `seen/`, from `taken/`, or from the inbox if it was returned.
    pub fn done(&self, name: &OsStr, is_taken: bool) -> Result<()> {
        let seen = self.room.make_loose(layout::seen(&self.agent))?;
        let from = if is_taken { &self.taken } else { &self.inbox };
        move_file(from, name, &seen, "mark as seen")?;
        self.forget(name)
    }

    /// Removes leases of messages that are neither in `taken/` nor in the inbox.
    pub fn tidy(&self) -> Result<()> {
        for entry in self.taken.list()? {
            let Some(message) = layout::leased(&entry?.name) else {
                continue;
            };
            if self.taken.stat(&message)?.is_none() && self.inbox.stat(&message)?.is_none() {
                self.forget(&message)?;
            }
        }
        Ok(())
    }

    // Not durable: after a power cut, a message without a lease file has the default lease.
    fn write(&self, name: &OsStr, lease: &MessageLease) -> Result<()> {
        let Some(file) = layout::lease(name) else {
            return Ok(());
        };
        self.taken.remove(&file)?;
        self.taken.create(&file, &text(lease)).map(drop)
    }

    fn forget(&self, name: &OsStr) -> Result<()> {
        layout::lease(name).map_or(Ok(()), |file| self.taken.remove(file))
    }
}

fn text(lease: &MessageLease) -> Vec<u8> {
    let mut text = serde_json::to_vec_pretty(lease).expect("a lease is plain data");
    text.push(b'\n');
    text
}
