//! The limits of approvals and of what waits for somebody.

use std::time::Duration;

/// The most options of an approval.
pub const OPTIONS: usize = 20;
/// The longest option, in characters.
pub const OPTION: usize = 80;
/// The most open approvals of an asker.
pub const APPROVALS_OF_ASKER: usize = 100;
/// How many decided approvals the state remembers, to say who decided.
pub const DECIDED: usize = 1000;
/// The most open questions and rejections that one agent causes and that are listed; the oldest go.
pub const ITEMS_OF_AGENT: usize = 100;
/// `pending.json` is written at most once in this time.
pub const PENDING: Duration = Duration::from_millis(200);
/// The most threads with proposals that the state keeps; the oldest go.
pub const DISPUTES: usize = 1000;
/// The most messages and parties of a disagreement.
pub const POSITIONS: usize = 100;
/// The rounds of a disagreement before it is passed on.
pub const ATTEMPTS: u32 = 2;
/// The most rounds that the setting allows.
pub const ATTEMPTS_MOST: u32 = 100;
/// How long the supervisor has before the human is asked.
pub const ESCALATION: Duration = Duration::from_secs(30 * 60);
/// The longest time from an approval to its deadline.
pub const DEADLINE_MOST: Duration = Duration::from_secs(366 * 86_400);
/// The length of the key that signs decisions.
pub const KEY: usize = 32;
/// How long the outcome of a deadline waits for mail of the deciders that cannot be read.
pub const DEADLINE_GRACE: Duration = Duration::from_secs(10);
