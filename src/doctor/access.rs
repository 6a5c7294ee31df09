//! Permissions: mail that other users of this machine can read.

use super::{ExaminedRoom, Finding, shell};
use crate::base::error::Result;
use crate::disk::layout;

/// The permission bits of other users.
const OTHERS: u32 = 0o007;
/// Directories that only the room's owner may read.
const PRIVATE: [&str; 10] = [
    layout::LOG,
    layout::SENT,
    layout::REJECTED,
    layout::SPOOL,
    layout::ARCHIVE,
    layout::CHANNELS,
    layout::SESSIONS,
    layout::LINKS,
    layout::OUTBOXES,
    layout::INBOXES,
];

pub(super) fn look(examined: &ExaminedRoom<'_>, findings: &mut Vec<Finding>) -> Result<()> {
    let room = &examined.room.dir;
    if room.meta()?.mode & OTHERS == 0 {
        return Ok(());
    }
    let mut open = Vec::new();
    for directory in PRIVATE {
        // Agents with their own system user pass through these two, but cannot list them.
        let may_pass = [layout::OUTBOXES, layout::INBOXES].contains(&directory);
        let meant = if may_pass { 0o001 } else { 0 };
        if room
            .stat(directory)?
            .is_some_and(|there| there.mode & OTHERS & !meant != 0)
        {
            open.push(directory);
        }
    }
    if !open.is_empty() {
        let what = format!("other users of this machine can read {}", open.join(", "));
        let paths: Vec<String> = open
            .iter()
            .map(|directory| shell(&room.at(directory)))
            .collect();
        let fix = format!("chmod -R go-rwx {}", paths.join(" "));
        findings.push(Finding::warning("readable_by_others", what, fix));
    }
    Ok(())
}
