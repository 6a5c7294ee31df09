//! Trust: a room that is not private to its user, and settings without consent.

use super::{ExaminedRoom, Finding, shell};
use crate::base::error::Result;
use crate::room::Room;

/// The permission bits of all users except the owner.
const OTHERS: u32 = 0o077;

pub(super) fn look(examined: &ExaminedRoom<'_>, findings: &mut Vec<Finding>) -> Result<()> {
    let room = examined.room;
    let place = shell(room.dir.path());
    if !is_private(room)? {
        let what = format!(
            "{} is not private: other users have permissions",
            room.dir.path().display()
        );
        findings
            .push(Finding::warning("not_private", what, format!("chmod -R go= {place}")).fixable());
    }
    for setting in room
        .settings()
        .map(|settings| settings.withheld)
        .unwrap_or_default()
    {
        let what = format!(
            "{} has no effect: you have not agreed to {}",
            setting.key, setting.value
        );
        let fix = format!("mailbag trust {place}");
        findings.push(Finding::warning("setting_not_trusted", what, fix));
    }
    Ok(())
}

/// Returns true if only the owner may enter the room.
pub(super) fn is_private(room: &Room) -> Result<bool> {
    Ok(room.dir.meta()?.mode & OTHERS == 0)
}
