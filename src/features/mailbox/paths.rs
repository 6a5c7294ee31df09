//! The names of the feature's files in the room.

use std::ffi::OsString;

/// The newest mail of the room, for people.
pub(super) const MAILBOX: &str = "MAILBOX.md";
/// The directory of the files that list unread mail, for people.
pub(super) const QUEUES: &str = "queue";

/// The file that lists an agent's unread mail, for people.
pub(super) fn queue(agent: &str) -> OsString {
    format!("{QUEUES}/to-{agent}.md").into()
}
