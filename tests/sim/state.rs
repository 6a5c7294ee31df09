//! A disk as programs see it, and the part of it that would be there after a power cut.

use super::disk::{Change, Content, Disk, Id};
use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// One call that changes something.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) change: Change,
    pub(super) when: i128,
    /// The paths of the call, for words.
    pub(super) paths: Vec<PathBuf>,
    pub(super) durability: Durability,
}

/// The call in words.
impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, detail) = self.change.words();
        let paths: Vec<String> = self.paths.iter().map(|p| p.display().to_string()).collect();
        write!(f, "{what} {}{detail}", paths.join(" to "))
    }
}

/// When a sync makes a step durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Durability {
    BySync,
    /// No sync has an effect on it up to the next one of a file's data.
    ByLaterSync,
    Immediate,
}

/// A step that is not durable.
#[derive(Debug, Clone)]
pub(super) struct Pending {
    pub(super) step: Arc<Step>,
    /// Its place in the order of all steps.
    pub(super) number: u64,
    /// Directories with a new or removed name that were not synced since.
    pub(super) unsynced: BTreeSet<Id>,
    /// Earlier steps on the same paths, or on the names in a directory that this step removes. They are durable if this
    /// step is.
    pub(super) needs: Vec<u64>,
    /// The steps that made the directories of its names. This step is durable only if they are.
    pub(super) homes: Vec<u64>,
    /// Whether its file was synced since.
    pub(super) is_file_synced: bool,
    is_late: bool,
}

/// Everything that decides what programs see now and after a crash.
#[derive(Debug, Clone)]
pub(super) struct State {
    /// The disk as programs see it.
    pub(super) now: Disk,
    /// The disk with all durable steps and no other. New inodes are there immediately, without a name.
    pub(super) settled: Disk,
    /// The other steps in their order.
    pub(super) pending: Vec<Arc<Pending>>,
    /// The last durable step on names.
    pub(super) last_settled: u64,
    /// Files that lost bytes in a failed sync.
    pub(super) lost: BTreeSet<Id>,
    next: u64,
}

impl Pending {
    pub(super) fn change(&self) -> &Change {
        &self.step.change
    }

    fn is_ready(&self, pending: &[Arc<Pending>], done: &BTreeSet<u64>) -> bool {
        let is_open = |number: &u64| !done.contains(number) && is_pending(pending, *number);
        self.change().is_of_names() && self.unsynced.is_empty() && !self.homes.iter().any(is_open)
    }
}

fn is_pending(pending: &[Arc<Pending>], number: u64) -> bool {
    pending.binary_search_by_key(&number, |p| p.number).is_ok()
}

impl State {
    /// A disk with only durable steps.
    pub(super) fn durable(disk: Disk) -> State {
        State {
            settled: disk.clone(),
            now: disk,
            pending: Vec::new(),
            last_settled: 0,
            lost: BTreeSet::new(),
            next: 1,
        }
    }

    /// Does one more step.
    pub(super) fn advance(&mut self, step: &Arc<Step>) {
        match &step.change {
            Change::Sync(_) | Change::SyncData(_) | Change::SyncAll => self.sync(&step.change),
            Change::FailedSync(file) => self.lose(*file),
            Change::Forget(file) => self.forget(*file),
            change => {
                if let Change::Make { inode, new, .. } = change {
                    self.now.insert(*inode, Arc::clone(new));
                    self.settled.insert(*inode, Arc::clone(new));
                }
                self.now.apply(change, step.when);
                self.push(step);
            }
        }
    }

    fn push(&mut self, step: &Arc<Step>) {
        let pending = Arc::new(Pending {
            number: self.next,
            unsynced: step.change.places().iter().map(|p| p.directory).collect(),
            needs: self.earlier(|earlier| conflict(&step.change, earlier)),
            homes: self.earlier(|earlier| is_home(&step.change, earlier)),
            is_file_synced: false,
            is_late: step.durability == Durability::ByLaterSync,
            step: Arc::clone(step),
        });
        self.next += 1;
        self.pending.push(pending);
        if step.durability == Durability::Immediate {
            let file = step.change.file_of_bytes();
            let of_file = |p: &&Arc<Pending>| {
                let change = p.change();
                file.is_some() && (change.file_of_bytes() == file || change.named() == file)
            };
            let mut done = BTreeSet::from([self.next - 1]);
            done.extend(self.pending.iter().filter(of_file).map(|p| p.number));
            self.settle(done);
        }
    }

