//! Recovery from any state that a kill or a power cut leaves on disk. It enters the steps in the middle.

mod damage;
pub mod evidence;
mod gap;
mod leftovers;
mod twice_named;

pub use gap::{LogLoss, accept_gap, find_loss};

use crate::base::error::{Error, ErrorClass, ErrorContext, Result};
use crate::base::limits;
use crate::base::test_sizes;
use crate::disk::{Barrier, Dir, can_sync_all, layout, machine};
use crate::log;
use crate::log::Log;
use crate::log::state::{self, LastBatch, OpenRecord, ReplayedLog, RoomState};
use crate::room::outbox::UnreadyFiles;
use crate::room::spool::Spool;
use crate::room::{Room, RoomTurn, RouterLock};
use crate::router::parts::{DeliveryProgress, RouterStorage, claim_item};
use crate::router::projections::ReconcileCause;
use crate::router::steps::commit::CommittedBatch;
use crate::router::{RecoveredRoom, Router, temporary};
use rustix::fs::FileType;
use std::collections::HashSet;

/// Recovers the room, so that only new mail is left to route.
///
/// Committed messages are delivered. Staged files without a record are removed: their claims still exist and are read
/// again. An incomplete last batch was never committed and is set aside. All reasons to reject a room are checked
/// before the first change.
pub fn recover(room: Room, lock: RouterLock, patience: UnreadyFiles) -> Result<Router> {
    let turn = RoomTurn::new(&room.dir, lock.patience())?;
    let found = restore(&room)?;
    let mut router = Router::new(room, lock, turn, patience, found)?;
    router.resume()?;
    router.reconcile_all()?;
    Ok(router)
}

/// Reads the log, and brings the spool to the same point.
fn restore(room: &Room) -> Result<RecoveredRoom> {
    let spool = Spool::open(&room.dir)?;
    let replayed = replay(room)?;
    check_end(&room.dir, &replayed)?;
    let ReplayedLog {
        mut state,
        damage,
        read,
        last,
        ..
    } = replayed;
    make_durable(room, &spool, &state, last)?;
    if let Some(damage) = &damage {
        damage::set_aside(&room.dir, damage)?;
    }
    if let Err(e) = check_place(room) {
        tracing::warn!("{}", temporary(e)?);
    }
    clear_stage(&spool, &state)?;
    leftovers::remove_leftovers(room)?;
    twice_named::finish(&room.dir, &spool, &state)?;
    if is_first_after_boot(&room.dir.sub(layout::SPOOL)?) {
        twice_named::finish_moves_of_recipients(&room.dir, &state)?;
    }
    if state.index.is_due(state.end) || is_worth_a_snapshot(room, read)? {
        // Without a snapshot, the next start only reads the same part of the log again.
        if let Err(e) = state.save(&room.dir) {
            tracing::warn!("{}", temporary(e)?);
        }
    }
    let log = Log::open(&room.dir, state.tip())?;
    Ok(RecoveredRoom { log, spool, state })
}

/// Reads the log, and rejects a room that must not be changed.
fn replay(room: &Room) -> Result<ReplayedLog> {
    if let Some(there) = room
        .dir
        .stat(layout::LOG)?
        .filter(|there| !there.is_directory())
    {
        let what = if there.kind == FileType::Symlink {
            "a symbolic link"
        } else {
            "not a directory"
        };
        return Err(Error::state(
            room.dir.at(layout::LOG),
            format!("it is {what}, and the log is read only from a directory of the room"),
            "put the directory back; nothing was changed",
        ));
    }
    let mut replayed = state::replay(&room.dir)?;
    replayed.state.open_index(&room.dir)?;
    reject_mixed_room(room, &replayed.state)?;
    Ok(replayed)
}

/// Fails if a file of the room shows that the log has lost a record, or that its damaged end was committed.
pub fn check_end(room: &Dir, replayed: &ReplayedLog) -> Result<()> {
    evidence::check(room, replayed)?;
    replayed
        .damage
        .as_ref()
        .map_or(Ok(()), |damage| damage::reject_missing_claims(room, damage))
}

