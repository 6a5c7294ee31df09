//! Limits of the names that mailbag gives to sessions.

use super::{NAME, SESSION_ID};
use std::time::Duration;

/// The longest name of a session in the registry: `<client>:<id>`.
pub const SESSION_KEY: usize = 256;
const _: () = assert!(SESSION_KEY > NAME + 1 + SESSION_ID);

/// The time that a starting session waits for another process that changes the registry.
pub const NAME_WAIT: Duration = Duration::from_secs(2);
