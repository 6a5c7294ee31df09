//! Copies with two names: delivered, and still staged. A power cut leaves such copies on a file system that logs each
//! synced directory separately, such as btrfs, if only the inbox was synced after the delivery.

use crate::base::error::{ErrorClass, Result};
use crate::disk::{Dir, Meta, layout};
use crate::log::state::{DeliveryDirectory, OpenRecord, RoomState};
use crate::room::spool::Spool;
use rustix::fs::FileType;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

/// The directory levels below an inbox that recovery searches for a copy that is also staged.
const INBOX_DEPTH: usize = 8;

/// The staged names of copies with a second name, by inode.
type TwiceNamedCopies = HashMap<u64, (String, Meta)>;

/// Removes the staged name of every copy with a name in its recipient's inbox or in a directory below the inbox. A
/// second name elsewhere does not count as a delivery: a copy of the room by hard links makes such names.
pub(super) fn finish(room: &Dir, spool: &Spool, state: &RoomState) -> Result<()> {
    let mut by_inbox: BTreeMap<PathBuf, TwiceNamedCopies> = BTreeMap::new();
    let copies = state
        .open
        .values()
        .flat_map(OpenRecord::deliveries)
        .filter(|copy| copy.place == DeliveryDirectory::Inbox);
    for copy in copies {
        if let Some(meta) = spool
            .stage
            .stat(&copy.staged)?
            .filter(|meta| meta.links > 1)
        {
            by_inbox
                .entry(copy.place.of(&copy.agent))
                .or_default()
                .insert(meta.inode, (copy.staged, meta));
        }
    }
    for (inbox, twice) in by_inbox {
        remove_staged(room, &inbox, twice, &spool.stage)?;
    }
    // Files that were moved because their agent was renamed can also have two names.
    for renamed in state.open.values().filter_map(|open| open.renamed.as_ref()) {
        for former in [layout::inbox(&renamed.of), layout::taken(&renamed.of)] {
            let former = match room.sub(former) {
                // No file is moved from a directory that cannot be read.
                Err(e) if e.class() == ErrorClass::Temporary || e.errno() == Some(libc::ENOENT) => {
                    continue;
                }
                former => former?,
            };
            let mut twice = TwiceNamedCopies::new();
            for entry in former.list()? {
                let name = entry?.name;
                if let Some(meta) = former.stat(&name)?.filter(|meta| meta.links > 1)
                    && let Some(name) = name.to_str()
                {
                    twice.insert(meta.inode, (name.to_owned(), meta));
                }
            }
            remove_staged(room, &layout::inbox(&renamed.to), twice, &former)?;
        }
    }
    Ok(())
}

/// Removes an unread copy from its inbox if the same file is in a directory below the inbox. A power cut leaves such
/// copies on a file system that logs each synced directory separately, if a recipient moved the copy and synced only
/// the new directory.
pub(super) fn finish_moves_of_recipients(room: &Dir, state: &RoomState) -> Result<()> {
    for agent in state.mailboxes.with_unread() {
        match finish_moves(room, &layout::inbox(agent)) {
            Err(e) if e.errno() == Some(libc::ENOENT) => {}
            Err(e) if e.class() == ErrorClass::Temporary => {
                tracing::warn!("{e}; mail there may be shown again")
            }
            done => done?,
        }
    }
    Ok(())
}

fn finish_moves(room: &Dir, inbox: &Path) -> Result<()> {
    let dir = room.sub(inbox)?;
    let (mut twice, mut below) = (TwiceNamedCopies::new(), Vec::new());
    for entry in dir.list()? {
        let entry = entry?;
        if entry.kind == FileType::Directory {
            below.push(entry.name);
        } else if layout::read_delivered(&entry.name).is_some()
            && let Some(meta) = dir.stat(&entry.name)?.filter(|meta| meta.links > 1)
            && let Some(name) = entry.name.to_str()
        {
            twice.insert(meta.inode, (name.to_owned(), meta));
        }
    }
    for name in below {
        if !twice.is_empty()
            && let Ok(below) = dir.sub(&name)
        {
            remove_second_names(&below, &mut twice, &dir, INBOX_DEPTH)?;
        }
    }
    Ok(())
}

/// Removes the staged names of files in an inbox.
fn remove_staged(room: &Dir, inbox: &Path, mut twice: TwiceNamedCopies, stage: &Dir) -> Result<()> {
    if twice.is_empty() {
        return Ok(());
    }
    match room
        .sub(inbox)
        .and_then(|dir| remove_second_names(&dir, &mut twice, stage, INBOX_DEPTH))
    {
        Err(e) if e.errno() == Some(libc::ENOENT) => Ok(()),
        Err(e) if e.class() == ErrorClass::Temporary => {
            tracing::warn!("{e}; mail there may be delivered again");
            Ok(())
        }
        done => done,
    }
}

fn remove_second_names(
    dir: &Dir,
    twice: &mut TwiceNamedCopies,
    stage: &Dir,
    depth: usize,
) -> Result<()> {
    for entry in dir.list()? {
        let entry = entry?;
        if entry.kind == FileType::Directory {
            match dir.sub(&entry.name) {
                Ok(below) if depth > 0 && !twice.is_empty() => {
                    remove_second_names(&below, twice, stage, depth - 1)?
                }
                _ => {}
            }
        } else if let Some((staged, meta)) = twice.get(&entry.inode)
            && dir
                .stat(&entry.name)?
                .is_some_and(|other| other.is_same_file(meta))
        {
            stage.remove(staged)?;
            twice.remove(&entry.inode);
        }
    }
    Ok(())
}
