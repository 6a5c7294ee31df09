//! Telling an agent of mail: the marker first, then the telling, and the marker back if that failed.

use crate::base::error::Result;
use crate::query::inbox::Mail;
use crate::room::{Room, inbox};
use std::ffi::OsStr;

/// Tells of messages that are unread. That somebody has told of one before doesn't keep it from being told again: who
/// asks is answered. A marker that can't be made hinders nobody from being told either.
pub fn telling(room: &Room, agent: &str, mails: &[Mail], tell: impl FnOnce() -> Result<()>) -> Result<()> {
    let unread = mails.iter().filter(|mail| !mail.seen).map(|mail| mail.name.as_os_str());
    let made: Vec<&OsStr> = unread.filter(|name| mark(room, agent, name)).collect();
    tell().inspect_err(|_| {
        for name in made {
            if let Err(e) = inbox::unannounce(&room.dir, agent, name) {
                tracing::warn!("{e}");
            }
        }
    })
}

/// Was the marker made by this call?
fn mark(room: &Room, agent: &str, name: &OsStr) -> bool {
    inbox::announce(&room.dir, agent, name).unwrap_or_else(|e| {
        tracing::warn!("{e}");
        false
    })
}
