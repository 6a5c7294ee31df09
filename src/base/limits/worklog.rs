//! The limits of the files that show events to people.

use std::time::Duration;

/// How often the router adds entries to the worklog, at most.
pub const WORKLOG: Duration = Duration::from_secs(1);
/// A replacement of the whole worklog that took some time is followed by a pause of this many times as long. So it takes
/// at most a fortieth of the router's time, however long the worklog is.
pub const WORKLOG_PAUSE: u32 = 40;
/// The longest text of an entry, in characters.
pub const WORKLOG_TEXT: usize = 300;
/// The most decisions in the index of the worklog.
pub const WORKLOG_DECISIONS: usize = 20;
/// The most messages in `MAILBOX.md` and in each file of `queue/`.
pub const LISTED: usize = 200;
