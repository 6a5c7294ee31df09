//! A power cut on a file system that keeps the names of each synced directory on their own.
//!
//! btrfs writes all names together in a transaction, and logs the names of a directory that is synced before the next one.
//! So after a cut there are all names up to some point, each directory that was synced after that point as it was then, and
//! the name of each new file that was synced.
//! After a file was moved out of a directory, or a directory was removed from it, its sync writes a whole transaction.

use super::disk::{Change, Disk, Entries, Id, Name, ROOT};
use super::state::{Pending, State};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The steps on names that are not durable everywhere.
pub(super) struct Directories<'a> {
    state: &'a State,
    pub(super) names: Vec<&'a Arc<Pending>>,
    /// The names at the last sync of each directory.
    synced: BTreeMap<Id, Entries>,
}

impl Directories<'_> {
    pub(super) fn new(state: &State) -> Directories<'_> {
        let of_names = |p: &&Arc<Pending>| p.change().is_of_names();
        let names: Vec<&Arc<Pending>> = state.pending.iter().filter(of_names).collect();
        let mut synced = BTreeMap::new();
        for pending in &names {
            for place in pending.change().places() {
                let settled = || state.settled.entries(place.directory).cloned();
                let entries = synced
                    .entry(place.directory)
                    .or_insert_with(|| settled().unwrap_or_default());
                if pending.unsynced.contains(&place.directory) {
                    continue;
                }
                match new_name(pending.change(), place) {
                    Some(inode) => entries.insert(place.name.clone(), inode),
                    None => entries.remove(&place.name),
                };
            }
        }
        Directories {
            state,
            names,
            synced,
        }
    }

    /// The number of steps that the last whole transaction has.
    pub(super) fn written(&self) -> usize {
        let is_whole = |pending: &&Arc<Pending>| match pending.change() {
            Change::Rename {
                from, to, inode, ..
            } => {
                let is_synced = |place: &Name| !pending.unsynced.contains(&place.directory);
                let is_directory = self.state.settled.get(*inode).is_directory();
                from.directory != to.directory && is_synced(from) || is_directory && is_synced(to)
            }
            Change::Remove { at, inode } if self.state.settled.get(*inode).is_directory() => {
                !pending.unsynced.contains(&at.directory)
            }
            _ => false,
        };
        self.names
            .iter()
            .rposition(is_whole)
            .map_or(0, |last| last + 1)
    }

    /// The disk after a transaction with this number of steps, and the syncs after it. The sync of a directory may have
    /// written the new directories in it as well.
    pub(super) fn disk(&self, steps: usize, is_deep: bool) -> Disk {
        let mut disk = self.state.settled.clone();
        for pending in &self.names[..steps] {
            disk.apply(pending.change(), pending.step.when);
        }
        for pending in &self.names[steps..] {
            if pending.is_file_synced {
                self.add(&mut disk, pending);
            }
        }
        let later = self.names[steps..].iter().flat_map(|pending| {
            let places = pending.change().places().into_iter();
            places.filter(|place| !pending.unsynced.contains(&place.directory))
        });
        for directory in later.map(|place| place.directory).collect::<BTreeSet<_>>() {
            // A directory without a name has nothing to keep.
            if disk.get(directory).is_named() || directory == ROOT {
                set_entries(&mut disk, directory, &self.synced[&directory]);
            }
        }
        for pending in &self.names[steps..] {
            if is_deep && !pending.homes.is_empty() {
                self.add(&mut disk, pending);
            }
        }
        disk
    }
}

impl Directories<'_> {
    /// Adds the new name of a step, if its directory is there.
    fn add(&self, disk: &mut Disk, pending: &Pending) {
        let (place, inode) = match pending.change() {
            Change::Make { at, inode, .. } => (at, *inode),
            Change::Rename { to, inode, .. } => (to, *inode),
            _ => return,
        };
        let is_there = disk.get(place.directory).is_named() || place.directory == ROOT;
        if is_there
            && disk.at(place).is_none()
            && !disk.get(inode).is_named()
            && self.state.now.get(inode).is_named()
        {
            disk.set_name(place, Some(inode), pending.step.when);
        }
    }
}

/// The inode that a step puts at a place.
fn new_name(change: &Change, place: &Name) -> Option<Id> {
    match change {
        Change::Make { inode, .. } => Some(*inode),
        Change::Rename { to, inode, .. } if to == place => Some(*inode),
        _ => None,
    }
}

fn set_entries(disk: &mut Disk, directory: Id, wanted: &Entries) {
    let Ok(there) = disk.entries(directory).cloned() else {
        return;
    };
    let when = disk.get(directory).changed;
    let names: BTreeSet<_> = there.keys().chain(wanted.keys()).collect();
    for name in names {
        let inode = wanted.get(name).copied();
        if there.get(name).copied() != inode {
            let name = name.clone();
            disk.set_name(&Name { directory, name }, inode, when);
        }
    }
}
