//! Recovery from any state that a kill or a power cut leaves on disk. It enters the steps in the middle.

mod boot;
pub mod evidence;
mod gap;
mod leftovers;
mod twice_named;

pub use boot::note_failed_sync;
pub use gap::{LogLoss, accept_gap, find_loss};

use crate::base::error::{Error, ErrorContext, Result};
use crate::base::limits;
use crate::base::test_sizes;
use crate::disk::{Barrier, can_sync_all, layout};
use crate::log;
use crate::log::Log;
use crate::log::state::{self, OpenRecord, ReplayedLog, RoomState};
use crate::room::outbox::UnreadyFiles;
use crate::room::spool::Spool;
use crate::room::{Room, RoomTurn, RouterLock};
use crate::router::parts::{DeliveryProgress, RouterStorage, claim_item};
use crate::router::projections::ReconcileCause;
use crate::router::steps::commit::CommittedBatch;
use crate::router::{RecoveredRoom, Router, can_recover, temporary};
use rustix::fs::FileType;
use std::collections::HashSet;

/// Recovers the room, so that only new mail is left to route.
///
/// Committed messages are delivered. Staged files without a record are removed: their claims still exist and are read
/// again. An incomplete last batch has no effect and is cut off. All reasons to reject a room are checked before the
/// first change.
pub fn recover(room: Room, lock: RouterLock, patience: UnreadyFiles) -> Result<Router> {
    let turn = RoomTurn::new(&room.dir, lock.patience())?;
    let cache = if boot::has_ended_cleanly(&room.dir) {
        SystemCache::Trusted
    } else {
        SystemCache::Distrusted
    };
    let found = restore(&room, cache)?;
    let mut router = Router::new(room, lock, turn, patience, found)?;
    router.resume(cache)?;
    Ok(router)
}

/// Whether the bytes that this process reads are on the disk after the next sync.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SystemCache {
    /// The last router ended cleanly in this boot.
    Trusted,
    /// A sync may have failed: then the cache has bytes that no sync writes to the disk. Or the machine stopped: then
    /// files that are never synced may have holes, and copies may have two names.
    Distrusted,
}

/// Reads the log, and brings the spool to the same point.
fn restore(room: &Room, cache: SystemCache) -> Result<RecoveredRoom> {
    let spool = Spool::open(&room.dir)?;
    let replayed = replay(room)?;
    evidence::check(&room.dir, &replayed)?;
    boot::note_start(&room.dir)?;
    let ReplayedLog {
        mut state,
        damage,
        read,
    } = replayed;
    make_durable(room, &spool)?;
    if cache == SystemCache::Distrusted || damage.is_some() {
        log::renew(&room.dir, state.end)?;
    }
    if let Err(e) = check_place(room) {
        tracing::warn!("{}", temporary(e)?);
    }
    clear_stage(&spool, &state)?;
    leftovers::remove_leftovers(room)?;
    twice_named::finish(&room.dir, &spool, &state)?;
    if cache == SystemCache::Distrusted {
        twice_named::finish_moves_of_recipients(&room.dir, &state)?;
    }
    let mut unsaved = read;
    if state.index.is_due(state.end) || is_worth_a_snapshot(room, read)? {
        match state.save(&room.dir) {
            Ok(_) => unsaved = 0,
            // Without a snapshot, the next start only reads the same part of the log again.
            Err(e) => tracing::warn!("{}", temporary(e)?),
        }
    }
    let log = Log::open(&room.dir, state.tip())?;
    log.write_tip();
    Ok(RecoveredRoom {
        log,
        spool,
        state,
        unsaved,
    })
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

/// Makes the data that recovery read durable. It may be in memory only, and a power cut would repeat its effects. This is
/// not enough for the last batch of the log if its sync has failed.
fn make_durable(room: &Room, spool: &Spool) -> Result<()> {
    let mut barrier = Barrier::new(room.dir.clone());
    barrier.everything();
    if !can_sync_all() {
        collect_by_hand(room, spool, &mut barrier)?;
    }
    barrier.pass()
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

/// Removes staged files without an open record: their batch was not committed, or all its effects are done.
fn clear_stage(spool: &Spool, state: &RoomState) -> Result<()> {
    let awaited: HashSet<String> = state
        .open
        .values()
        .flat_map(OpenRecord::deliveries)
        .map(|delivery| delivery.staged)
        .collect();
    for name in spool.staged()? {
        if !awaited.contains(&name) {
            spool.stage.remove(&name)?;
        }
    }
    Ok(())
}

impl Router {
    /// Drops the state, and reads the room again after a batch failed. A call that failed once is tried again: a sync
    /// also reports the failure of an earlier one. Returns true if the log has the batch.
    pub(super) fn restore_here(&mut self, cache: SystemCache) -> Result<bool> {
        let room = self.config.room();
        let found = match restore(room, cache) {
            Err(e) if can_recover(&e) => restore(room, SystemCache::Distrusted),
            found => found,
        };
        let RecoveredRoom {
            log,
            spool,
            state,
            unsaved,
        } = found?;
        self.storage = RouterStorage::new(self.config.dir(), spool);
        self.progress = DeliveryProgress::default();
        Ok(self.journal.restart(log, state, unsaved))
    }

    /// Delivers and retires committed records, queues the remaining claims, and compares the projections with the log.
    pub(super) fn resume(&mut self, cache: SystemCache) -> Result<()> {
        let open: Vec<u64> = self.journal.state().open.keys().copied().collect();
        if !open.is_empty() {
            tracing::debug!(open = open.len(), "records to be settled");
        }
        for batch in open.chunks(limits::BATCH_MESSAGES) {
            let committed = CommittedBatch::again(self.journal.state(), batch.iter().copied());
            self.complete(committed)?;
        }
        // A complete record has no claim. If there is one, another program put it back.
        let open = self.journal.state().open.values();
        let awaited: HashSet<&str> = open
            .filter(|open| self.progress.is_stuck(open.seq))
            .filter_map(|open| open.claim.as_deref())
            .collect();
        for name in self.storage.claimed()? {
            self.intake
                .number_is_used(layout::read_claim(&name).map_or(0, |claim| claim.number));
            if !awaited.contains(name.as_str()) && !self.pending.is_delayed(&claim_item(&name)) {
                self.intake.queue_claims([name]);
            }
        }
        self.reconcile(match cache {
            SystemCache::Trusted => ReconcileCause::Recovery,
            SystemCache::Distrusted => ReconcileCause::Holes,
        })
    }
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
