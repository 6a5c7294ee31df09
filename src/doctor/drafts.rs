//! Drafts in outboxes, left by commands that were killed while sending. Those commands never reported success.

use super::{Finding, count};
use crate::base::clock::Stamp;
use crate::base::error::Result;
use crate::base::limits;
use crate::disk::{Dir, Meta, layout};
use crate::room::Room;
use rustix::fs::FileType;
use std::ffi::{OsStr, OsString};

pub(super) fn look(room: &Room, findings: &mut Vec<Finding>) -> Result<()> {
    for agent in room.directories(layout::OUTBOXES)? {
        let left = room
            .dir
            .sub(layout::outbox(&agent))
            .and_then(|outbox| left(&outbox))
            .unwrap_or_default();
        if !left.is_empty() {
            let drafts = count(left.len(), "draft");
            let what =
                format!("outbox/{agent} has {drafts} from commands that were killed while sending");
            findings.push(Finding::note("draft", what, "mailbag doctor --fix").fixable());
        }
    }
    Ok(())
}

/// Removes old drafts.
pub(super) fn remove(room: &Room) -> Result<()> {
    for agent in room.directories(layout::OUTBOXES)? {
        let Ok(outbox) = room.dir.sub(layout::outbox(&agent)) else {
            continue;
        };
        for (name, meta) in left(&outbox)? {
            outbox.remove_if_same(&name, &meta)?;
        }
    }
    Ok(())
}

fn left(outbox: &Dir) -> Result<Vec<(OsString, Meta)>> {
    let mut left = Vec::new();
    for entry in outbox.list()? {
        let name = entry?.name;
        if layout::is_unsent(&name)
            && let Some(meta) = outbox.stat(&name)?
            && is_left(outbox, &name, &meta)
        {
            left.push((name, meta));
        }
    }
    Ok(left)
}

/// Whether the writer of a draft is gone. The pid in the name proves nothing: the writer may be in another pid namespace.
fn is_left(outbox: &Dir, name: &OsStr, meta: &Meta) -> bool {
    let age = Stamp::now().micros() as i128 * 1000 - meta.modified;
    let is_old = age > limits::DRAFT_AGE.as_nanos() as i128;
    is_old
        && meta.kind == FileType::RegularFile
        && outbox
            .look(name)
            .is_ok_and(|file| file.try_lock().is_ok_and(|is_ours| is_ours))
}
