//! The limits of claims, and of what watches their owners.

use super::TOLD;
use std::time::Duration;

/// If two agents edit a file within this time, each gets a message about the other.
pub const SAME_FILE: Duration = Duration::from_secs(30);
/// The shortest interval between two messages about one file to a pair of agents.
pub const SAME_FILE_AGAIN: Duration = Duration::from_secs(3600);
const _: () = assert!(SAME_FILE_AGAIN.as_secs() < TOLD.as_secs());
/// The number of claims of one path, or of one decision, that a text or an MCP tool lists; the others are counted.
pub const CLAIM_LINES: usize = 10;
