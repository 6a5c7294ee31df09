//! The waiting times and scan intervals of the router's intake.

use std::time::Duration;

/// An unfinished file is rejected if it does not change for this time, by the monotonic clock.
pub const UNCHANGED_FOR: Duration = Duration::from_secs(2);
/// The first delay before a file that a program has open for writing is looked at again. The system reports that a file was
/// closed a moment before it stops counting the program as a writer.
pub const OPEN_FIRST: Duration = Duration::from_millis(1);
/// The longest delay before a file that a program has open is looked at again.
pub const OPEN_MOST: Duration = Duration::from_secs(2);
/// The interval of full scans of all outboxes if file events are reliable.
pub const SWEEP_TRUSTED: Duration = Duration::from_secs(30);
/// The interval of full scans of all outboxes if file events are not reliable.
pub const SWEEP_UNTRUSTED: Duration = Duration::from_secs(2);
/// The longest time until the router looks again at a deadline, because the clock can be set and a session can end without
/// an event.
pub const DUE_CHECK: Duration = Duration::from_secs(30);
/// The first delay before a temporary failure is retried.
pub const RETRY_FIRST: Duration = Duration::from_millis(250);
/// The time until an agent is notified of a file with an invalid name in its outbox. It may be a draft.
pub const STRAY: Duration = Duration::from_secs(60);
/// The number of files with invalid names per agent that are examined and reported.
pub const STRAYS: usize = 20;