    fn earlier(&self, is_it: impl Fn(&Change) -> bool) -> Vec<u64> {
        let found = self.pending.iter().filter(|p| is_it(p.change()));
        found.map(|p| p.number).collect()
    }

    fn sync(&mut self, what: &Change) {
        let (late, pending) = std::mem::take(&mut self.pending)
            .into_iter()
            .partition(|p| p.is_late);
        self.pending = pending;
        let mut done = BTreeSet::new();
        for pending in &mut self.pending {
            if let Change::Sync(id) = what
                && pending.unsynced.contains(id)
            {
                Arc::make_mut(pending).unsynced.remove(id);
            }
            if let Change::Sync(id) | Change::SyncData(id) = what
                && pending.change().named() == Some(*id)
            {
                Arc::make_mut(pending).is_file_synced = true;
            }
            let change = pending.change();
            let is_done = match what {
                Change::Sync(id) => {
                    change.file_of_bytes() == Some(*id) || change.file_of_attributes() == Some(*id)
                }
                Change::SyncData(id) => change.file_of_bytes() == Some(*id),
                _ => true,
            };
            if is_done {
                done.insert(pending.number);
            }
        }
        self.settle(done);
        let late: Vec<Arc<Pending>> = late;
        for mut pending in late {
            let moved = Arc::make_mut(&mut pending);
            moved.is_late = !matches!(what, Change::SyncData(_));
            moved.number = self.next;
            self.next += 1;
            self.pending.push(pending);
        }
    }

    /// Makes these steps durable, and the steps that depend on it.
    fn settle(&mut self, mut done: BTreeSet<u64>) {
        loop {
            let before = done.len();
            for pending in self.pending.iter().rev() {
                if done.contains(&pending.number) || pending.is_ready(&self.pending, &done) {
                    done.insert(pending.number);
                    done.extend(&pending.needs);
                    done.extend(&pending.homes);
                }
            }
            if done.len() == before {
                break;
            }
        }
        for pending in &self.pending {
            if done.contains(&pending.number) {
                self.settled.apply(pending.change(), pending.step.when);
                if pending.change().is_of_names() {
                    self.last_settled = self.last_settled.max(pending.number);
                }
            }
        }
        self.pending.retain(|p| !done.contains(&p.number));
    }

    fn lose(&mut self, file: Option<Id>) {
        let lost = &mut self.lost;
        self.pending.retain(|p| match p.change().file_of_bytes() {
            Some(id) if file.is_none_or(|file| file == id) => {
                lost.insert(id);
                false
            }
            _ => true,
        });
    }

    fn forget(&mut self, file: Id) {
        if !self.lost.remove(&file) {
            return;
        }
        let mut disk = self.settled.clone();
        for pending in &self.pending {
            if pending.change().file_of_bytes() == Some(file) {
                disk.apply(pending.change(), pending.step.when);
            }
        }
        let mut bytes = disk.get(file).bytes().to_vec();
        // The length is not one of the bytes: it stays in memory.
        bytes.resize(self.now.get(file).bytes().len(), 0);
        self.now.edit(file).content = Content::File(bytes);
    }
}

/// Returns true if a step on names has no meaning without an earlier one.
fn conflict(change: &Change, earlier: &Change) -> bool {
    let removed = match change {
        Change::Remove { inode, .. } => Some(*inode),
        Change::Rename { replaced, .. } => *replaced,
        _ => None,
    };
    let places = change.places();
    let mut earlier = earlier.places().into_iter();
    earlier.any(|place| places.contains(&place) || removed == Some(place.directory))
}

/// Returns true if the earlier step made a directory, and the other changes names in it.
fn is_home(change: &Change, earlier: &Change) -> bool {
    let Change::Make { inode, .. } = earlier else {
        return false;
    };
    let places = change.places();
    places.iter().any(|place| place.directory == *inode)
}
