//! The unread mail of an agent that has another name now.

use super::{announce, hold, is_announced, move_file, unannounce};
use crate::base::clock::Stamp;
use crate::base::error::{Error, Result};
use crate::disk::{Barrier, Dir, layout};
use crate::log::state::RenamedAgent;
use std::ffi::OsString;

/// Moves the unread copies that arrived until a time, even if they are in `taken/`, with their markers to their new agent. If
/// that agent has its own copy of a message, the other copy is moved aside. After a kill, a second call moves the rest.
/// The moves are durable at the next barrier.
pub fn pass_on(
    room: &Dir,
    renamed: &RenamedAgent,
    until: Stamp,
    barrier: &mut Barrier,
) -> Result<()> {
    let RenamedAgent { of, to, .. } = renamed;
    for (from, into) in [
        (layout::inbox(of), layout::inbox(to)),
        (layout::taken(of), layout::taken(to)),
    ] {
        let is_inbox = from == layout::inbox(of);
        let from = match room.sub(&from) {
            Err(e) if [Some(libc::ENOENT), Some(libc::ENOTDIR)].contains(&e.errno()) => continue,
            from => from?,
        };
        let names = until_then(&from, until)?;
        if names.is_empty() {
            continue;
        }
        let (into, aside) = (
            room.make_with(&into, barrier)?,
            room.make_loose(layout::seen(of))?,
        );
        for (at, name) in names {
            // A process that shows the message marks it as read, and then it is not to be shown again.
            let held = if is_inbox {
                hold(room, of, &name)?
            } else {
                None
            };
            if is_inbox && held.is_none() && from.stat(&name)?.is_some() {
                let what = format!("{} is being read", from.at(&name).display());
                return Err(Error::busy(what, "it is moved shortly"));
            }
            if renamed.twice.contains(&at.micros()) {
                move_file(&from, &name, &aside, "move aside")?;
                continue;
            }
            let is_told = is_announced(room, of, &name)?;
            if is_told {
                announce(room, to, &name)?;
            }
            move_file(&from, &name, &into, "move to")?;
            if is_told {
                unannounce(room, of, &name)?;
            }
        }
        barrier.moved(&from, &into);
        barrier.moved(&from, &aside);
    }
    Ok(())
}

/// The delivered files of a directory that arrived until a time, in the order of their arrival.
fn until_then(dir: &Dir, until: Stamp) -> Result<Vec<(Stamp, OsString)>> {
    let mut names = Vec::new();
    for entry in dir.list()? {
        let name = entry?.name;
        names.extend(
            layout::read_delivered(&name)
                .filter(|at| *at <= until)
                .map(|at| (at, name)),
        );
    }
    names.sort_unstable();
    Ok(names)
}
