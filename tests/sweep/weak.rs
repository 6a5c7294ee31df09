//! A power cut on a file system that keeps only synced data, simulated in any directory.
//!
//! The journals of ext4 and xfs keep all names in order, so a missing sync often goes unnoticed on them. Here a name
//! is durable only after a sync of the directories where it was made or moved, and bytes only after a sync of their file.
//! The seed chooses a part of the rest that is undone. The steps of one name keep their order: if a step is undone, the
//! later steps on the same paths are also undone. New directories are durable immediately.

use super::calls::Call;
use super::letters::Random;
use super::tracer::Outcome;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The steps of the router over several runs, with the data to undo them.
#[derive(Default)]
pub(crate) struct Unsynced {
    /// The steps in order.
    steps: Vec<Step>,
    /// The steps of the present run, by the numbers of its calls. The last ones may not have happened.
    present: Vec<(usize, Step)>,
}

/// One call.
enum Step {
    /// Names were made, moved or removed: what stood at each path before.
    Names(Vec<(PathBuf, Option<Vec<u8>>)>),
    /// Bytes of a file were written or cut off. `before` is the previous content.
    Bytes { path: PathBuf, before: Vec<u8> },
    SyncFile(PathBuf),
    SyncDirectory(PathBuf),
    SyncAll,
}

/// A step that no sync has made durable.
struct Loose<'a> {
    step: &'a Step,
    /// Where the file of a `Bytes` step is by now.
    at: PathBuf,
    /// Directories of a `Names` step that were not synced since.
    directories: BTreeSet<PathBuf>,
    /// Whether the power cut undoes it.
    is_undone: bool,
}

impl Unsynced {
    /// Must be called before each call, with the old content in place.
    pub(crate) fn about_to(&mut self, call: &Call) {
        let (Some(number), Some(first)) = (call.number, call.paths.first().cloned()) else { return };
        let step = match call.name {
            "open" | "creat" | "openat" | "openat2" if !first.exists() => Step::Names(vec![(first, None)]),
            name if name.starts_with("rename") && !first.is_dir() => Step::Names(before(&call.paths)),
            "link" | "linkat" => Step::Names(before(&call.paths[1..])),
            "unlink" | "unlinkat" if !first.is_dir() => Step::Names(before(&call.paths)),
            "fsync" if first.is_dir() => Step::SyncDirectory(first),
            "fsync" | "fdatasync" => Step::SyncFile(first),
            "syncfs" | "sync" => Step::SyncAll,
            name if name.contains("write") || name.contains("truncate") => match fs::read(&first) {
                Ok(before) => Step::Bytes { path: first, before },
                Err(_) => return,
            },
            _ => return,
        };
        self.present.push((number, step));
    }

    /// The program has ended: only steps that happened are kept.
    pub(crate) fn ended(&mut self, outcome: &Outcome) {
        let happened: BTreeMap<_, _> = outcome.changes().map(|call| (call.number, call.result)).collect();
        let done = |number| matches!(happened.get(&Some(number)), Some(Some(0..)));
        self.steps.extend(self.present.drain(..).filter(|(number, _)| done(*number)).map(|(_, step)| step));
    }

    /// Something has synced the whole file system.
    pub(crate) fn synced(&mut self) {
        self.steps.clear();
    }

    /// Cuts the power: undoes a part of the unsynced steps.
    pub(crate) fn undo(&mut self, random: &mut Random) -> io::Result<()> {
        let steps = std::mem::take(&mut self.steps);
        let mut loose = Vec::new();
        steps.iter().for_each(|step| take(&mut loose, step));
        choose(&mut loose, random);
        undo_chosen(loose, random)
    }
}

