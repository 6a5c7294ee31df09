//! Inboxes: unread mail, the delivery of copies, and the moves of read copies.

mod renamed;

pub use renamed::pass_on;

use crate::base::clock::Stamp;
use crate::base::error::{Error, Result};
use crate::base::limits;
use crate::disk::{Barrier, Dir, LockFile, layout};
use crate::log::find;
use crate::log::state::{DeliveryDirectory, RoomState, StagedFile};
use crate::message::record::Record;
use rustix::fs::FileType;
use serde_json::Value;
use std::collections::{BTreeMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// The number of alternative names that are tried if the name of a file is already used.
const FURTHER_NAMES: u32 = 1000;

/// Delivers staged files to a directory of an agent by one rename each, never over another file. A copy that cannot be
/// moved stays staged, and is returned with the reason. The moves are durable at the next barrier.
pub fn deliver(
    room: &Dir,
    stage: &Dir,
    (place, agent): (DeliveryDirectory, &str),
    deliveries: Vec<StagedFile>,
    barrier: &mut Barrier,
) -> Result<Vec<(StagedFile, Error)>> {
    let directory = place.of(agent);
    let to = match room.make_with(&directory, barrier) {
        Ok(to) => to,
        Err(e) => return Ok(fail_rest(e, deliveries.into_iter())),
    };
    let mut failed = Vec::new();
    let mut rest = deliveries.into_iter();
    while let Some(delivery) = rest.next() {
        match stage.rename(&delivery.staged, &to, &*delivery.name, "deliver to") {
            Ok(()) => {}
            // If the copy is no longer staged, it was delivered before. Otherwise the target directory is missing.
            Err(e) if e.is_missing() && stage.stat(&delivery.staged)?.is_none() => {}
            Err(e) if e.errno() == Some(libc::EEXIST) => failed.push((delivery, e)),
            Err(e) => {
                failed.extend(fail_rest(e, std::iter::once(delivery).chain(rest)));
                break;
            }
        }
    }
    barrier.moved(stage, &to);
    Ok(failed)
}

/// Gives all remaining files of an agent's directory the error of one file, without another attempt.
fn fail_rest(e: Error, deliveries: impl Iterator<Item = StagedFile>) -> Vec<(StagedFile, Error)> {
    let what = e.to_string();
    let mut first = Some(e);
    let mut failed = Vec::new();
    for delivery in deliveries {
        let error = first
            .take()
            .unwrap_or_else(|| Error::busy(what.clone(), "the mail is kept and retried"));
        failed.push((delivery, error));
    }
    failed
}

/// The file name that the router gives to each copy of this record.
pub fn copy_name(record: &Record) -> String {
    let id = record.id().unwrap_or_default();
    layout::delivered(record.stamp(), record.sender(), id)
}

/// Returns true if a file in an agent's inbox is an unread copy. A reader can mark a message as read by giving the file another
/// name. The log is read only if the name can be such a name.
pub fn is_unread_copy(room: &Dir, state: &RoomState, agent: &str, name: &OsStr) -> bool {
    if !layout::is_mail_file(name) {
        return false;
    }
    let at = layout::read_delivered(name);
    let Some(seq) = at.and_then(|at| state.mailboxes.unread_at(agent, at)) else {
        return false;
    };
    if !layout::can_be_renamed(name) {
        return true;
    }
    let line = find::by_seq(room, seq).ok().flatten();
    let record = line.and_then(|line| line.record().ok());
    record.is_none_or(|record| *copy_name(&record) == *name)
}

/// The copy in this file of an agent's inbox, if the log has it as read: its reader moved it back. Returns its accept time
/// and its record. Skips a file that cannot be read.
pub fn moved_back(
    room: &Dir,
    state: &RoomState,
    agent: &str,
    name: &OsStr,
) -> Option<(Stamp, u64)> {
    let at = layout::read_delivered(name)?;
    if !layout::is_mail_file(name) || state.mailboxes.unread_at(agent, at).is_some() {
        return None;
    }
    let inbox = room.sub(layout::inbox(agent)).ok()?;
    let bytes = inbox.read(name, limits::MESSAGE_BYTES_MOST * 2).ok()??;
    let copy: Value = serde_json::from_slice(&bytes).ok()?;
    let seq = copy.pointer("/delivery/seq")?.as_u64()?;
    let record = find::record_by_seq(room, seq).ok()??;
    let is_recipient = record
        .copies()
        .any(|(to, _)| **state.holder(to, seq) == *agent);
    (is_recipient && *copy_name(&record) == *name).then_some((at, seq))
}

/// The names of an agent's unread mail that no program has taken, oldest first, like `ls inbox/<agent>/*.json`.
pub fn unread(room: &Dir, agent: &str) -> Result<Vec<OsString>> {
    newest(room, agent, usize::MAX).map(|(names, _)| names)
}

/// The names of the files that programs of an agent have moved into `taken/`, in no order.
pub fn taken(room: &Dir, agent: &str) -> Result<Vec<OsString>> {
    mail_in(room, &layout::taken(agent))
}

/// The names of mail in a directory, in no order. None if it does not exist.
fn mail_in(room: &Dir, place: &Path) -> Result<Vec<OsString>> {
    let mut names = Vec::new();
    let Some(dir) = room.sub_if_exists(place)? else {
        return Ok(names);
    };
    for entry in dir.list()? {
        let entry = entry?;
        if entry.kind != FileType::Directory && layout::is_mail_file(&entry.name) {
            names.push(entry.name);
        }
    }
    Ok(names)
}

/// The names of an agent's unread mail in their order. Messages in `taken/` count as unread.
pub fn unread_with_taken(room: &Dir, agent: &str) -> Result<Vec<OsString>> {
    let mut names = unread(room, agent)?;
    names.extend(taken(room, agent)?);
    names.sort_unstable();
    Ok(names)
}

/// The newest names of an agent's unread mail, oldest first, and the total number.
pub fn newest(room: &Dir, agent: &str, most: usize) -> Result<(Vec<OsString>, usize)> {
    let mut names = mail_in(room, &layout::inbox(agent))?;
    names.sort_unstable();
    let count = names.len();
    Ok((names.split_off(count.saturating_sub(most)), count))
}

/// Moves a read message to `seen/`. If it no longer exists, another process moved it.
pub fn mark_seen(room: &Dir, agent: &str, name: &OsStr) -> Result<bool> {
    let seen = room.make_loose(layout::seen(agent))?;
    move_file(
        &room.sub(layout::inbox(agent))?,
        name,
        &seen,
        "mark as seen",
    )
}

/// Moves read messages to `seen/`. A message that cannot be moved does not stop the others; the error is returned at
/// the end.
pub fn mark_all_seen<'n>(
    room: &Dir,
    agent: &str,
    names: impl Iterator<Item = &'n OsStr>,
) -> Result<()> {
    let moved: Vec<Result<bool>> = names.map(|name| mark_seen(room, agent, name)).collect();
    moved.into_iter().try_for_each(|moved| moved.map(drop))
}

