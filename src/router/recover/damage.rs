//! A damaged end of the log. It is set aside, unless a file shows that it was committed.

use crate::base::error::{Error, Result};
use crate::disk::{Dir, layout};
use crate::log;
use crate::log::state::BatchDamage;
use std::path::Path;

/// Rejects damage in a committed batch. All claims of an uncommitted batch exist, because they are durable before the
/// batch is written. If a claim is missing, the batch was committed, and the damage is later.
pub(super) fn reject_missing_claims(room: &Dir, damage: &BatchDamage) -> Result<()> {
    let claims = room.sub(layout::CLAIM)?;
    for line in log::read(room, damage.from)? {
        let line = line?;
        let Ok(record) = line.record() else {
            continue;
        };
        let Some(claim) = record.claim() else {
            continue;
        };
        if claims.stat(claim)?.is_none() {
            return Err(Error::state(
                log::path(room, damage.from.segment),
                format!(
                    "damaged at byte {}, in a batch that was committed: {}",
                    damage.from.offset, damage.what
                ),
                "restore the segment from a copy; to give the batch up, run `mailbag log accept-gap`; nothing was \
                       changed",
            ));
        }
    }
    Ok(())
}

/// Copies everything after the last complete batch into the quarantine, and cuts it off the log.
pub(super) fn set_aside(room: &Dir, damage: &BatchDamage) -> Result<()> {
    let quarantine = room.make(layout::QUARANTINE)?;
    let mut tail = Vec::new();
    for line in log::read(room, damage.from)? {
        tail.extend(line?.bytes);
    }
    let name = format!(
        "log-{}-{}-{}",
        damage.from.segment,
        damage.from.offset,
        crate::message::id::mint()
    );
    // A kill before the cut leaves the log unchanged, and the next recovery repeats the work.
    quarantine.replace_by(Path::new(&name), Path::new(layout::QUARANTINE_DRAFT), &tail)?;
    tracing::warn!(
        "{}; set aside {} bytes of the log as {}",
        damage.what,
        tail.len(),
        quarantine.at(&name).display()
    );
    log::cut(room, damage.from)
}
