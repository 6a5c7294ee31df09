//! A damaged end of the log: it is set aside, unless a file shows that it was committed.

use crate::base::error::{Error, Result};
use crate::base::limits;
use crate::disk::{Dir, layout};
use crate::log;
use crate::log::Log;
use crate::log::state::{Damage, State};
use crate::message::record::Record;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// All claims of an uncommitted batch exist, because they are durable before the batch is written. And it has no
/// effect: no retired original, no delivered copy. If a claim is missing or an effect exists, the batch was committed,
/// and the damage came later.
pub fn refuse_to_set_aside_what_was_committed(room: &Dir, state: &State, damage: &Damage) -> Result<()> {
    let claims = room.sub(layout::CLAIM)?;
    for line in log::read(room, damage.from)? {
        let line = line?;
        let Ok(record) = serde_json::from_slice::<Record>(&line.bytes) else { continue };
        let Some(claim) = record.claim else { continue };
        if claims.stat(&claim)?.is_none() {
            return Err(refused(room, damage, "restore the segment from a copy, or repair the line"));
        }
    }
    match find_effect(room, state)? {
        Some(effect) => {
            let effect = room.at(effect);
            let cure = format!(
                "{} follows from it: restore the segment from a copy, or, to continue without the records of that batch, \
                 first move that file out of the room",
                effect.display()
            );
            Err(refused(room, damage, &cure))
        }
        None => Ok(()),
    }
}

fn refused(room: &Dir, damage: &Damage, cure: &str) -> Error {
    Error::State {
        path: log::path(room, damage.from.segment),
        line: None,
        what: format!("damaged at byte {}, in a batch that was committed: {}", damage.from.offset, damage.what),
        cure: format!("{cure}; nothing was changed"),
    }
}

/// The retired original with the highest number, and that number.
pub fn last_retired(room: &Dir) -> Result<Option<(u64, PathBuf)>> {
    let mut last: Option<(u64, PathBuf)> = None;
    let kept = [(layout::SENT, layout::sent as fn(&str) -> PathBuf), (layout::REJECTED, layout::rejected)];
    for (parent, of) in kept {
        for agent in agents(room, parent)? {
            let place = of(&agent);
            let Ok(dir) = room.sub(&place) else { continue };
            for entry in dir.list()? {
                let name = entry?.name;
                let seq = name.to_str().and_then(layout::read_retired);
                if let Some(seq) = seq.filter(|seq| last.as_ref().is_none_or(|(most, _)| seq > most)) {
                    last = Some((seq, layout::below(&place, &name)));
                }
            }
        }
    }
    Ok(last)
}

/// A file that follows from a record after the last complete batch, relative to the room.
fn find_effect(room: &Dir, state: &State) -> Result<Option<PathBuf>> {
    if let Some((_, path)) = last_retired(room)?.filter(|(seq, _)| *seq > state.seq) {
        return Ok(Some(path));
    }
    let us = rustix::process::geteuid().as_raw();
    let is_later = |dir: &Dir, name: &str| {
        let at = layout::read_delivered(name.as_ref());
        at.is_some_and(|at| at > state.at) && is_copy_behind(dir, name, state.seq, us)
    };
    for agent in agents(room, layout::INBOXES)? {
        for place in [layout::inbox(&agent), layout::seen(&agent), layout::taken(&agent)] {
            if let Some(found) = find(room, place, &is_later)? {
                return Ok(Some(found));
            }
        }
    }
    Ok(None)
}

// A copy belongs to the router's user. A file that an agent of another user puts into its inbox must not stop the
// router.
fn is_copy_behind(dir: &Dir, name: &str, seq: u64, us: u32) -> bool {
    let is_ours = dir.stat(name).ok().flatten().is_some_and(|meta| meta.uid == us);
    let bytes = dir.read(name, limits::MESSAGE_BYTES_MOST * 2).ok().flatten().filter(|_| is_ours);
    let copy = bytes.and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
    copy.and_then(|copy| copy.pointer("/delivery/seq")?.as_u64()).is_some_and(|number| number > seq)
}

fn agents(room: &Dir, parent: &str) -> Result<Vec<String>> {
    match room.sub(parent) {
        Err(e) if e.errno() == Some(libc::ENOENT) => Ok(Vec::new()),
        Err(e) => Err(e),
        Ok(parent) => {
            let names = parent.list()?.map(|entry| entry.map(|entry| entry.name.into_string().ok()));
            names.filter_map(Result::transpose).collect()
        }
    }
}

fn find(room: &Dir, place: PathBuf, is_it: &dyn Fn(&Dir, &str) -> bool) -> Result<Option<PathBuf>> {
    let Ok(dir) = room.sub(&place) else { return Ok(None) };
    for entry in dir.list()? {
        let name = entry?.name;
        if name.to_str().is_some_and(|name| is_it(&dir, name)) {
            return Ok(Some(layout::below(&place, &name)));
        }
    }
    Ok(None)
}

/// Copies everything after the last complete batch into the quarantine, and cuts it off the log.
pub(super) fn set_aside(room: &Dir, damage: &Damage) -> Result<()> {
    let quarantine = room.make(layout::QUARANTINE)?;
    let logs = room.make(layout::LOG)?;
    let mut tail = Vec::new();
    for line in log::read(room, damage.from)? {
        tail.extend(line?.bytes);
    }
    let name = format!("log-{}-{}-{}", damage.from.segment, damage.from.offset, crate::message::id::mint());
    // A kill before the cut leaves the log as it is: the next recovery does the same again.
    quarantine.replace_by(Path::new(&name), Path::new(layout::QUARANTINE_DRAFT), &tail)?;
    tracing::warn!("{}; set aside {} bytes of the log as {}", damage.what, tail.len(), quarantine.at(&name).display());
    for segment in log::live(room)?.into_iter().filter(|&number| number > damage.from.segment) {
        logs.remove(layout::segment(segment))?;
    }
    drop(Log::open(room, damage.from)?);
    logs.sync()
}
