//! The newest unread mail of an agent.
//!
//! Listing 100,000 names takes longer than a hook may. So a very large inbox is listed rarely, and the result is stored.
//! In between, the committed log shows later deliveries, and a lookup of each name shows whether it is unread.

use crate::base::clock::Stamp;
use crate::base::error::Result;
use crate::disk::{Dir, layout};
use crate::log::{self, LogPosition};
use crate::message::record::{MessageName, Record};
use crate::message::status::CopyStatus;
use crate::room::{Room, inbox};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt;
use std::time::Duration;

/// The number of the newest unread messages that a hook reads.
const BRIEFING_LOOK: usize = 500;
/// If an inbox has more unread messages than this, hooks find new mail in the log, and list the inbox rarely.
const LISTED_EACH_TIME: usize = 10_000;
/// The time that a hook uses the listing of an inbox with more messages.
const LISTED_FOR: Duration = Duration::from_secs(10 * 60);
/// The size of the log that a hook reads to find new mail.
const LISTED_LOG: u64 = 4 << 20;
/// The largest stored listing: [`BRIEFING_LOOK`] file names.
const LISTED_BYTES: u64 = 256 << 10;

/// The newest unread mail.
pub(super) struct NewestMail {
    /// File names, oldest first.
    pub(super) names: Vec<OsString>,
    /// Number of all unread messages.
    pub(super) unread: UnreadCount,
}

/// A number of unread messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct UnreadCount {
    pub(super) number: usize,
    /// Whether the inbox was listed for it.
    pub(super) is_exact: bool,
}

impl UnreadCount {
    /// No message.
    pub(super) const NONE: UnreadCount = UnreadCount {
        number: 0,
        is_exact: true,
    };

    /// The number with this number of further messages.
    pub(super) fn with(self, number: usize) -> UnreadCount {
        UnreadCount {
            number: self.number + number,
            ..self
        }
    }

    /// The number without this number of messages.
    pub(super) fn without(self, number: usize) -> UnreadCount {
        UnreadCount {
            number: self.number.saturating_sub(number),
            ..self
        }
    }
}

impl fmt::Display for UnreadCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}{}",
            if self.is_exact { "" } else { "about " },
            self.number
        )
    }
}

/// The result of a listing.
#[derive(Serialize, Deserialize)]
struct StoredListing {
    /// Device and inode of the inbox.
    inbox: (u64, u64),
    /// The time of the listing, in microseconds.
    at: i64,
    /// A position in the log before each message that may have been delivered after the listing.
    log: LogPosition,
    unread: usize,
    names: BTreeSet<String>,
}

impl NewestMail {
    /// The newest unread mail, from the stored listing and the log if both suffice, otherwise from a new listing.
    pub(super) fn of(room: &Room, agent: &str) -> Result<NewestMail> {
        let stored = StoredListing::stored(room, agent);
        if let Some(newest) = stored.and_then(|listed| listed.updated(room, agent).ok().flatten()) {
            return Ok(newest);
        }
        // Before the listing, so that a copy is in one of the two.
        let log = StoredListing::log(room);
        let (names, number) = inbox::newest(&room.dir, agent, BRIEFING_LOOK)?;
        if let Ok(log) = log
            && number > LISTED_EACH_TIME
        {
            StoredListing::store(room, agent, log, &names, number);
        }
        Ok(NewestMail {
            names,
            unread: UnreadCount {
                number,
                is_exact: true,
            },
        })
    }
}

impl StoredListing {
    fn stored(room: &Room, agent: &str) -> Option<StoredListing> {
        let bytes = room
            .dir
            .sub(layout::SESSIONS)
            .and_then(|dir| dir.read(layout::listed(agent), LISTED_BYTES));
        let listed: StoredListing = serde_json::from_slice(&bytes.ok()??).ok()?;
        let age = Stamp::now().micros() - listed.at;
        (0..LISTED_FOR.as_micros() as i64)
            .contains(&age)
            .then_some(listed)
    }

