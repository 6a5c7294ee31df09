//! The inboxes: what is unread in them, and how a copy gets in and a read one out.

pub mod taken;

use crate::base::clock::Stamp;
use crate::base::error::{Error, Result};
use crate::base::limits;
use crate::disk::failpoint::{self, Protection};
use crate::disk::{Barrier, Dir, file_meta, layout};
use crate::log::state::{Delivery, Place};
use rustix::fs::FileType;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};
use std::ffi::{OsStr, OsString};
use std::fs::{File, TryLockError};

/// Delivers staged files into one directory of an agent: one rename each, never over another file. A copy that can't
/// be moved stays staged, and is returned with the reason. Durable at the next barrier.
pub fn deliver(
    room: &Dir,
    stage: &Dir,
    (place, agent): (Place, &str),
    deliveries: Vec<Delivery>,
    barrier: &mut Barrier,
) -> Result<Vec<(Delivery, Error)>> {
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
            // The copy is gone from the stage: it was delivered before. If it is not gone, the directory is.
            Err(e) if e.errno() == Some(libc::ENOENT) && stage.stat(&delivery.staged)?.is_none() => {}
            Err(e) if e.errno() == Some(libc::EEXIST) => failed.push((delivery, e)),
            Err(e) => {
                failed.extend(fail_rest(e, std::iter::once(delivery).chain(rest)));
                break;
            }
        }
    }
    if failpoint::on(Protection::SettledBarrier) {
        barrier.moved(stage, &to);
    }
    Ok(failed)
}

// What keeps one file out of a directory keeps the others out too; each gets the reason without being tried. Whatever it
// is, it is wrong with this agent's directory alone.
fn fail_rest(e: Error, deliveries: impl Iterator<Item = Delivery>) -> Vec<(Delivery, Error)> {
    let what = e.to_string();
    let mut first = Some(e);
    let again = || Error::Busy { what: what.clone(), cure: "the mail waits and is tried again".into() };
    deliveries.map(|delivery| (delivery, first.take().unwrap_or_else(again))).collect()
}

/// The names of an agent's unread mail, oldest first: what it would find by `ls inbox/<agent>/*.json`.
pub fn unread(room: &Dir, agent: &str) -> Result<Vec<OsString>> {
    newest(room, agent, usize::MAX).map(|(names, _)| names)
}

/// The newest names of an agent's unread mail, oldest first, and how many there are in all. Costs no more memory than
/// what is asked for.
pub fn newest(room: &Dir, agent: &str, most: usize) -> Result<(Vec<OsString>, usize)> {
    let (mut newest, mut count) = (BinaryHeap::new(), 0);
    let dir = match room.sub(layout::inbox(agent)) {
        Err(e) if e.errno() == Some(libc::ENOENT) => return Ok((Vec::new(), 0)),
        dir => dir?,
    };
    for entry in dir.list()? {
        let entry = entry?;
        if entry.kind == FileType::Directory || !layout::is_mail_file(&entry.name) {
            continue;
        }
        count += 1;
        newest.push(Reverse(entry.name));
        if newest.len() > most {
            newest.pop();
        }
    }
    let mut names: Vec<OsString> = newest.into_iter().map(|Reverse(name)| name).collect();
    names.sort_unstable();
    Ok((names, count))
}

/// Moves a read message to `seen/`. One that is gone was moved by somebody else.
pub fn mark_seen(room: &Dir, agent: &str, name: &OsStr) -> Result<bool> {
    let seen = room.make_loose(layout::seen(agent))?;
    set_down(&room.sub(layout::inbox(agent))?, name, &seen, "mark as seen")
}

/// Moves read messages to `seen/`. One that can't be moved keeps no other from it, and is told at the end.
pub fn mark_all_seen<'n>(room: &Dir, agent: &str, names: impl Iterator<Item = &'n OsStr>) -> Result<()> {
    let moved: Vec<Result<bool>> = names.map(|name| mark_seen(room, agent, name)).collect();
    moved.into_iter().try_for_each(|moved| moved.map(drop))
}

/// Marks the copy of a message as read that was accepted at this instant, if it is unread.
pub fn mark_copy_seen(room: &Dir, agent: &str, at: Stamp) -> Result<bool> {
    match find(room, agent, at)? {
        Some(name) => mark_seen(room, agent, &name),
        None => Ok(false),
    }
}

