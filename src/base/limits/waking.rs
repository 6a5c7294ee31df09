//! The limits of waking idle sessions.

use super::SESSION_LEASE;
use std::time::Duration;

/// How often a background waiter checks whether its session is still alive.
pub const WAITER_CHECK: Duration = Duration::from_secs(2);
/// How often a background waiter renews the lease of its session.
pub const WAITER_RENEWS: Duration = Duration::from_secs(5 * 60);
const _: () = assert!(WAITER_RENEWS.as_secs() < SESSION_LEASE.as_secs());
/// The time limit of the command that gives a client a message.
pub const WAKE_WITHIN: Duration = Duration::from_secs(30);
/// New mail is collected for this time before its agent is woken.
pub const WAKE_COALESCE: Duration = Duration::from_secs(1);
/// The collected mail is complete if no further mail arrives for this time.
pub const WAKE_QUIET: Duration = Duration::from_millis(200);
const _: () = assert!(WAKE_QUIET.as_millis() < WAKE_COALESCE.as_millis());
/// An agent is busy for this time after its last hook. Its next hook announces the mail, so it is not woken.
pub const BUSY: Duration = Duration::from_secs(2 * 60);
/// An agent is busy for this time if a background hook waits in its session, which accepts a wake also during a turn.
pub const WAITER_BUSY: Duration = Duration::from_secs(10);
/// The start hook can announce mail for this time after the start of a session.
pub const STARTING: Duration = Duration::from_secs(2);
/// The time limit for a sign of a session after its client took a message. After it, the client holds the message.
pub const WAKE_REACTION: Duration = Duration::from_secs(10);
/// The time limit for an agent to read its mail after the second wake, before the human is notified.
pub const WAKE_AGAIN: Duration = Duration::from_secs(10 * 60);