/// Marks the copy with this accept time as read, if it is unread.
pub fn mark_copy_seen(room: &Dir, agent: &str, at: Stamp) -> Result<bool> {
    match find(room, agent, at)? {
        Some(name) => mark_seen(room, agent, &name),
        None => Ok(false),
    }
}

/// Moves a file between two directories of an agent, never over another file. If the target name has the same content,
/// it is the same message, and the source is removed. If the content differs, the file gets an alternative name.
/// `false` if the file no longer exists.
fn move_file(from: &Dir, name: &OsStr, to: &Dir, verb: &'static str) -> Result<bool> {
    let mut new = name.to_owned();
    for n in 2.. {
        match from.rename(name, to, &new, verb) {
            Err(e) if e.is_missing() && from.stat(name)?.is_none() => {
                return Ok(false);
            }
            Err(e) if e.errno() == Some(libc::EEXIST) && n <= FURTHER_NAMES => {
                if is_same(from, name, to, &new) {
                    return from.remove(name).map(|()| true);
                }
                new = layout::further(name, n);
            }
            done => return done.map(|()| true),
        }
    }
    Ok(false)
}

/// Returns true if both files have the same content. Files that cannot be read do not count as equal.
fn is_same(one: &Dir, name: &OsStr, other: &Dir, new: &OsStr) -> bool {
    let most = limits::MESSAGE_BYTES_MOST * 2;
    match (one.read(name, most), other.read(new, most)) {
        (Ok(Some(one)), Ok(Some(other))) => one == other,
        _ => false,
    }
}

