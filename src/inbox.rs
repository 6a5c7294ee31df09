//! The inboxes: what is unread in them, and how a copy gets in and a read one out.

pub mod taken;

use crate::clock::Stamp;
use crate::disk::{Barrier, Dir};
use crate::error::{Class, Error, Result};
use crate::fault::{self, Protection};
use crate::fold::{Delivery, Place};
use crate::layout;
use rustix::fs::FileType;
use std::collections::HashSet;
use std::ffi::{OsStr, OsString};

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
        Err(e) => return fail_rest(e, deliveries.into_iter()),
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
                failed.extend(fail_rest(e, std::iter::once(delivery).chain(rest))?);
                break;
            }
        }
    }
    if fault::on(Protection::SettledBarrier) {
        barrier.dir(stage);
        barrier.dir(&to);
    }
    Ok(failed)
}

// What keeps one file out of a directory keeps the others out too; each gets the reason without being tried.
fn fail_rest(e: Error, deliveries: impl Iterator<Item = Delivery>) -> Result<Vec<(Delivery, Error)>> {
    if e.class() != Class::Temporary {
        return Err(e);
    }
    let what = e.to_string();
    let mut first = Some(e);
    let again = || Error::Busy { what: what.clone(), cure: "the mail waits and is tried again".into() };
    Ok(deliveries.map(|delivery| (delivery, first.take().unwrap_or_else(again))).collect())
}

/// The names of an agent's unread mail, oldest first: what it would find by `ls inbox/<agent>/*.json`.
pub fn unread(room: &Dir, agent: &str) -> Result<Vec<OsString>> {
    let mut names = Vec::new();
    match room.sub(layout::inbox(agent)) {
        Err(e) if e.errno() == Some(libc::ENOENT) => return Ok(names),
        Err(e) => return Err(e),
        Ok(dir) => {
            for entry in dir.list()? {
                let entry = entry?;
                if entry.kind != FileType::Directory && layout::is_mail_file(&entry.name) {
                    names.push(entry.name);
                }
            }
        }
    }
    names.sort_unstable();
    Ok(names)
}

/// Moves a read message to `seen/`. One that is gone was moved by somebody else.
pub fn mark_seen(room: &Dir, agent: &str, name: &OsStr) -> Result<bool> {
    let seen = room.make(layout::seen(agent))?;
    match room.sub(layout::inbox(agent))?.rename(name, &seen, name, "mark as seen") {
        Err(e) if e.errno() == Some(libc::ENOENT) => Ok(false),
        done => done.map(|()| true),
    }
}

/// Makes the marker that says that an agent was told of a message: before it is told, by whoever tells. `false` if
/// somebody has told, or is just telling.
pub fn announce(room: &Dir, agent: &str, name: &OsStr) -> Result<bool> {
    match room.make(layout::announced(agent))?.create(name, b"") {
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

/// The names of the messages that an agent was, or is being, told of.
pub fn announced(room: &Dir, agent: &str) -> Result<HashSet<OsString>> {
    match room.sub(layout::announced(agent)) {
        Err(e) if e.errno() == Some(libc::ENOENT) => Ok(HashSet::new()),
        Err(e) => Err(e),
        Ok(markers) => markers.list()?.map(|entry| Ok(entry?.name)).collect(),
    }
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
    match inbox.rename(name, &expired, name, "set aside as") {
        Err(e) if e.errno() == Some(libc::ENOENT) => {}
        done => done?,
    }
    barrier.dir(&inbox);
    barrier.dir(&expired);
    Ok(())
}
