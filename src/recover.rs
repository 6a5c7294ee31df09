//! Recovery: the same ten steps, entered in the middle, from whatever a kill or a power cut left on disk.

use crate::disk::{Barrier, Dir};
use crate::error::{Doing, Error, Result};
use crate::fault::{self, Protection};
use crate::fold::{self, Damage, Fold, Replayed};
use crate::log::{self, Log};
use crate::outbox::Patience;
use crate::record::Record;
use crate::room::{Lock, Room};
use crate::route::{Committed, Router};
use crate::settings::Durability;
use crate::spool::Spool;
use crate::{layout, limits};
use std::collections::HashSet;
use std::path::Path;

/// Brings the room from any state that a crash can leave to one where only new mail is left to route.
///
/// What was committed is delivered; what was staged without a record goes, because its claim still stands and is read
/// again; a last batch that is not whole was never committed and is set aside.
pub fn recover(room: Room, lock: Lock, patience: Patience) -> Result<Router> {
    let settings = room.settings()?;
    let spool = Spool::open(&room.dir)?;
    if settings.durability == Durability::Power && fault::on(Protection::RecoveryBarrier) {
        make_durable(&room, &spool)?;
    }
    let Replayed { fold, damage, read } = fold::replay(&room.dir)?;
    if let Some(damage) = &damage {
        refuse_to_set_aside_what_was_committed(&room.dir, damage)?;
        set_aside(&room.dir, damage)?;
    }
    refuse_a_strange_room(&room, &fold)?;
    clear_stage(&spool, &fold)?;
    if read > limits::CHECKPOINT_BYTES / 16 && damage.is_none() {
        // It is a cache: without room for it the next start reads as much again.
        fold.save(&room.dir).or_else(|e| crate::route::temporary(e).map(|e| tracing::warn!("{e}")))?;
    }
    let log = Log::open(&room.dir, fold.end)?;
    let mut router = Router::new(room, lock, log, spool, fold, patience)?;
    take_up(&mut router)?;
    router.look_at_channels();
    Ok(router)
}

/// What is about to be read may be in memory only: acted upon and then lost in a power cut, it would be acted upon
/// twice.
fn make_durable(room: &Room, spool: &Spool) -> Result<()> {
    let mut barrier = Barrier::new(Durability::Power, room.dir.clone());
    barrier.everything();
    if cfg!(not(target_os = "linux")) {
        collect_by_hand(room, spool, &mut barrier)?;
    }
    barrier.pass()
}

// Where no call syncs a whole file system: everything that recovery reads, one by one.
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
    dirs.iter().for_each(|dir| barrier.dir(dir));
    Ok(())
}

/// A batch that was never committed has all its claims: they are durable before it is written. If one is gone, the
/// batch was committed, and it is somebody's edit that damaged it.
pub fn refuse_to_set_aside_what_was_committed(room: &Dir, damage: &Damage) -> Result<()> {
    let claims = room.sub(layout::CLAIM)?;
    for line in log::read(room, damage.from)? {
        let line = line?;
        let Ok(record) = serde_json::from_slice::<Record>(&line.bytes) else { continue };
        let Some(claim) = record.claim else { continue };
        if claims.stat(&claim)?.is_none() {
            return Err(Error::State {
                path: log::path(room, line.at.segment),
                line: None,
                what: format!("damaged at byte {}, in a batch that was committed: {}", damage.from.offset, damage.what),
                cure: "restore the segment from a copy, or mend the line; nothing was changed".into(),
            });
        }
    }
    Ok(())
}

/// Copies what stands behind the last whole batch into the quarantine, and cuts it off the log.
fn set_aside(room: &Dir, damage: &Damage) -> Result<()> {
    let quarantine = room.make(layout::QUARANTINE)?;
    let logs = room.make(layout::LOG)?;
    let mut tail = Vec::new();
    for line in log::read(room, damage.from)? {
        tail.extend(line?.bytes);
    }
    let name = format!("log-{}-{}-{}", damage.from.segment, damage.from.offset, crate::id::mint());
    // A kill in the middle of it leaves the log as it is: the next recovery comes here again, and uses the same name.
    quarantine.replace_by(Path::new(&name), Path::new(layout::QUARANTINE_DRAFT), &tail)?;
    tracing::warn!("{}; set aside {} bytes of the log as {}", damage.what, tail.len(), quarantine.at(&name).display());
    for segment in log::live(room)?.into_iter().filter(|&number| number > damage.from.segment) {
        logs.remove(layout::segment(segment))?;
    }
    drop(Log::open(room, damage.from)?);
    logs.sync()
}