/// Returns true if the next start saves more than a new snapshot costs. Each command that makes a pass reads the
/// log from the snapshot on. The size of snapshots stays in proportion to the log.
fn is_worth_a_snapshot(room: &Room, read: u64) -> Result<bool> {
    let size = room.dir.stat(layout::SNAPSHOT)?.map_or(0, |meta| meta.size);
    let enough = size.clamp(limits::SNAPSHOT_BYTES / 32, limits::SNAPSHOT_BYTES);
    Ok(read > test_sizes::snapshot_bytes().unwrap_or(enough))
}

/// Warns about a copied room. It is routed, because nothing shows whether its original is also routed.
fn check_place(room: &Room) -> Result<()> {
    match room.copy_warning()? {
        None => room.note_place(),
        Some(warning) => {
            tracing::warn!("{warning}");
            Ok(())
        }
    }
}

/// Makes the next recovery search for holes if a sync failed, because files that were not durable may have lost data.
/// Every recovery writes the log's last batch again, but the conversations are too large for that.
pub fn note_failed_sync<T>(room: &Dir, done: Result<T>) -> Result<T> {
    if matches!(done, Err(Error::Sync { .. }))
        && let Err(e) = room
            .sub(layout::SPOOL)
            .and_then(|spool| spool.remove(layout::BOOT))
    {
        tracing::debug!("{e}; a conversation may show a hole until the next boot");
    }
    done
}

/// Makes the data that recovery read durable. It may be in memory only, and a power cut would repeat its effects.
///
/// A sync is enough for data that was never synced. The sync of the log's last batch may have failed: then the system
/// no longer knows that the batch is not on disk, and only a second write gets it there. Every earlier batch was
/// durable before the next batch began, and the staged files of every batch before its records.
fn make_durable(
    room: &Room,
    spool: &Spool,
    state: &RoomState,
    last: Option<LastBatch>,
) -> Result<()> {
    if let Some(last) = last
        && !is_acted_upon(spool, state, last)?
    {
        log::rewrite(&room.dir, last.from, state.end)?;
    }
    let mut barrier = Barrier::new(room.dir.clone());
    barrier.everything();
    if !can_sync_all() {
        collect_by_hand(room, spool, &mut barrier)?;
    }
    barrier.pass()
}

