//! The inboxes: what is unread in them, and how a copy gets in and a read one out.

use crate::disk::{Barrier, Dir};
use crate::error::Result;
use crate::fold::Delivery;
use crate::layout;
use rustix::fs::FileType;
use std::ffi::OsString;
use std::path::PathBuf;

/// Delivers staged files into one directory: one rename each, never over another file. A copy that can't be moved
/// stays staged, and is returned with the reason. Durable at the next barrier.
pub fn deliver(
    room: &Dir,
    stage: &Dir,
    directory: &PathBuf,
    deliveries: Vec<Delivery>,
    barrier: &mut Barrier,
) -> Vec<(Delivery, crate::error::Error)> {
    let open = || room.sub(directory).or_else(|_| room.make(directory));
    let to = match open() {
        Ok(to) => to,
        Err(first) => return fail_all(deliveries, first, || open().map(drop)),
    };
    let mut failed = Vec::new();
    for delivery in deliveries {
        if let Err(e) = stage.rename(&delivery.staged, &to, &delivery.name, "deliver to") {
            failed.push((delivery, e));
        }
    }
    barrier.dir(stage);
    barrier.dir(&to);
    failed
}

// An error can't be copied, so each further delivery asks again.
fn fail_all(
    deliveries: Vec<Delivery>,
    first: crate::error::Error,
    again: impl Fn() -> Result<()>,
) -> Vec<(Delivery, crate::error::Error)> {
    let mut first = Some(first);
    let mut error = || match first.take() {
        Some(e) => e,
        None => again().err().unwrap_or(crate::error::Error::Busy {
            what: "the inbox could not be opened a moment ago".into(),
            cure: "it is tried again".into(),
        }),
    };
    deliveries.into_iter().map(|delivery| (delivery, error())).collect()
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
                if entry.kind != FileType::Directory && layout::is_message_file(&entry.name) {
                    names.push(entry.name);
                }
            }
        }
    }
    names.sort_unstable();
    Ok(names)
}

/// Moves a read message to `seen/`. One that is gone was moved by somebody else.
pub fn mark_seen(room: &Dir, agent: &str, name: &std::ffi::OsStr) -> Result<bool> {
    let seen = room.make(layout::seen(agent))?;
    match room.sub(layout::inbox(agent))?.rename(name, &seen, name, "mark as seen") {
        Err(e) if e.errno() == Some(libc::ENOENT) => Ok(false),
        done => done.map(|()| true),
    }
}