    /// Failures are ignored, because a stored listing only saves time.
    fn store(room: &Room, agent: &str, log: LogPosition, names: &[OsString], unread: usize) {
        let Ok(Some(meta)) = room.dir.stat(layout::inbox(agent)) else {
            return;
        };
        let names = names
            .iter()
            .filter_map(|name| name.to_str().map(str::to_owned))
            .collect();
        let listed = StoredListing {
            inbox: (meta.device, meta.inode),
            at: Stamp::now().micros(),
            log,
            unread,
            names,
        };
        let bytes = serde_json::to_vec(&listed).unwrap_or_default();
        let _ = room
            .dir
            .sub(layout::SESSIONS)
            .and_then(|dir| dir.show(layout::listed(agent), &bytes));
    }

    /// A position before the last batch. The copies of earlier batches are delivered, unless an obstacle prevents it.
    fn log(room: &Room) -> Result<LogPosition> {
        let end = log::committed(&room.dir)?;
        let before = log::before_end(&room.dir, LISTED_LOG / 4)?;
        // An archived segment would have to be unpacked. A segment begins with a batch.
        Ok(before.max(LogPosition::start_of(end.segment)))
    }

    /// The newest unread mail now. `None` if it takes a new listing.
    fn updated(mut self, room: &Room, agent: &str) -> Result<Option<NewestMail>> {
        let inbox = room.dir.sub(layout::inbox(agent))?;
        let meta = inbox.meta()?;
        let lines = log::lines(&room.dir, self.log)?;
        let (from, end) = (self.log, lines.end());
        let is_near =
            end.segment == from.segment && end.offset.saturating_sub(from.offset) <= LISTED_LOG;
        if (meta.device, meta.inode) != self.inbox || !is_near {
            return Ok(None);
        }
        let before = self.names.len();
        self.retain_unread(&inbox)?;
        // The stored names were the newest. If most of them are gone, others that are not stored may be the newest now.
        if self.names.len() * 2 < before {
            return Ok(None);
        }
        let mentions = memchr::memmem::Finder::new(agent.as_bytes());
        for line in lines {
            let line = line?;
            if mentions.find(&line.bytes).is_some()
                && let Ok(record) = serde_json::from_slice(&line.bytes)
            {
                self.add(&record, agent);
            }
        }
        self.retain_unread(&inbox)?;
        if self.unread <= LISTED_EACH_TIME {
            return Ok(None);
        }
        let skipped = self.names.len().saturating_sub(BRIEFING_LOOK);
        let names = self
            .names
            .into_iter()
            .skip(skipped)
            .map(OsString::from)
            .collect();
        Ok(Some(NewestMail {
            names,
            unread: UnreadCount {
                number: self.unread,
                is_exact: false,
            },
        }))
    }

    /// Applies a record that may be newer than the listing.
    fn add(&mut self, record: &Record, agent: &str) {
        let is_later = record.stamp().micros() > self.at;
        if is_later {
            let of_agent = record
                .receipts
                .iter()
                .filter(|it| &*it.agent == agent && it.status == CopyStatus::Seen);
            let left: usize = of_agent.map(|receipt| receipt.seqs.len()).sum();
            self.unread = self.unread.saturating_sub(left);
        }
        let Some(MessageName { from, id, .. }) = record.name() else {
            return;
        };
        if record.recipients().any(|(to, _)| &**to == agent) {
            self.names
                .insert(layout::delivered(record.stamp(), from, id));
            self.unread += usize::from(is_later);
        }
    }

    fn retain_unread(&mut self, inbox: &Dir) -> Result<()> {
        let mut failed = None;
        self.names.retain(|name| {
            inbox
                .stat(name)
                .map_err(|e| failed = Some(e))
                .is_ok_and(|meta| meta.is_some())
        });
        failed.map_or(Ok(()), Err)
    }
}
