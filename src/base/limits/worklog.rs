//! The limits of the files that show events to people.

use std::time::Duration;

/// How often the router adds entries to the worklog, at most.
pub const WORKLOG: Duration = Duration::from_secs(1);
/// A replacement of the whole worklog that took some time is followed by a pause of this many times as long. So it takes
/// at most a fortieth of the router's time, however long the worklog is.
pub const WORKLOG_PAUSE: u32 = 40;
/// A worklog of at most this size is current whenever a router ends. The status block of a larger one may be older.
pub const WORKLOG_SMALL: u64 = 1 << 20;
/// The largest number of log bytes without an entry that the router reads again after its start.
pub const WORKLOG_BEHIND: u64 = 256 << 10;
/// The longest text of an entry, in characters.
pub const WORKLOG_TEXT: usize = 300;
/// The most agents in the status block.
pub const WORKLOG_AGENTS: usize = 100;
/// The most decisions in the index.
pub const WORKLOG_DECISIONS: usize = 20;
/// The longest status block with its index. A longer one was not written by the router.
pub const WORKLOG_HEAD: usize = 1 << 20;
/// The longest line of an entry, in bytes.
pub const WORKLOG_LINE: u64 = 16 << 10;
/// The most items in a part of the digest.
pub const DIGEST: usize = 100;
/// The most messages in `MAILBOX.md` and in each file of `queue/`.
pub const LISTED: usize = 200;
/// The number of older messages that the router looks up for these files in one step.
pub const LOOKUPS: usize = 1000;
/// The digits of a digest that identify a message in a file of the mail.
pub const WRITTEN_ID: usize = 24;