/// Undoes the chosen steps, the last one first.
fn undo_chosen(mut loose: Vec<Loose<'_>>, random: &mut Random) -> io::Result<()> {
    while let Some(step) = loose.pop() {
        match (step.step, step.is_undone) {
            (_, false) => {}
            (Step::Names(names), true) => undo_names(names, &mut loose)?,
            (Step::Bytes { before, .. }, true) => undo_bytes(&step.at, before, random)?,
            _ => {}
        }
    }
    Ok(())
}

fn before(paths: &[PathBuf]) -> Vec<(PathBuf, Option<Vec<u8>>)> {
    paths.iter().map(|path| (path.clone(), fs::read(path).ok())).collect()
}

/// Goes on by one step: it is loose, or makes others durable.
fn take<'a>(loose: &mut Vec<Loose<'a>>, step: &'a Step) {
    match step {
        Step::Names(names) => {
            if let [(from, _), (to, _)] = &**names {
                loose.iter_mut().filter(|l| l.at == *from).for_each(|l| l.at.clone_from(to));
            }
            let directories = names.iter().filter_map(|(path, _)| Some(path.parent()?.to_path_buf())).collect();
            loose.push(Loose { step, at: PathBuf::new(), directories, is_undone: false });
        }
        Step::Bytes { path, .. } => {
            loose.push(Loose { step, at: path.clone(), directories: BTreeSet::new(), is_undone: false });
        }
        Step::SyncFile(path) => loose.retain(|l| l.at != *path),
        Step::SyncDirectory(path) => {
            for n in 0..loose.len() {
                if loose[n].directories.remove(path) && loose[n].directories.is_empty() {
                    let touched: Vec<PathBuf> = loose[n].paths().cloned().collect();
                    // What happened to these paths before can't be missing when this is there.
                    loose[..n].iter_mut().filter(|l| l.paths().any(|p| touched.contains(p))).for_each(|l| {
                        l.directories.clear();
                    });
                }
            }
            loose.retain(|l| !l.directories.is_empty() || l.is_bytes());
        }
        Step::SyncAll => loose.clear(),
    }
}

impl Loose<'_> {
    fn is_bytes(&self) -> bool {
        matches!(self.step, Step::Bytes { .. })
    }

    /// The paths of a step on names.
    fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        let names = match self.step {
            Step::Names(names) => &names[..],
            _ => &[],
        };
        names.iter().map(|(path, _)| path)
    }
}

/// Marks the steps to undo: all steps, all bytes, or a random choice.
fn choose(loose: &mut [Loose], random: &mut Random) {
    let kind = random.below(4);
    let mut gone: BTreeSet<PathBuf> = BTreeSet::new();
    for step in loose {
        let bytes = step.is_bytes();
        let is_undone = match kind {
            0 => true,
            1 => bytes,
            _ => random.below(2) == 0 || step.paths().any(|path| gone.contains(path)),
        };
        if is_undone {
            step.is_undone = true;
            gone.extend(step.paths().cloned());
        }
    }
}

fn undo_names(names: &[(PathBuf, Option<Vec<u8>>)], earlier: &mut [Loose]) -> io::Result<()> {
    for (path, before) in names {
        match before {
            Some(bytes) => fs::write(path, bytes)?,
            None if path.exists() => fs::remove_file(path)?,
            None => {}
        }
    }
    if let [(from, Some(_)), (to, _)] = names {
        earlier.iter_mut().filter(|l| l.at == *to).for_each(|l| l.at.clone_from(from));
    }
    Ok(())
}

/// The bytes written may be there in part, or zeros in their place.
fn undo_bytes(at: &Path, before: &[u8], random: &mut Random) -> io::Result<()> {
    let Ok(mut now) = fs::read(at) else { return Ok(()) };
    if !now.starts_with(before) {
        return fs::write(at, before);
    }
    let (length, kept) = (now.len(), before.len() + random.below(now.len() - before.len() + 1));
    match random.below(3) {
        0 => now.truncate(before.len()),
        1 => now.truncate(kept),
        _ => now[kept..length].fill(0),
    }
    fs::write(at, now)
}