/// A log without its spool, or a spool without its log, is somebody's half-removed room: going on would number
/// messages anew over old ones.
fn refuse_a_strange_room(room: &Room, fold: &Fold) -> Result<()> {
    let id = room.id()?;
    if fold.seq > 0 && id != fold.room {
        return Err(Error::Moved {
            what: format!(
                "{} says {}, and the log belongs to {}",
                room.dir.at(layout::ROOM_ID).display(),
                id.as_deref().unwrap_or("nothing"),
                fold.room.as_deref().unwrap_or("no room"),
            ),
            cure: "put spool/ and log/ of one room together again; nothing was changed".into(),
        });
    }
    // A new file of that name would begin the segment anew, and hide the archived one.
    if fold.seq > 0 && room.dir.stat(layout::live_segment(fold.end.segment))?.is_none() {
        return Err(Error::Moved {
            what: format!(
                "the log's newest segment, {}, is gone",
                room.dir.at(layout::live_segment(fold.end.segment)).display()
            ),
            cure: "put it back; the archive alone is not the log; nothing was changed".into(),
        });
    }
    if fold.seq == 0 && (has_retired(&room.dir.make(layout::SENT)?)? || has_retired(&room.dir.make(layout::REJECTED)?)?)
    {
        return Err(Error::Moved {
            what: format!("{} is empty, but messages were routed here", room.dir.at(layout::LOG).display()),
            cure: "put the log back, or make a new room; nothing was changed".into(),
        });
    }
    Ok(())
}

// A harness may have made the directories; only a router makes these names.
fn has_retired(dir: &Dir) -> Result<bool> {
    for agent in dir.list()? {
        let Ok(kept) = dir.sub(agent?.name).and_then(|dir| dir.list()) else { continue };
        for entry in kept {
            let Ok(entry) = entry else { break };
            if entry.name.to_str().is_some_and(|name| layout::read_retired(name).is_some()) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// A staged file without an open record was never committed: it goes if its claim stands or it had none, and is kept
/// aside otherwise.
fn clear_stage(spool: &Spool, fold: &Fold) -> Result<()> {
    let claims: HashSet<u64> =
        spool.claimed()?.iter().filter_map(|name| layout::read_claim(name)).map(|claim| claim.number).collect();
    let awaited: HashSet<String> =
        fold.open.values().flat_map(|open| open.deliveries()).map(|delivery| delivery.staged).collect();
    for name in spool.staged()? {
        if awaited.contains(&name) {
            continue;
        }
        match layout::read_staged(&name) {
            Some((_, claim)) if claim == 0 || claims.contains(&claim) => spool.stage.remove(&name)?,
            _ => {
                tracing::warn!(name, "a staged file that no record explains was set aside in spool/quarantine");
                spool.quarantine(&name)?;
            }
        }
    }
    Ok(())
}

/// Delivers and retires what was committed, and queues the claims that have no record to be read again.
fn take_up(router: &mut Router) -> Result<()> {
    let recorded: HashSet<&str> = router.fold.open.values().filter_map(|open| open.claim.as_deref()).collect();
    let mut unread = Vec::new();
    for name in router.spool.claimed()? {
        let number = layout::read_claim(&name).map_or(0, |claim| claim.number);
        router.next_claim = router.next_claim.max(number + 1);
        if !recorded.contains(name.as_str()) || router.fold.goes_on_behind(&name).is_some() {
            unread.push(name);
        }
    }
    router.claims.extend(unread);
    let open: Vec<u64> = router.fold.open.keys().copied().collect();
    if !open.is_empty() {
        tracing::debug!(open = open.len(), "records to be settled");
    }
    for batch in open.chunks(limits::BATCH_MESSAGES) {
        router.take_up(batch.to_vec())?;
    }
    Ok(())
}

impl Router {
    fn take_up(&mut self, seqs: Vec<u64>) -> Result<()> {
        let delivered = self.deliver(Committed::again(seqs))?;
        let projected = self.project(delivered)?;
        self.retire(projected).map(drop)
    }
}

/// The change time of a file just written in the room: what its file system's clock says.
pub fn file_system_time(room: &Room) -> Result<i128> {
    let dir = room.dir.sub(layout::SPOOL)?;
    let name = format!(".clock.{}", std::process::id());
    dir.remove(&name)?;
    let made = dir.create(&name, b"")?;
    let time = crate::disk::file_meta(&made).doing("look at", dir.at(&name))?.changed;
    dir.remove(&name)?;
    Ok(time)
}