/// Moves a file from one directory of an agent to another, never over a file. Where the name is taken there by the same
/// bytes, it is the same message, and one of the two goes; other bytes stay, and the file gets a further name. `false` if
/// the file is gone.
fn set_down(from: &Dir, name: &OsStr, to: &Dir, verb: &'static str) -> Result<bool> {
    let mut new = name.to_owned();
    for n in 2.. {
        match from.rename(name, to, &new, verb) {
            Err(e) if e.errno() == Some(libc::ENOENT) && from.stat(name)?.is_none() => return Ok(false),
            Err(e) if e.errno() == Some(libc::EEXIST) && n <= limits::FURTHER_NAMES => {
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

// What can't be read is not known to be the same.
fn is_same(one: &Dir, name: &OsStr, other: &Dir, new: &OsStr) -> bool {
    let bytes = |dir: &Dir, name: &OsStr| dir.read(name, limits::MESSAGE_BYTES_MOST * 2).ok().flatten();
    bytes(one, name).is_some_and(|bytes_of_one| bytes(other, new) == Some(bytes_of_one))
}

/// A message that is being shown. As long as this lives, [`hold`] gives it to nobody else; a kill ends that, too.
#[derive(Debug)]
pub struct Held {
    _lock: Option<File>,
}

/// Holds an unread message for whoever is going to show it and mark it as read; `None` if somebody else has it, or it is
/// gone. Where a file can't be locked, it is held by everybody who asks.
pub fn hold(room: &Dir, agent: &str, name: &OsStr) -> Result<Option<Held>> {
    let inbox = room.sub(layout::inbox(agent))?;
    let file = match inbox.look(name) {
        Err(e) if e.errno() == Some(libc::ENOENT) => return Ok(None),
        Err(_) => return Ok(Some(Held { _lock: None })),
        Ok(file) => file,
    };
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => return Ok(None),
        Err(TryLockError::Error(_)) => return Ok(Some(Held { _lock: None })),
        Ok(()) => {}
    }
    // Whoever had it before may have moved it since it was opened.
    let is_there = inbox.stat(name)?.map(|meta| meta.inode) == file_meta(&file).ok().map(|meta| meta.inode);
    Ok(is_there.then_some(Held { _lock: Some(file) }))
}

/// Makes the marker that says that an agent was told of a message: before it is told, by whoever tells. `false` if
/// somebody has told, or is just telling.
pub fn announce(room: &Dir, agent: &str, name: &OsStr) -> Result<bool> {
    match room.make_loose(layout::announced(agent))?.create(name, b"") {
        Err(e) if e.errno() == Some(libc::EEXIST) => Ok(false),
        made => made.map(|_| true),
    }
}

/// Takes the marker back, because the telling failed.
pub fn unannounce(room: &Dir, agent: &str, name: &OsStr) -> Result<()> {
    room.sub(layout::announced(agent))?.remove(name)
}

/// Was, or is, an agent told of a message?
pub fn is_announced(room: &Dir, agent: &str, name: &OsStr) -> Result<bool> {
    match room.sub(layout::announced(agent)) {
        Err(e) if e.errno() == Some(libc::ENOENT) => Ok(false),
        markers => Ok(markers?.stat(name)?.is_some()),
    }
}

/// Which of these messages an agent was, or is being, told of.
pub fn announced(room: &Dir, agent: &str, names: &[OsString]) -> Result<HashSet<OsString>> {
    let markers = match room.sub(layout::announced(agent)) {
        Err(e) if e.errno() == Some(libc::ENOENT) => return Ok(HashSet::new()),
        markers => markers?,
    };
    let mut told = HashSet::new();
    for name in names {
        told.extend(markers.stat(name)?.map(|_| name.clone()));
    }
    Ok(told)
}

/// The name under which the copy accepted at this instant stands in an inbox, if it does.
pub fn find(room: &Dir, agent: &str, at: Stamp) -> Result<Option<OsString>> {
    let names = unread(room, agent)?;
    Ok(names.into_iter().find(|name| layout::read_delivered(name) == Some(at)))
}

/// Moves an unread message to `expired/`. One that is gone was taken by its reader. Durable at the next barrier.
pub fn expire(room: &Dir, agent: &str, name: &std::ffi::OsStr, barrier: &mut Barrier) -> Result<()> {
    let inbox = match room.sub(layout::inbox(agent)) {
        Err(e) if e.errno() == Some(libc::ENOENT) => return Ok(()),
        inbox => inbox?,
    };
    let expired = room.make_with(layout::expired(agent), barrier)?;
    set_down(&inbox, name, &expired, "set aside as")?;
    barrier.moved(&inbox, &expired);
    Ok(())
}
