//! A single pass over a room. Every command that sends or reads makes one if no router runs.

use super::{PassRequests, WatchedDirectories, keep_features_up, route_all};
use crate::base::error::Result;
use crate::base::limits;
use crate::room::outbox::UnreadyFiles;
use crate::room::{LockAttempt, Room, RouterHolder, RouterLock, RouterMode};
use crate::router::projections::ReconcileCause;
use crate::router::recover::{file_system_time, recover};
use crate::router::watcher::RouterEvents;
use crate::router::{Router, RouterTotals};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

/// The result of a single pass.
#[derive(Debug)]
pub enum PassResult {
    /// The pass was made, with this result.
    Routed(RouterTotals),
    /// Another router runs and does the work.
    RouterRuns(RouterHolder),
}

/// Makes one pass over the room if no router runs. Fails if mail waits for a router that makes no progress.
pub fn pass(room: &Room) -> Result<PassResult> {
    match room.lock(RouterMode::Pass, limits::PASS_WAIT)? {
        LockAttempt::Ours(lock) => pass_by(room, lock, || Ok(())),
        LockAttempt::Theirs(holder) => room
            .check_progress()
            .map(|()| PassResult::RouterRuns(holder)),
    }
}

/// Makes one pass over the room, as the holder of its lock. `recovered` is called before the pass reads outboxes.
/// Everything that was written before the pass is durable at that time, if the system can sync a whole file system.
pub fn pass_by(
    room: &Room,
    lock: RouterLock,
    recovered: impl FnOnce() -> Result<()>,
) -> Result<PassResult> {
    let (tally, brought) = pass_with(room, lock, recovered)?;
    pass_linked_rooms(room, &brought);
    Ok(PassResult::Routed(tally))
}

/// Makes a pass over each room that received items, and another pass over this room if items were returned. A failure
/// is left to that room's own router or commands.
fn pass_linked_rooms(room: &Room, brought: &BTreeSet<PathBuf>) {
    for place in brought {
        let mut done = Room::open(place).and_then(|there| try_pass(&there));
        if done.as_ref().is_ok_and(|returned| !returned.is_empty()) {
            done = try_pass(room);
        }
        if let Err(e) = done {
            tracing::debug!("no pass over {}: {e}", place.display());
        }
    }
}

/// Makes a pass if the room's lock is free, and returns the rooms that received items.
fn try_pass(room: &Room) -> Result<BTreeSet<PathBuf>> {
    match room.lock(RouterMode::Pass, Duration::ZERO)? {
        LockAttempt::Ours(lock) => Ok(pass_with(room, lock, || Ok(()))?.1),
        _ => Ok(BTreeSet::new()),
    }
}

fn pass_with(
    room: &Room,
    lock: RouterLock,
    recovered: impl FnOnce() -> Result<()>,
) -> Result<(RouterTotals, BTreeSet<PathBuf>)> {
    let now = file_system_time(room)?;
    let mut router = recover(room.clone(), lock, UnreadyFiles::new(Some(now)))?;
    recovered()?;
    // Accept times can be ahead of the clock, the time of the state is not.
    let inboxes = Router::changed_inboxes(router.journal.state().time);
    router.note_clock()?;
    let before = router.journal.state().seq;
    router.collect_from_projections();
    let mut known = WatchedDirectories::default();
    known.scan(&mut router, &mut RouterEvents::silent())?;
    router.check_lanes();
    router.queue_deadlines();
    router.scan_inboxes(inboxes, inboxes);
    route_all(&mut router)?;
    let mut requests = PassRequests::default();
    requests.answer(&mut router, known.outboxes.keys())?;
    route_all(&mut router)?;
    // New mail can have expired.
    router.queue_deadlines();
    router.report_strays();
    route_all(&mut router)?;
    if router.progress.must_settle() || !router.receipts.is_empty() || !router.links.is_empty() {
        router.settle()?;
    }
    keep_features_up(&mut router)?;
    if router.journal.state().seq != before {
        router.reconcile(ReconcileCause::End)?;
    }
    router.write_pending();
    requests.answer(&mut router, known.outboxes.keys())?;
    router.note_clean_end();
    Ok((router.tally(), router.projections.take_brought()))
}
