//! The limits of approvals and open items.

use std::ops::RangeInclusive;
use std::time::Duration;

/// The most options of an approval.
pub const OPTIONS: usize = 20;
/// The longest option, in characters.
pub const OPTION: usize = 80;
/// The most open approvals of an asker.
pub const APPROVALS_OF_ASKER: usize = 100;
/// The number of decided approvals that the state keeps.
pub const DECIDED: usize = 1000;
/// The most open questions and rejections in the list for each causing agent; the oldest are dropped.
pub const ITEMS_OF_AGENT: usize = 100;
/// A message is listed for at most this many recipients.
pub const ITEM_RECIPIENTS: usize = 1000;
/// The time that mail waits for another room's confirmation before it is reported as late.
pub const LINK_LATE: Duration = Duration::from_secs(30);
/// The most items of an agent in `pending.json`.
pub const PENDING_OF_AGENT: usize = 50;
/// The most items in `pending.json`.
pub const PENDING_ITEMS: usize = 2000;
/// `pending.json` is written at most once in this time.
pub const PENDING: Duration = Duration::from_millis(200);
/// Writing it takes at most this part of the router's time: 1 of 40.
pub const PENDING_SHARE: u32 = 40;
/// The most threads with proposals that the state keeps; the oldest are dropped.
pub const DISPUTES: usize = 1000;
/// The most messages and parties of a disagreement.
pub const POSITIONS: usize = 100;
/// The longest time from an approval to its deadline.
pub const DEADLINE_MOST: Duration = Duration::from_secs(366 * 86_400);
/// The length of the key that signs decisions.
pub const KEY: usize = 32;
/// The allowed time for the human's decision on a permission request.
pub const PERMISSION_WITHIN: RangeInclusive<Duration> =
    Duration::from_secs(1)..=Duration::from_secs(10 * 60);
/// The timeout of the hook for permission requests in a client's settings, in seconds.
pub const PERMISSION_HOOK_SECONDS: u64 = 11 * 60;
/// The time that this hook waits for the record of the deadline.
pub const PERMISSION_GRACE: Duration = Duration::from_secs(5);
/// How often that hook checks whether the client still needs an answer.
pub const PERMISSION_CHECK: Duration = Duration::from_millis(500);
/// The longest text about a tool's arguments, in bytes. The human could not read more before the deadline.
pub const PERMISSION_TEXT: usize = 16 << 10;
/// The longest subject of a permission request, in characters.
pub const PERMISSION_SUBJECT: usize = 200;
/// The longest note of the human that the model reads, in characters.
pub const PERMISSION_NOTE: usize = 400;
/// The time that the outcome of a deadline waits for unreadable mail of the deciders.
pub const DEADLINE_GRACE: Duration = Duration::from_secs(10);
/// The default time that `mailbag ask` waits for an answer.
pub const ANSWER: Duration = Duration::from_secs(30);