/// A lock on a message that is being shown. While it exists, [`hold`] returns this message to no other process. A kill
/// releases the lock.
#[derive(Debug)]
pub struct MessageLock {
    _lock: Option<LockFile>,
}

/// Locks an unread message before it is shown and marked as read. `None` if another process has it, or if it no longer
/// exists. On a file system without locks every caller succeeds.
pub fn hold(room: &Dir, agent: &str, name: &OsStr) -> Result<Option<MessageLock>> {
    let inbox = room.sub(layout::inbox(agent))?;
    let file = match inbox.look(name) {
        Err(e) if e.is_missing() => return Ok(None),
        Err(_) => return Ok(Some(MessageLock { _lock: None })),
        Ok(file) => LockFile::from(file),
    };
    match file.try_lock() {
        Ok(false) => return Ok(None),
        Err(_) => return Ok(Some(MessageLock { _lock: None })),
        Ok(true) => {}
    }
    // Another process may have moved the file after it was opened.
    let is_there =
        inbox.stat(name)?.map(|meta| meta.inode) == file.meta().ok().map(|meta| meta.inode);
    Ok(is_there.then_some(MessageLock { _lock: Some(file) }))
}

/// Creates the marker of an announced message, before the announcement. `false` if it exists: another process has
/// announced the message, or is announcing it.
pub fn announce(room: &Dir, agent: &str, name: &OsStr) -> Result<bool> {
    match room.make_loose(layout::announced(agent))?.create(name, b"") {
        Err(e) if e.errno() == Some(libc::EEXIST) => Ok(false),
        made => made.map(|_| true),
    }
}

/// Removes the marker after a failed announcement.
pub fn unannounce(room: &Dir, agent: &str, name: &OsStr) -> Result<()> {
    room.sub(layout::announced(agent))?.remove(name)
}

/// The marker of an announced message.
pub struct AnnouncementMarker {
    /// The name of its file, which is the message's.
    pub name: OsString,
    /// The time of the announcement.
    pub at: Stamp,
}

/// The markers of announced messages, by the accept times of the messages.
pub fn announced_at(room: &Dir, agent: &str) -> Result<BTreeMap<Stamp, AnnouncementMarker>> {
    let mut found = BTreeMap::new();
    let Some(markers) = room.sub_if_exists(layout::announced(agent))? else {
        return Ok(found);
    };
    for entry in markers.list()? {
        let name = entry?.name;
        if let (Some(accepted), Some(marker)) =
            (layout::read_delivered(&name), markers.stat(&name)?)
        {
            let at = marker.modified_at();
            found.insert(accepted, AnnouncementMarker { name, at });
        }
    }
    Ok(found)
}

/// Returns true if the message was announced to the agent, or an announcement is in progress.
pub fn is_announced(room: &Dir, agent: &str, name: &OsStr) -> Result<bool> {
    match room.sub_if_exists(layout::announced(agent))? {
        Some(markers) => Ok(markers.stat(name)?.is_some()),
        None => Ok(false),
    }
}

/// Selects the messages with a complete or unfinished announcement to the agent.
pub fn announced(room: &Dir, agent: &str, names: &[OsString]) -> Result<HashSet<OsString>> {
    let Some(markers) = room.sub_if_exists(layout::announced(agent))? else {
        return Ok(HashSet::new());
    };
    let mut found = HashSet::new();
    for name in names {
        if markers.stat(name)?.is_some() {
            found.insert(name.clone());
        }
    }
    Ok(found)
}

/// The name of the copy with this accept time in an inbox, if it exists.
pub fn find(room: &Dir, agent: &str, at: Stamp) -> Result<Option<OsString>> {
    let names = unread(room, agent)?;
    Ok(names
        .into_iter()
        .find(|name| layout::read_delivered(name) == Some(at)))
}

/// Moves an unread message to another directory of its agent. If it no longer exists, its reader took it. Durable at the
/// next barrier.
pub fn move_unread(
    room: &Dir,
    agent: &str,
    name: &OsStr,
    place: &Path,
    barrier: &mut Barrier,
) -> Result<()> {
    let Some(inbox) = room.sub_if_exists(layout::inbox(agent))? else {
        return Ok(());
    };
    let to = room.make_with(place, barrier)?;
    move_file(&inbox, name, &to, "move the message to")?;
    barrier.moved(&inbox, &to);
    Ok(())
}
