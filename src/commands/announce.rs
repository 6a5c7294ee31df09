//! Announces mail to an agent: sets the marker, prints, and removes the marker if printing failed.

use crate::base::error::Result;
use crate::query::inbox::InboxMessage;
use crate::room::{Room, inbox};
use std::ffi::OsStr;

/// Runs `show` for messages and marks the unread ones as announced. A message that was announced before is shown again,
/// because the agent asked for it. A failed marker does not stop the output.
pub fn announcing(
    room: &Room,
    agent: &str,
    mails: &[InboxMessage],
    show: impl FnOnce() -> Result<()>,
) -> Result<()> {
    let unread = mails
        .iter()
        .filter(|mail| mail.can_be_marked_seen())
        .map(|mail| mail.name.as_os_str());
    let made: Vec<&OsStr> = unread.filter(|name| mark(room, agent, name)).collect();
    show().inspect_err(|_| {
        for name in made {
            retract(room, agent, name);
        }
    })
}

/// Whether this unread message was announced.
pub fn is_announced(room: &Room, agent: &str, name: &OsStr) -> Result<bool> {
    inbox::is_announced(&room.dir, agent, name)
}

/// Takes the marker back: the message did not reach the agent. A failure only costs a second notice.
pub fn retract(room: &Room, agent: &str, name: &OsStr) {
    if let Err(e) = inbox::unannounce(&room.dir, agent, name) {
        tracing::warn!("{e}");
    }
}

/// Whether this call created the marker.
fn mark(room: &Room, agent: &str, name: &OsStr) -> bool {
    inbox::announce(&room.dir, agent, name).unwrap_or_else(|e| {
        tracing::warn!("{e}");
        false
    })
}
