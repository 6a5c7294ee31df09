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
/// How many replies in a conversation may wake an agent without delay in this many times its `every`.
pub const WAKE_ANSWERS: u32 = 10;
/// How long after an agent wrote to another one mail from that one continues their exchange.
pub const EXCHANGE: Duration = Duration::from_secs(10 * 60);
/// How much of the log is searched for such mail.
pub const EXCHANGE_BYTES: u64 = 1 << 20;
/// The default time limit of a program that wakes an agent.
pub const WAKE_WITHIN: Duration = Duration::from_secs(30);
/// The highest time limit that the registry may set for it.
pub const WAKE_WITHIN_MOST: Duration = Duration::from_secs(10 * 60);
const _: () = assert!(WAKE_WITHIN.as_secs() <= WAKE_WITHIN_MOST.as_secs());
/// How long new mail is collected before its agent is woken.
pub const WAKE_COALESCE: Duration = Duration::from_secs(1);
/// How long no further mail may arrive before the collected mail counts as complete.
pub const WAKE_QUIET: Duration = Duration::from_millis(200);
const _: () = assert!(WAKE_QUIET.as_millis() < WAKE_COALESCE.as_millis());
/// How long after its last hook an agent counts as busy. Its next hook announces the mail, so it is not woken.
pub const BUSY: Duration = Duration::from_secs(2 * 60);
/// The same for a session with a background hook. Such a session also accepts a wake during a turn.
pub const WAITER_BUSY: Duration = Duration::from_secs(10);
/// How long after the start of a session the start hook may still be announcing mail.
pub const STARTING: Duration = Duration::from_secs(2);
/// How long the background hook of a new session waits for the hook of the previous session in the same process to end.
pub const WAITER_HANDOVER: Duration = Duration::from_secs(6);
const _: () = assert!(WAITER_HANDOVER.as_secs() > 2 * WAITER_CHECK.as_secs());
/// How long a client may take to read a line that wakes its session.
pub const WAKE_SOCKET: Duration = Duration::from_secs(5);
/// How long after its client took a message a session may show no sign of it. After that, the client holds the message.
pub const WAKE_REACTION: Duration = Duration::from_secs(10);
/// How often a background waiter with mail checks whether its session, which called lately, still works.
pub const WAITER_LOOK: Duration = Duration::from_millis(400);
/// How many bytes at the end of a session's transcript show how its last turn ended.
pub const TRANSCRIPT_END: u64 = 64 << 10;
/// How long an agent that was woken once more may still leave its mail unread before the human is told.
pub const WAKE_AGAIN: Duration = Duration::from_secs(10 * 60);
/// How many messages the record of a wake names.
pub const WAKE_MESSAGES: usize = 100;
/// How many characters of the reason of a failed wake are recorded.
pub const WAKE_REASON: usize = 200;
/// How much output of a program that wakes an agent is kept.
pub const WAKE_OUTPUT: usize = 4 << 10;
