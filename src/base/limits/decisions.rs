//! The limits of approvals and open items.

use std::time::Duration;

/// The time that mail waits for another room's confirmation before it is reported as late.
pub const LINK_LATE: Duration = Duration::from_secs(30);
/// `pending.json` is written at most once in this time.
pub const PENDING: Duration = Duration::from_millis(200);
/// Writing `pending.json` takes at most this part of the router's time: 1 of 40.
pub const PENDING_SHARE: u32 = 40;
/// The longest time from an approval to its deadline.
pub const DEADLINE_MOST: Duration = Duration::from_secs(366 * 86_400);
