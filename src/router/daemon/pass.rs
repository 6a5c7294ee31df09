//! A single pass over a room: what every command that sends or reads does first, if no router runs.

use super::{Known, Requests, look_for_stale, sweep};
use crate::base::error::{Error, Result};
use crate::base::limits;
use crate::room::outbox::Patience;
use crate::room::{Holder, Lock, Locking, Mode, Room};
use crate::router::Tally;
use crate::router::projections::Cause;
use crate::router::recover::{file_system_time, note_failed_sync, recover};
use crate::router::watcher::Notice;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

/// The result of a single pass.
#[derive(Debug)]
pub enum Passed {
    /// The pass was made, with this result.
    Routed(Tally),
    /// Another router runs and does the work.
    RouterRuns(Holder),
    /// This user has only the files of an agent. The room's owner routes.
    OwnerRoutes,
}

/// One pass over the room, if no router runs: what every command that sends or reads does first. Fails if mail waits for
/// a router that makes no progress.
pub fn pass(room: &Room) -> Result<Passed> {
    match room.lock(Mode::Pass, limits::PASS_WAIT)? {
        Locking::Ours(lock) => pass_by(room, lock, || Ok(())),
        Locking::Theirs(holder) => room.check_progress().map(|()| Passed::RouterRuns(holder)),
        Locking::Closed(_) => Ok(Passed::OwnerRoutes),
    }
}

/// One pass over the room by the holder of its lock. `recovered` is called before the pass looks for mail. With the durability
/// `power`, everything that was written before the pass began is durable then, if the system can sync a whole file system.
pub fn pass_by(room: &Room, lock: Lock, recovered: impl FnOnce() -> Result<()>) -> Result<Passed> {
    let (tally, brought) = note_failed_sync(&room.dir, pass_with(room, lock, recovered))?;
    go_there(room, &brought);
    Ok(Passed::Routed(tally))
}

/// A pass over each room to which items were brought, if no router runs there, and one more over this room if something came
/// back. What fails there is tried by that room's own router or commands.
fn go_there(room: &Room, brought: &BTreeSet<PathBuf>) {
    let pass_over = |room: &Room| match room.lock(Mode::Pass, Duration::ZERO)? {
        Locking::Ours(lock) => Ok(note_failed_sync(&room.dir, pass_with(room, lock, || Ok(())))?.1),
        _ => Ok(BTreeSet::new()),
    };
    for place in brought {
        let came_back = Room::open(place).and_then(|there| pass_over(&there));
        let done = match came_back {
            Ok(came_back) if !came_back.is_empty() => pass_over(room).map(drop),
            done => done.map(drop),
        };
        done.unwrap_or_else(|e: Error| tracing::debug!("no pass over {}: {e}", place.display()));
    }
}

fn pass_with(
    room: &Room,
    lock: Lock,
    recovered: impl FnOnce() -> Result<()>,
) -> Result<(Tally, BTreeSet<PathBuf>)> {
    let patience = Patience::new(Some(file_system_time(room)?));
    let mut router = recover(room.clone(), lock, patience)?;
    recovered()?;
    router.note_clock()?;
    let before = router.journal.state().seq;
    router.collect_written();
    let mut known = Known::default();
    known.look(&mut router, &mut Notice::silent())?;
    sweep(&mut router, &known);
    router.look_at_charter();
    router.keep_deadlines();
    router.look_for_receipts(false);
    while !router.is_idle() {
        router.route()?;
    }
    // Mail that has just arrived can have expired.
    router.keep_new_deadlines();
    router.tell_of_strays();
    while !router.is_idle() {
        router.route()?;
    }
    if router.progress.must_settle() || !router.receipts.is_empty() || !router.links.is_empty() {
        router.settle()?;
    }
    look_for_stale(&mut router)?;
    if router.journal.state().seq != before {
        router.reconcile(Cause::End)?;
    }
    router.write_pending();
    Requests::default().answer(&mut router)?;
    Ok((router.tally(), router.projections.take_brought()))
}
