//! Durability: whether the room was copied, and whether the file system keeps mail through a power cut.

use super::{ExaminedRoom, Finding, Severity, shell};
use crate::base::error::Result;
use crate::disk::{PowerCutSafety, keeps};
use crate::room::Room;

/// Reports a room that is a copy.
pub(super) fn copied(room: &Room, findings: &mut Vec<Finding>) -> Result<()> {
    if let Some(copied) = room.copied()? {
        let fix = format!("mailbag init --adopt {}", shell(room.dir.path()));
        findings.push(Finding::warning("room_copied", copied, fix));
    }
    Ok(())
}

pub(super) fn look(examined: &ExaminedRoom<'_>, findings: &mut Vec<Finding>) {
    let room = &examined.room.dir;
    let (code, severity, what) = match keeps(room) {
        PowerCutSafety::All => return,
        PowerCutSafety::Nothing => (
            "not_durable",
            Severity::Note,
            "the room is on an in-memory file system: a power cut or a restart deletes it",
        ),
        PowerCutSafety::Unknown => (
            "durability_unknown",
            Severity::Note,
            "unknown whether this file system keeps mail through a power cut; ext4 with a journal, xfs and btrfs do",
        ),
    };
    findings.push(Finding::new(
        code,
        severity,
        what,
        format!("df -T {}", shell(room.path())),
    ));
}
