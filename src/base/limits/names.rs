//! Limits of the names that mailbag gives to sessions.

use super::{NAME, SESSION_ID};
use std::time::Duration;

/// The longest name of a session in the registry: `<client>:<id>`.
pub const SESSION_KEY: usize = 256;
const _: () = assert!(SESSION_KEY > NAME + 1 + SESSION_ID);

/// The time that a starting session waits for another process that changes the registry.
pub const NAME_WAIT: Duration = Duration::from_secs(2);
const _: () = assert!(NAME_WAIT.as_secs() < super::HOOK_TIME.as_secs());

/// The time that the name of an ended session is kept for it while the pool has other names.
pub const NAME_KEPT: Duration = Duration::from_secs(86_400);
/// The number of agents that a session start searches open threads for.
pub const NAMES_SEARCHED: usize = 2;
/// How often a session that starts tries another name, because a session took the name in this moment.
pub const NAMES_TRIED: usize = 16;

/// The most parent processes that are read. Further parents count as hidden.
pub const LINEAGE: usize = 256;
/// The longest name of a process that is shown.
pub const PROCESS_NAME: usize = 40;
/// The number of characters of a session's id that people and models see.
pub const SESSION_SHOWN: usize = 8;
