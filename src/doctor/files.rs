//! The room's own files: registry, settings, log, conversations, spool.

use super::{ExaminedRoom, Finding, Severity, replay, shell};
use crate::base::clock::Stamp;
use crate::base::error::{Error, Result};
use crate::base::limits;
use crate::disk::layout;
use crate::features::channels::{
    self, CheckedChannels, IncompleteChannel, UnreadableChannel, check_channels,
};
use crate::features::charter::CHARTER;
use crate::log::state::{self, ReplayedLog, RoomState};
use crate::query::charter;
use crate::query::status::edited_file_fix;
use crate::room::Room;
use crate::router::recover::evidence;

pub(super) fn registry(room: &Room, findings: &mut Vec<Finding>) {
    if let Err(e) = room.registry() {
        findings.push(unreadable("registry", room, layout::REGISTRY, &e));
    }
}

pub(super) fn settings(room: &Room, findings: &mut Vec<Finding>) {
    if let Err(e) = room.settings() {
        findings.push(unreadable("settings", room, layout::SETTINGS, &e));
    }
}

/// A charter that cannot be read, or that has mistakes.
pub(super) fn charter(room: &Room, findings: &mut Vec<Finding>) {
    match charter::charter(room) {
        Ok(None) => {}
        Err(e) => findings.push(unreadable("charter", room, CHARTER, &e)),
        Ok(Some(charter)) => findings.extend(charter.problems.iter().map(|problem| {
            let line = problem.place.strip_prefix("line ");
            let line = line.and_then(|line| line.parse().ok());
            let fix = edited_file_fix(room, CHARTER, line);
            Finding::warning("charter", format!("{}: {problem}", CHARTER), fix)
        })),
    }
}

fn unreadable(code: &'static str, room: &Room, name: &str, e: &Error) -> Finding {
    let fix = match e {
        // Not fixable automatically: mail of agents that are missing in the registry stays pending until they are added.
        Error::State { .. } if room.dir.stat(name).is_ok_and(|meta| meta.is_none()) => {
            format!("mailbag init {}", shell(room.dir.path()))
        }
        Error::State { line, .. } => edited_file_fix(room, name, *line),
        e if e.errno() == Some(libc::EACCES) => edited_file_fix(room, name, None),
        _ => format!("ls -la {}", shell(&room.dir.at(name))),
    };
    Finding::problem(code, e.to_string(), fix)
}

pub(super) fn log(room: &Room, findings: &mut Vec<Finding>) -> Option<ReplayedLog> {
    match replay(room) {
        Ok(replayed) => Some(replayed),
        Err(e @ Error::State { .. }) => {
            findings.push(Finding::problem(
                "log_damaged",
                e.to_string(),
                "mailbag log verify",
            ));
            None
        }
        Err(e) => {
            let fix = format!("ls -la {}", shell(&room.dir.at(layout::LOG)));
            findings.push(Finding::problem("log_unreadable", e.to_string(), fix));
            None
        }
    }
}

/// The complete batches of a log that is readable as a whole.
pub(super) fn committed(room: &Room, findings: &mut Vec<Finding>) -> Option<RoomState> {
    match state::committed(&room.dir) {
        Ok(state) => Some(state),
        Err(e) => {
            findings.push(unreadable("log", room, layout::LOG, &e));
            None
        }
    }
}

/// An incomplete last batch, a log of another room, and a clock before the newest record.
pub(super) fn log_end(examined: &ExaminedRoom<'_>, findings: &mut Vec<Finding>) -> Result<()> {
    let Some(replayed) = &examined.replayed else {
        return Ok(());
    };
    let held = has_router(examined.room);
    if !held && let Err(e) = evidence::check(&examined.room.dir, replayed) {
        findings.push(Finding::problem(
            "log_damaged",
            e.to_string(),
            "mailbag log verify",
        ));
        return Ok(());
    }
    if !held && let Some(damage) = &replayed.damage {
        let what = format!(
            "the last batch of the log is incomplete; the next pass cuts it off: {}",
            damage.what
        );
        findings.push(Finding::warning("log_unfinished", what, "mailbag run --once").fixable());
    }
    let Some(state) = &examined.committed else {
        return Ok(());
    };
    let id = examined.room.id()?;
    if state.seq > 0 && id != state.room {
        let what = "spool/ and log/ belong to different rooms, so no mail is delivered; restore the replaced directory";
        let fix = format!(
            "head -n 1 {}",
            shell(&examined.room.dir.at(layout::ROOM_ID))
        );
        findings.push(Finding::problem("strange_room", what, fix));
    }
    if state.at > Stamp::now().after(limits::CLOCKS_APART) {
        let what = format!(
            "the system clock is behind the log, whose last record is from {}: new mail gets accept times ahead of the \
             clock; leases and deadlines follow the clock",
            state.at
        );
        findings.push(Finding::warning("clock_behind", what, "timedatectl status"));
    }
    Ok(())
}

/// Returns true if a router runs. `spool` reports an invalid lock, which no router can hold.
fn has_router(room: &Room) -> bool {
    room.running_router().is_ok_and(|router| router.is_some())
}

pub(super) fn conversations(examined: &ExaminedRoom<'_>, findings: &mut Vec<Finding>) {
    let Some(state) = &examined.committed else {
        return;
    };
    let dir = &examined.room.dir;
    let CheckedChannels {
        mut incomplete,
        unreadable: failed,
    } = check_channels(dir, state);
    for UnreadableChannel { channel, error } in &failed {
        let file = channels::conversation(channel);
        let name = file.to_string_lossy();
        findings.push(unreadable("conversation", examined.room, &name, error));
    }
    if has_router(examined.room) && !incomplete.is_empty() {
        // The router writes a conversation right after the commit. Only a conversation that does not catch up is behind.
        let again = state::synced(dir).map(|state| check_channels(dir, &state).incomplete);
        incomplete.retain(|channel| again.as_ref().is_ok_and(|again| again.contains(channel)));
    }
    for IncompleteChannel {
        channel,
        last_shown,
        last,
    } in incomplete
    {
        let file = channels::conversation(&channel);
        let what = format!(
            "{} ends at message {last_shown}, but the log has message {last}",
            file.display()
        );
        let finding = Finding::warning("conversation_behind", what, "mailbag run --once");
        findings.push(finding.fixable());
    }
}

/// Killed and stopped routers.
pub(super) fn spool(room: &Room, findings: &mut Vec<Finding>) -> Result<()> {
    if let Some(left) = room.left_behind() {
        let what = format!(
            "router process {} was killed after {}",
            left.pid, left.since
        );
        findings.push(Finding::note("killed_router", what, "mailbag run --once").fixable());
    }
    let stalled = match room.running_router() {
        Ok(Some(_)) => room.stalled()?,
        Ok(None) => None,
        Err(e) => {
            findings.push(unreadable("router_lock", room, layout::LOCK, &e));
            None
        }
    };
    if let Some(stalled) = stalled {
        let severity = if stalled.files > 0 || stalled.stopped {
            Severity::Problem
        } else {
            Severity::Warning
        };
        findings.push(Finding::new(
            "stalled_router",
            severity,
            stalled.describe(),
            stalled.fix(),
        ));
    }
    Ok(())
}
