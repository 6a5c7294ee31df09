//! The limits of waking idle sessions.

use super::SESSION_LEASE;
use std::time::Duration;

/// How often a background waiter checks whether its session is still alive.
pub const WAITER_CHECK: Duration = Duration::from_secs(2);
/// How often a background waiter renews the lease of its session.
pub const WAITER_RENEWS: Duration = Duration::from_secs(5 * 60);
const _: () = assert!(WAITER_RENEWS.as_secs() < SESSION_LEASE.as_secs());
/// The default shortest interval between two wakes of an agent.
pub const WAKE_EVERY: Duration = Duration::from_secs(60);
/// The number of replies in a conversation that wake an agent without delay, within this many times its `every`.
pub const WAKE_ANSWERS: u32 = 10;
/// A reply within this time after a message continues the exchange of two agents.
pub const EXCHANGE: Duration = Duration::from_secs(10 * 60);
/// The size of the log that is searched for such mail.
pub const EXCHANGE_BYTES: u64 = 1 << 20;
/// The default time limit of a program that wakes an agent.
pub const WAKE_WITHIN: Duration = Duration::from_secs(30);
/// The highest time limit that the registry may set for it.
pub const WAKE_WITHIN_MOST: Duration = Duration::from_secs(10 * 60);
const _: () = assert!(WAKE_WITHIN.as_secs() <= WAKE_WITHIN_MOST.as_secs());
/// New mail is collected for this time before its agent is woken.
pub const WAKE_COALESCE: Duration = Duration::from_secs(1);
/// The collected mail is complete if no further mail arrives for this time.
pub const WAKE_QUIET: Duration = Duration::from_millis(200);
const _: () = assert!(WAKE_QUIET.as_millis() < WAKE_COALESCE.as_millis());
/// An agent is busy for this time after its last hook. Its next hook announces the mail, so it is not woken.
pub const BUSY: Duration = Duration::from_secs(2 * 60);
/// The same for a session with a background hook. Such a session also accepts a wake during a turn.
pub const WAITER_BUSY: Duration = Duration::from_secs(10);
/// The start hook can announce mail for this time after the start of a session.
pub const STARTING: Duration = Duration::from_secs(2);
/// The time that the background hook of a new session waits for the end of the previous session's hook in the same
/// process.
pub const WAITER_HANDOVER: Duration = Duration::from_secs(6);
const _: () = assert!(WAITER_HANDOVER.as_secs() > 2 * WAITER_CHECK.as_secs());
/// The time limit for a client to read a line that wakes its session.
pub const WAKE_SOCKET: Duration = Duration::from_secs(5);
/// The time limit for a sign of a session after its client took a message. After it, the client holds the message.
pub const WAKE_REACTION: Duration = Duration::from_secs(10);
/// The interval between two checks of a session that called recently, by a background waiter with mail.
pub const WAITER_LOOK: Duration = Duration::from_millis(400);
/// The number of bytes at the end of a transcript that show the end of the last turn.
pub const TRANSCRIPT_END: u64 = 64 << 10;
/// The time limit for an agent to read its mail after the second wake, before the human is notified.
pub const WAKE_AGAIN: Duration = Duration::from_secs(10 * 60);
/// The number of messages in the record of a wake.
pub const WAKE_MESSAGES: usize = 100;
/// The number of recorded characters of the reason of a failed wake.
pub const WAKE_REASON: usize = 200;
/// The size of the kept output of a program that wakes an agent.
pub const WAKE_OUTPUT: usize = 4 << 10;
