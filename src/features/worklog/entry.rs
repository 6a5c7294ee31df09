//! An entry of the worklog: one line for one record, which never changes.

use super::envelope::Envelope;
use crate::base::error::Result;
use crate::base::text::to_the_second;
use crate::base::{limits, markdown};
use crate::disk::Dir;
use crate::log;
use crate::log::LogPosition;
use crate::log::find;
use crate::message::record::Record;

/// An entry.
pub(super) struct WorklogEntry {
    /// Its line, with the newline.
    pub(super) line: String,
    pub(super) is_decision: bool,
}

/// Calls `each` for the entries of the committed records between two positions, in the order of the log.
pub(super) fn entries(
    room: &Dir,
    from: LogPosition,
    to: LogPosition,
    mut each: impl FnMut(WorklogEntry) -> Result<()>,
) -> Result<()> {
    if from == to {
        return Ok(());
    }
    // Single-threaded: after a process has had a second thread, each of its allocations costs more.
    for line in log::read(room, from)? {
        let line = line?;
        if line.at >= to {
            break;
        }
        if let Some(entry) = entry(&line.bytes) {
            each(entry)?;
        }
    }
    Ok(())
}

fn entry(line: &[u8]) -> Option<WorklogEntry> {
    if !Envelope::may_be(line) {
        return None;
    }
    let record: Record = serde_json::from_slice(line).ok()?;
    let event = Envelope::entry(&record)?;
    let Envelope {
        seq,
        at,
        kind,
        actor,
        ..
    } = &event;
    let text = markdown::brief(&event.text(), limits::WORKLOG_TEXT);
    let (actor, at) = (markdown::brief(actor, limits::NAME), to_the_second(at));
    let line = format!("- #{seq} {at} {actor} · {kind} · {text}\n");
    Some(WorklogEntry {
        line,
        is_decision: event.is_decision(),
    })
}

/// The line in place of the entries of records before `first`, which are in no segment of the log.
pub(super) fn gap(first: u64) -> String {
    format!(
        "- #{} and before: this part of the log was moved away, and these entries with it\n",
        first - 1
    )
}

/// The number in a line of [`entry`] or [`gap`].
pub(super) fn number(line: &[u8]) -> Option<u64> {
    let rest = line.strip_prefix(b"- #")?;
    let digits = rest.iter().position(|byte| !byte.is_ascii_digit())?;
    (rest[digits] == b' ' && line.ends_with(b"\n"))
        .then(|| std::str::from_utf8(&rest[..digits]).ok()?.parse().ok())?
}

/// The first record in the log or in the archive, or 0 for an empty log.
pub(super) fn first_record(room: &Dir) -> Result<u64> {
    match log::segments(room)?.first() {
        Some(&segment) => find::first_seq(room, segment),
        None => Ok(0),
    }
}