/// A batch has no effect before it is durable, so a moved claim or copy shows that it is durable.
fn is_acted_upon(spool: &Spool, state: &RoomState, last: LastBatch) -> Result<bool> {
    for open in state.open.range(last.seq..).map(|(_, open)| open) {
        if let Some(claim) = &open.claim
            && spool.claims.stat(claim)?.is_none()
        {
            return Ok(true);
        }
        for delivery in open.deliveries() {
            if !spool.is_staged(&delivery)? {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

// Adds all data that recovery reads to the barrier, on systems without a call that syncs a whole file system.
fn collect_by_hand(room: &Room, spool: &Spool, barrier: &mut Barrier) -> Result<()> {
    let log = room.dir.make(layout::LOG)?;
    let mut dirs = vec![log, spool.claims.clone(), spool.stage.clone()];
    for parent in [layout::INBOXES, layout::OUTBOXES] {
        let parent = room.dir.sub(parent)?;
        for entry in parent.list()? {
            dirs.extend(parent.sub(entry?.name).ok());
        }
    }
    for dir in &dirs[..3] {
        for entry in dir.list()? {
            let name = entry?.name;
            if let Ok(file) = dir.look(&name) {
                barrier.file(file, || dir.at(&name));
            }
        }
    }
    for dir in &dirs {
        barrier.dir(dir);
    }
    Ok(())
}

/// Rejects a log without its spool, and a spool without its log: a router would use old numbers for new messages.
fn reject_mixed_room(room: &Room, state: &RoomState) -> Result<()> {
    let id = room.id()?;
    if state.seq > 0 && id != state.room {
        return Err(Error::moved(
            format!(
                "{} says {}, and the log belongs to {}",
                room.dir.at(layout::ROOM_ID).display(),
                id.as_deref().unwrap_or("nothing"),
                state.room.as_deref().unwrap_or("no room"),
            ),
            "put spool/ and log/ of one room together again; nothing was changed",
        ));
    }
    // A new segment of that name would hide the archived one.
    if state.seq > 0
        && room
            .dir
            .stat(layout::live_segment(state.end.segment))?
            .is_none()
    {
        return Err(Error::moved(
            format!(
                "the log's newest segment, {}, is gone",
                room.dir
                    .at(layout::live_segment(state.end.segment))
                    .display()
            ),
            "put it back; the archive alone is not the log; nothing was changed",
        ));
    }
    Ok(())
}

/// Removes staged files without an open record, which were never committed. A file is quarantined if it had a claim
/// and the claim is missing.
fn clear_stage(spool: &Spool, state: &RoomState) -> Result<()> {
    let claims: HashSet<u64> = spool
        .claimed()?
        .iter()
        .filter_map(|name| layout::read_claim(name))
        .map(|claim| claim.number)
        .collect();
    let awaited: HashSet<String> = state
        .open
        .values()
        .flat_map(OpenRecord::deliveries)
        .map(|delivery| delivery.staged)
        .collect();
    for name in spool.staged()? {
        if awaited.contains(&name) {
            continue;
        }
        match layout::read_staged(&name) {
            Some((_, claim)) if claim == 0 || claims.contains(&claim) => {
                spool.stage.remove(&name)?
            }
            _ => {
                tracing::warn!(
                    name,
                    "a staged file that no record explains was set aside in spool/quarantine"
                );
                spool.quarantine(&name)?;
            }
        }
    }
    Ok(())
}

impl Router {
    /// Recovers the room in the running router, after a batch failed. A call that failed once is tried again.
    pub(super) fn recover_here(&mut self) -> Result<()> {
        let room = self.config.room();
        let found = match restore(room) {
            Err(e) if e.class() == ErrorClass::Temporary => restore(room),
            found => found,
        };
        let RecoveredRoom { log, spool, state } = found?;
        self.storage = RouterStorage::new(self.config.dir(), spool);
        self.journal.restart(log, state);
        self.progress = DeliveryProgress::default();
        self.resume()?;
        self.reconcile(ReconcileCause::Recovery)
    }

    /// Compares the projections with the log. Projections without syncs may have lost data when the machine stopped,
    /// so the first recovery after a boot searches for holes.
    fn reconcile_all(&mut self) -> Result<()> {
        let spool = self.config.dir().sub(layout::SPOOL)?;
        if !is_first_after_boot(&spool) {
            return self.reconcile(ReconcileCause::Recovery);
        }
        self.reconcile(ReconcileCause::Holes)?;
        let boot = machine::boot().unwrap_or_default();
        if let Err(e) = spool.show(layout::BOOT, boot.as_bytes()) {
            tracing::debug!("{e}; the next recovery looks for holes again");
        }
        Ok(())
    }

    /// Delivers and retires committed records, and queues the claims without a record.
    fn resume(&mut self) -> Result<()> {
        let state = self.journal.state();
        let recorded: HashSet<&str> = state
            .open
            .values()
            .filter_map(|open| open.claim.as_deref())
            .collect();
        for name in self.storage.claimed()? {
            self.intake
                .number_is_used(layout::read_claim(&name).map_or(0, |claim| claim.number));
            if !recorded.contains(name.as_str()) && !self.pending.is_delayed(&claim_item(&name)) {
                self.intake.queue_claims([name]);
            }
        }
        let open: Vec<u64> = state.open.keys().copied().collect();
        if !open.is_empty() {
            tracing::debug!(open = open.len(), "records to be settled");
        }
        for batch in open.chunks(limits::BATCH_MESSAGES) {
            let committed = CommittedBatch::again(self.journal.state(), batch.iter().copied());
            self.complete(committed)?;
        }
        Ok(())
    }
}

/// Returns true if no recovery has completed since the machine started.
fn is_first_after_boot(spool: &Dir) -> bool {
    let known = spool.read(layout::BOOT, limits::NOTE_BYTES).ok().flatten();
    known.is_none_or(|known| known != machine::boot().unwrap_or_default().as_bytes())
}

/// The time of the room's file system: the change time of a file that was written just now.
pub fn file_system_time(room: &Room) -> Result<i128> {
    let dir = room.dir.sub(layout::SPOOL)?;
    let name = layout::clock_file();
    dir.remove(&name)?;
    let made = dir.create(&name, b"")?;
    let time = made.meta().doing_in("look at", dir.path(), &name)?.changed;
    dir.remove(&name)?;
    Ok(time)
}
