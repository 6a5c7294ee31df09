//! Durability: whether the room was copied, and whether the file system keeps the promise of `durability = "power"`.

use super::{ExaminedRoom, Finding, Severity, shell};
use crate::base::error::Result;
use crate::disk::{Durability, PowerCutSafety, SyncOrder, keeps, layout, sync_order};
use crate::room::Room;

/// Reports a room that is a copy.
pub(super) fn copied(room: &Room, findings: &mut Vec<Finding>) -> Result<()> {
    if let Some(copied) = room.copied()? {
        let fix = format!("mailbag init --adopt {}", shell(room.dir.path()));
        findings.push(Finding::warning("room_copied", copied.describe(), fix));
    }
    Ok(())
}

pub(super) fn look(examined: &ExaminedRoom<'_>, findings: &mut Vec<Finding>) {
    let room = &examined.room.dir;
    if examined
        .room
        .settings()
        .is_ok_and(|settings| settings.durability != Durability::Power)
    {
        return;
    }
    let (code, severity, what) = match keeps(room) {
        PowerCutSafety::All => return,
        PowerCutSafety::Nothing => (
            "not_durable",
            Severity::Note,
            "the room is on an in-memory file system: a power cut or a restart deletes it, although `durability` is \"power\"",
        ),
        PowerCutSafety::NoJournal => (
            "not_durable",
            Severity::Warning,
            "the room is on a file system without a journal: a power cut can lose or repeat mail, although `durability` is \
             \"power\"; ext4 with a journal, xfs and btrfs keep it",
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

/// The order of the syncs in this room. `None` if nothing is synced.
pub(super) fn sync_order_of(room: &Room) -> Option<SyncOrder> {
    if room.settings().ok()?.durability != Durability::Power {
        return None;
    }
    let dir = &room.dir;
    let log = dir.sub(layout::LOG).ok()?;
    let claims = dir.sub(layout::CLAIM).ok()?;
    let stage = dir.sub(layout::STAGE).ok()?;
    Some(sync_order(dir, [&log, &claims, &stage]))
}
