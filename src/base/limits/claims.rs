//! The limits of claims, and of what watches their owners.

use super::TOLD;
use std::time::Duration;

/// The longest subject of a claim. A path has at most 4,096 bytes on Linux; a claim of one so long is a mistake.
pub const SUBJECT_BYTES: usize = 1024;
/// The most alternatives that the braces of one claim may stand for, multiplied out.
pub const SUBJECT_CHOICES: usize = 64;
/// The largest number of steps in a comparison of two subjects.
pub const SUBJECT_STEPS: u32 = 8192;
/// The most subjects that an agent owns.
pub const CLAIMS_OF_AGENT: usize = 1000;
/// The most subjects in one message.
pub const CLAIMS_IN_MESSAGE: usize = 100;
/// The most waiting claims of an agent.
pub const WAITING_OF_AGENT: usize = 100;
/// The most open offers of an agent.
pub const OFFERS_OF_AGENT: usize = 100;
/// The default lease of a claim.
pub const CLAIM_LEASE: Duration = Duration::from_secs(4 * 3600);
/// The shortest lease that a claim can ask for.
pub const CLAIM_LEASE_LEAST: Duration = Duration::from_secs(60);
/// The longest lease that a claim can ask for, so that no claim of a dead agent stays forever.
pub const CLAIM_LEASE_MOST: Duration = Duration::from_secs(7 * 86_400);
/// The time that claims of an ended session stay.
pub const CLAIM_AFTER_SESSION: Duration = Duration::from_secs(15 * 60);
/// A waiting claim of an agent without activity for this time is passed over.
pub const CLAIM_WAITER: Duration = Duration::from_secs(10 * 60);
/// How often the router checks whether the sessions of owners still run.
pub const CLAIM_CHECK: Duration = Duration::from_secs(30);
/// The owner is warned after this part of its lease, in percent, has passed without activity.
pub const CLAIM_WARNING: u64 = 80;
/// The interval of checks whether the client of a watched session still runs, if the system does not report its end.
pub const WATCH_CLIENT: Duration = Duration::from_millis(500);
/// The interval of checks whether the session must still be watched.
pub const WATCH_CHECK: Duration = Duration::from_secs(10);
/// The log shows the effect of a session's call within this time.
pub const CALL_TO_RECORD: Duration = Duration::from_secs(60);
/// If two agents edit a file within this time, each gets a message about the other.
pub const SAME_FILE: Duration = Duration::from_secs(30);
/// The shortest interval between two such messages to a pair of agents.
pub const SAME_FILE_AGAIN: Duration = Duration::from_secs(3600);
const _: () = assert!(SAME_FILE_AGAIN.as_secs() < TOLD.as_secs());
/// The number of the newest commits that `who` searches for agents' names.
pub const PREFIX_COMMITS: usize = 200;
/// The time limit of that search. After it, `who` shows only recorded commits.
pub const PREFIX_TIME: Duration = Duration::from_millis(200);
/// The time that a program with a continuous display uses the result of that search.
pub const COMMITS_LOOK: Duration = Duration::from_secs(10);
