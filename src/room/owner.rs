//! The check that a room belongs to the user of this process: a room is private to its user.

use crate::base::error::{Error, Result};
use crate::disk::{machine, owner_of};
use std::path::Path;

/// Fails if the directory at this path belongs to another user, who may not let this user open it.
pub(super) fn check_owner_at(path: &Path) -> Result<()> {
    match owner_of(path) {
        Ok((owner, _)) => check_owner(path, owner),
        // The next step reports it.
        Err(_) => Ok(()),
    }
}

/// Fails if this owner of a room is another user.
pub(super) fn check_owner(path: &Path, owner: u32) -> Result<()> {
    let user = rustix::process::geteuid().as_raw();
    if owner == user {
        return Ok(());
    }
    Err(Error::untrusted(
        format!(
            "the room {} belongs to {}, and this process runs as {}",
            path.display(),
            machine::user(owner),
            machine::user(user)
        ),
        "run the command as the room's owner, or create a room of your own with `mailbag init`",
    ))
}
