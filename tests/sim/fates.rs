//! The results of a crash for the steps that are not durable.

use super::Random;
use super::disk::{Change, Disk};
use super::per_directory::Directories;
use super::state::{Pending, State, Step};
use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::sync::Arc;

/// A kind of crash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// The program ends; the computer goes on.
    Kill,
    /// A power cut on a file system that keeps all names in order, as ext4 and xfs do.
    Journal,
    /// A power cut on a file system that keeps the names of each directory on their own, as btrfs does.
    PerDirectory,
    /// A power cut on a file system that keeps synced steps, and any part of the others.
    Unordered,
}

impl Fate {
    pub(crate) const ALL: [Fate; 4] = [
        Fate::Kill,
        Fate::Journal,
        Fate::PerDirectory,
        Fate::Unordered,
    ];
}

/// Where there are more combinations, some are chosen.
const MOST: usize = 64;
const AT_RANDOM: usize = 16;

/// A description that is made when it is shown: most crashes end well.
pub(crate) struct Words(Box<dyn Fn() -> String>);

impl Words {
    pub(super) fn new(words: impl Fn() -> String + 'static) -> Words {
        Words(Box::new(words))
    }
}

impl fmt::Display for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0())
    }
}

/// A disk after a power cut, and a description.
pub(super) type Outcome = (Words, Disk);

/// Every disk that a power cut can leave.
pub(super) fn cut(state: &State, fate: Fate, random: &mut Random) -> Vec<Outcome> {
    match fate {
        Fate::Kill => Vec::new(),
        Fate::Journal => journal(state, random),
        Fate::PerDirectory => per_directory(state, random),
        Fate::Unordered => unordered(state, random),
    }
}

/// Every choice of one option for each unit, or a part of them. Option 0 is that nothing of a unit is there, option 1
/// that all of it is.
fn choices(options: &[usize], random: &mut Random) -> Vec<Vec<usize>> {
    let all = options.iter().try_fold(1, |n: usize, options| {
        Some(n * options).filter(|n| *n <= MOST)
    });
    if let Some(all) = all {
        return (0..all).map(|number| digits(number, options)).collect();
    }
    let none = vec![0; options.len()];
    let whole: Vec<usize> = options.iter().map(|options| 1.min(options - 1)).collect();
    let mut chosen = vec![none.clone(), whole.clone()];
    for (unit, options) in options.iter().enumerate() {
        for option in 0..*options {
            for (rest, its) in [(&none, 0), (&whole, 1)] {
                if option != its {
                    let mut choice = rest.clone();
                    choice[unit] = option;
                    chosen.push(choice);
                }
            }
        }
    }
    for _ in 0..AT_RANDOM {
        chosen.push(
            options
                .iter()
                .map(|options| random.below(*options))
                .collect(),
        );
    }
    chosen
}

fn digits(mut number: usize, options: &[usize]) -> Vec<usize> {
    let digit = |options: &usize| {
        let digit = number % options;
        number /= options;
        digit
    };
    options.iter().map(digit).collect()
}

/// The part that is left of bytes without a sync.
#[derive(Debug, Clone, Copy)]
enum Bytes {
    Short,
    Whole,
    Zeros,
    /// Each file has its own.
    Mixed,
}

/// In the order of the options in [`choices`].
const BYTES: [Bytes; 4] = [Bytes::Short, Bytes::Whole, Bytes::Zeros, Bytes::Mixed];

/// The number of options that [`put_bytes`] has.
fn byte_options(state: &State) -> usize {
    let is_unsynced = state.pending.iter().any(|p| !p.change().is_of_names());
    if is_unsynced { BYTES.len() } else { 1 }
}

/// Gives the files of a disk with settled bytes a part of the others.
fn put_bytes(disk: &mut Disk, state: &State, bytes: Bytes, random: &mut Random) {
    let mut own = BTreeMap::new();
    for pending in &state.pending {
        let change = pending.change();
        let Some(file) = change.file_of_bytes().or(change.file_of_attributes()) else {
            continue;
        };
        let bytes = match bytes {
            Bytes::Mixed => *own.entry(file).or_insert_with(|| *random.pick(&BYTES[..3])),
            bytes => bytes,
        };
        match (bytes, change) {
            (Bytes::Short, _) => {}
            (Bytes::Zeros, Change::Write { file, at, bytes }) => {
                disk.write_without_content(*file, *at, bytes.len(), pending.step.when);
            }
            _ => disk.apply(change, pending.step.when),
        }
    }
}

/// A description of an outcome with all names before the next one.
fn words(
    kept: &'static str,
    all: &'static str,
    next: Option<&&Arc<Pending>>,
    bytes: Bytes,
) -> Words {
    let next = next.map(|next| Arc::clone(&next.step));
    Words::new(move || {
        let names = next
            .as_ref()
            .map_or(all.to_owned(), |next| format!("{kept} until before {next}"));
        format!("power cut, {names}, bytes {bytes:?}")
    })
}

/// All names up to a point, and no later one.
fn journal(state: &State, random: &mut Random) -> Vec<Outcome> {
    let (kept, open): (Vec<_>, Vec<_>) = state
        .pending
        .iter()
        .filter(|p| p.change().is_of_names())
        .partition(|p| p.number < state.last_settled);
    let mut disk = state.settled.clone();
    for pending in kept {
        disk.apply(pending.change(), pending.step.when);
    }
    let mut prefixes = vec![disk.clone()];
    for pending in &open {
        disk.apply(pending.change(), pending.step.when);
        prefixes.push(disk.clone());
    }
    let options = [prefixes.len(), byte_options(state)];
    let mut outcomes = Vec::new();
    for choice in choices(&options, random) {
        // Option 1 is all of them.
        let names = match choice[0] {
            0 => 0,
            1 => open.len(),
            more => more - 1,
        };
        let mut disk = prefixes[names].clone();
        let bytes = BYTES[choice[1]];
        put_bytes(&mut disk, state, bytes, random);
        let next = open.get(names);
        outcomes.push((words("names in order", "all names", next, bytes), disk));
    }
    outcomes
}

