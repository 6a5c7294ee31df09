//! Sends a message and delivers it at once, with fewer syncs than both need one after the other.

use super::send::{Draft, Prepared, Sent, prepare};
use crate::base::error::Result;
use crate::disk::{Barrier, CAN_SYNC_ALL, layout};
use crate::query::identity::Who;
use crate::room::settings::Durability;
use crate::room::spool::Spool;
use crate::room::{Lock, Locking, Mode, Room};
use crate::router::daemon::{self, Passed};
use std::time::Duration;

/// Sends a message and delivers it, unless a router runs. `told` is called when the file has its name in the outbox, before
/// it is delivered. An error means that the message was not sent, or that a power cut can lose it. Otherwise it is durable
/// when this returns, whatever the result of the pass.
pub fn send_and_route(
    room: &Room,
    who: &Who,
    draft: Draft,
    told: impl FnOnce(&Sent) -> Result<()>,
) -> Result<(Sent, Result<Passed>)> {
    let message = prepare(room, who, draft)?;
    if room.settings()?.durability == Durability::Power
        && CAN_SYNC_ALL
        && let Ok(Locking::Ours(lock)) = room.lock(Mode::Pass, Duration::ZERO)
    {
        return send_in_pass(room, lock, message, told);
    }
    let sent = message.put(room)?;
    let said = told(&sent);
    let routed = daemon::pass(room);
    said.map(|()| (sent, routed))
}

/// Sends a message in this process's own pass. The pass begins with a sync of everything, so the message needs none of its own.
fn send_in_pass(
    room: &Room,
    lock: Lock,
    message: Prepared,
    told: impl FnOnce(&Sent) -> Result<()>,
) -> Result<(Sent, Result<Passed>)> {
    let (mut written, mut told, mut said) = (Some(message.write(room)?), Some(told), None);
    let routed = daemon::pass_by(room, lock, || {
        if let (Some(written), Some(told)) = (written.take(), told.take()) {
            written.place(room, &message)?;
            said = Some(told(&message.sent));
        }
        Ok(())
    });
    match (written.zip(told), said) {
        // The pass failed before its sync was done.
        (Some((written, told)), _) => {
            let sent = written.put(room, message)?;
            told(&sent).map(|()| (sent, routed))
        }
        // The message could not get its name.
        (None, None) => routed.map(|passed| (message.sent, Ok(passed))),
        (None, Some(said)) => {
            // Only a pass that has committed the message has made its name durable.
            if routed.is_err() || !is_routed(room, &message.sent).unwrap_or_default() {
                sync_everything(room).map_err(|e| message.sent.written_but(&e))?;
            }
            said.map(|()| (message.sent, routed))
        }
    }
}

/// Has the message left its outbox and the spool?
fn is_routed(room: &Room, sent: &Sent) -> Result<bool> {
    let name = layout::message_file(&sent.id);
    let is_claimed = Spool::open(&room.dir)?.claimed()?.iter().any(|claim| claim.ends_with(&name));
    Ok(!is_claimed && room.dir.stat(&sent.file)?.is_none())
}

fn sync_everything(room: &Room) -> Result<()> {
    let mut barrier = Barrier::new(Durability::Power, room.dir.clone());
    barrier.everything();
    barrier.pass()
}