/// All names up to a point, and later ones only in directories that were synced.
fn per_directory(state: &State, random: &mut Random) -> Vec<Outcome> {
    let directories = Directories::new(state);
    let mut outcomes = Vec::new();
    for steps in directories.written()..=directories.names.len() {
        let next = directories.names.get(steps);
        for is_deep in [false, true] {
            let names = directories.disk(steps, is_deep);
            for bytes in &BYTES[..byte_options(state)] {
                let mut disk = names.clone();
                put_bytes(&mut disk, state, *bytes, random);
                let words = words(
                    "synced directories, others",
                    "all directories",
                    next,
                    *bytes,
                );
                outcomes.push((words, disk));
            }
        }
    }
    outcomes
}

/// The part that is left of a step: the options in [`unordered`].
const MISSING: usize = 0;
const KEPT: usize = 1;
const ZEROS: usize = 2;
const TORN: usize = 3;

/// Any part of the steps.
fn unordered(state: &State, random: &mut Random) -> Vec<Outcome> {
    let options: Vec<usize> = state.pending.iter().map(|p| step_options(p)).collect();
    let mut seen = HashSet::new();
    let mut outcomes = Vec::new();
    for mut choice in choices(&options, random) {
        complete(&mut choice, &state.pending);
        if !seen.insert(choice.clone()) {
            continue;
        }
        let mut disk = state.settled.clone();
        let mut lost = Vec::new();
        for (pending, option) in state.pending.iter().zip(&choice) {
            if let Some(part) = apply_part(&mut disk, pending, *option, random) {
                lost.push((part, Arc::clone(&pending.step)));
            }
        }
        let words = Words::new(move || {
            let lost: Vec<String> = lost.iter().map(|(part, step)| part.of(step)).collect();
            format!("power cut, no order, except: {}", lost.join(", "))
        });
        outcomes.push((words, disk));
    }
    outcomes
}

fn step_options(pending: &Pending) -> usize {
    match pending.change() {
        Change::Write { bytes, .. } if bytes.len() > 1 => TORN + 1,
        Change::Write { .. } => ZEROS + 1,
        _ => KEPT + 1,
    }
}

/// The part of a step that is there.
enum Part {
    Nothing,
    Zeros,
    Bytes(usize),
}

impl Part {
    fn of(&self, step: &Step) -> String {
        match self {
            Part::Nothing => format!("without {step}"),
            Part::Zeros => format!("zeros for {step}"),
            Part::Bytes(part) => format!("{part} bytes of {step}"),
        }
    }
}

/// Applies a part of a step. `None` if it is the whole step.
fn apply_part(
    disk: &mut Disk,
    pending: &Pending,
    option: usize,
    random: &mut Random,
) -> Option<Part> {
    let (step, when) = (&pending.step, pending.step.when);
    match (&step.change, option) {
        (_, MISSING) => Some(Part::Nothing),
        (Change::Write { file, at, bytes }, ZEROS) => {
            disk.write_without_content(*file, *at, bytes.len(), when);
            Some(Part::Zeros)
        }
        (Change::Write { file, at, bytes }, TORN) => {
            let part = 1 + random.below(bytes.len() - 1);
            disk.write(*file, *at, &bytes[..part], when);
            Some(Part::Bytes(part))
        }
        (change, _) => {
            disk.apply(change, when);
            None
        }
    }
}

/// Changes a choice to a possible one: a single step also has the steps that it needs, other steps are missing without
/// them, and only the last write of a file is torn.
fn complete(choice: &mut [usize], pending: &[Arc<Pending>]) {
    let place = |number: &u64| pending.binary_search_by_key(number, |p| p.number).ok();
    let needs = |unit: usize| {
        let step: &Pending = &pending[unit];
        step.needs.iter().chain(&step.homes).filter_map(place)
    };
    if let [unit] = *kept_units(choice) {
        let mut wanted: Vec<usize> = needs(unit).collect();
        while let Some(unit) = wanted.pop() {
            if choice[unit] == MISSING {
                choice[unit] = KEPT;
                wanted.extend(needs(unit));
            }
        }
    }
    let mut cut_files = HashSet::new();
    for unit in 0..choice.len() {
        let change = pending[unit].change();
        let file = change.file_of_bytes();
        if needs(unit).any(|unit| choice[unit] == MISSING)
            || file.is_some_and(|file| cut_files.contains(&file))
        {
            choice[unit] = MISSING;
        }
        if let Change::SetLength { file, .. } = change
            && choice[unit] == MISSING
        {
            cut_files.insert(*file);
        }
    }
    let mut later = HashSet::new();
    for unit in (0..choice.len()).rev() {
        let Some(file) = pending[unit].change().file_of_bytes() else {
            continue;
        };
        if choice[unit] == TORN && later.contains(&file) {
            choice[unit] = KEPT;
        }
        if choice[unit] != MISSING {
            later.insert(file);
        }
    }
}

fn kept_units(choice: &[usize]) -> Vec<usize> {
    let units = choice.iter().enumerate();
    units
        .filter(|(_, option)| **option != MISSING)
        .map(|(unit, _)| unit)
        .collect()
}
