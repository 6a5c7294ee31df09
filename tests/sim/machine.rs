//! One computer.

use super::calls::{Call, Control, ControlKind, Failing, Failure};
use super::disk::{Change, Content, Disk, Id, Inode, Name, ROOT};
use super::fates::{self, Fate, Words};
use super::fingerprint;
use super::handles::Handle;
use super::random::Random;
use super::state::{Durability, State, Step};
use mailbag::base::clock::{self, Stamp};
use mailbag::base::process;
use mailbag::disk::fs::{Fs, Lock};
use mailbag::disk::root::with_root;
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// One computer: a disk, the steps that no sync has made durable, locks, and a boot id. A clone is an independent
/// computer.
pub(crate) struct Machine(pub(super) Arc<Mutex<Inner>>);

/// A computer after a crash.
pub(crate) struct Crash {
    pub(crate) fate: Words,
    pub(crate) machine: Machine,
}

#[derive(Debug)]
pub(super) struct Inner {
    pub(super) device: u64,
    boot: u64,
    /// Changes so far: nanoseconds that make the times of files differ.
    changes: i128,
    /// Before the first of the steps.
    pub(super) base: State,
    pub(super) steps: Vec<Arc<Step>>,
    /// After the last of the steps.
    pub(super) now: State,
    /// After a number of steps: where the last crash was.
    cursor: (usize, State),
    pub(super) calls: Vec<Call>,
    is_watched: bool,
    pub(super) failing: Failing,
    control: Option<Control>,
    /// Changes below it are durable immediately.
    kept: Option<PathBuf>,
    /// Open files that can be written to.
    pub(super) writers: HashMap<Id, usize>,
    /// The locks of open files, by the files' numbers.
    pub(super) locks: HashMap<Id, Vec<(u64, Lock)>>,
    pub(super) handles: u64,
}

/// The file that names the boot, and its directories.
const BOOT: [&str; 5] = ["proc", "sys", "kernel", "random", "boot_id"];

impl Machine {
    /// A computer with `/`, `/home`, `/tmp`, and a boot id. Everything is durable.
    pub(crate) fn new() -> Machine {
        static DEVICES: AtomicU64 = AtomicU64::new(1);
        let device = DEVICES.fetch_add(1, Ordering::Relaxed);
        let when = i128::from(Stamp::now().micros()) * 1000;
        let mut disk = Disk::default();
        let directory = || Content::Directory(Default::default());
        let mut root = Inode::new(directory(), 0o755, when);
        root.links = 2;
        disk.insert(ROOT, Arc::new(root));
        let mut make = |directory, name: &str, content, mode| {
            let id = disk.next();
            disk.insert(id, Arc::new(Inode::new(content, mode, when)));
            let name = name.into();
            disk.set_name(&Name { directory, name }, Some(id), when);
            id
        };
        let mut at = ROOT;
        let (file, directories) = BOOT.split_last().expect("a path has a last part");
        for name in directories {
            at = make(at, name, directory(), 0o555);
        }
        make(at, file, Content::File(boot_id(device, 0)), 0o444);
        make(ROOT, "home", directory(), 0o755);
        make(ROOT, "tmp", directory(), 0o1777);
        Machine::with(Inner::new(device, 0, 0, State::durable(disk)))
    }

    pub(super) fn with(inner: Inner) -> Machine {
        Machine(Arc::new(Mutex::new(inner)))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Inner> {
        lock(&self.0)
    }

    /// The root directory, for [`with_root`].
    pub(crate) fn root(&self) -> Arc<dyn Fs> {
        Arc::new(Handle::root(&self.0))
    }

    /// Calls `act` on this computer.
    pub(crate) fn run<T>(&self, act: impl FnOnce() -> T) -> T {
        with_root(self.root(), act)
    }

    /// Calls `act` as a process with this number at this time.
    pub(crate) fn run_as<T>(&self, id: u32, now: Stamp, act: impl FnOnce() -> T) -> T {
        process::set(Some(id));
        clock::set(Some(now));
        let done = self.run(act);
        clock::set(None);
        process::set(None);
        done
    }

    /// An independent computer with the same disk and the same crash points. It has no open files and no locks, and nothing
    /// fails on it.
    pub(crate) fn copy(&self) -> Machine {
        let inner = self.lock();
        Machine::with(Inner {
            base: inner.base.clone(),
            steps: inner.steps.clone(),
            cursor: inner.cursor.clone(),
            ..inner.with(inner.boot, inner.now.clone())
        })
    }

    /// Makes everything durable. Crash points count from here.
    pub(crate) fn settle(&self) {
        let mut inner = self.lock();
        let state = State::durable(inner.now.now.clone());
        inner.base = state.clone();
        inner.cursor = (0, state.clone());
        inner.now = state;
        inner.steps.clear();
    }

    /// The directory is on another disk, which a power cut takes nothing from.
    pub(crate) fn keep(&self, directory: &str) {
        self.lock().kept = Some(directory.into());
    }

    /// The number of changing calls (names, bytes, syncs) since the start, a crash, or [`Machine::settle`]. Crash points
    /// are zero to this number.
    pub(crate) fn steps(&self) -> usize {
        self.lock().steps.len()
    }

    /// Returns true if the step after this number of steps changes names and is not durable immediately. Then a crash
    /// before it leaves no other disk than one after it, on a file system that keeps an order of names.
    pub(crate) fn is_name_next(&self, at: usize) -> bool {
        self.lock().steps.get(at).is_some_and(|step| {
            step.change.is_of_names() && step.durability != Durability::Immediate
        })
    }

    /// The first steps in words.
    pub(crate) fn steps_in_words(&self, at: usize) -> Vec<String> {
        let inner = self.lock();
        inner.steps[..at].iter().map(ToString::to_string).collect()
    }

    /// Every call since [`Machine::watch`].
    pub(crate) fn calls(&self) -> Vec<Call> {
        self.lock().calls.clone()
    }

    /// Starts a new list of calls.
    pub(crate) fn watch(&self) {
        let mut inner = self.lock();
        inner.is_watched = true;
        inner.calls.clear();
    }

    /// Chooses a call that fails without effect. `None` ends all failures.
    pub(crate) fn fail(&self, failure: Option<Failure>) {
        self.lock().failing = Failing::new(failure);
    }

    /// Chooses calls that succeed without their effect. `None` ends this. The choice must not use the computer.
    pub(crate) fn swallow(&self, which: Option<Control>) {
        self.lock().control = which;
    }

    /// A number of the disk as programs see it, without times, and of the steps that are not durable.
    pub(crate) fn fingerprint(&self) -> u64 {
        fingerprint::of_state(&self.lock().now)
    }

    /// A number of the disk as programs see it, without times.
    pub(crate) fn shown(&self) -> u64 {
        fingerprint::of_disk(&self.lock().now.now)
    }

    /// Every computer that there can be after a crash when the first `at` steps were done.
    pub(crate) fn crashes(&self, at: usize, fates: &[Fate], random: &mut Random) -> Vec<Crash> {
        let mut inner = self.lock();
        let inner = &mut *inner;
        inner.go_to(at);
        let mut crashes = Vec::new();
        let (mut differ, mut seen) = (HashSet::new(), HashSet::new());
        let touched = fingerprint::touched(&inner.cursor.1);
        for fate in fates {
            if *fate == Fate::Kill {
                crashes.extend(inner.kills(at));
            }
            for (fate, disk) in fates::cut(&inner.cursor.1, *fate, random) {
                if differ.insert(fingerprint::of_touched(&disk, &touched))
                    && seen.insert(fingerprint::of_disk(&disk))
                {
                    let machine = inner.boot(disk);
                    crashes.push(Crash { fate, machine });
                }
            }
        }
        crashes
    }
}

impl Clone for Machine {
    fn clone(&self) -> Machine {
        self.copy()
    }
}

impl Inner {
    fn new(device: u64, boot: u64, changes: i128, state: State) -> Inner {
        Inner {
            device,
            boot,
            changes,
            base: state.clone(),
            steps: Vec::new(),
            cursor: (0, state.clone()),
            now: state,
            calls: Vec::new(),
            is_watched: false,
            failing: Failing::default(),
            control: None,
            kept: None,
            writers: HashMap::new(),
            locks: HashMap::new(),
            handles: 0,
        }
    }

    /// The same computer with another disk.
    fn with(&self, boot: u64, state: State) -> Inner {
        Inner {
            kept: self.kept.clone(),
            ..Inner::new(self.device, boot, self.changes, state)
        }
    }

    /// Returns true if the control wants the present call.
    pub(super) fn is_controlled(&self, kind: ControlKind) -> bool {
        let (control, call) = (self.control.as_ref(), self.calls.last());
        let both = control.filter(|control| control.kind == kind).zip(call);
        both.is_some_and(|(control, call)| (control.matches)(call))
    }

    /// Returns true if the calls are of use: most runs need none.
    pub(super) fn notes_calls(&self) -> bool {
        self.is_watched || self.control.is_some() || self.failing.is_active()
    }

    pub(super) fn time(&mut self) -> i128 {
        self.changes += 1;
        i128::from(Stamp::now().micros()) * 1000 + self.changes
    }

    /// Does a step.
    pub(super) fn step(&mut self, change: Change, paths: &[PathBuf], mut durability: Durability) {
        let is_kept = |path: &PathBuf| {
            self.kept
                .as_ref()
                .is_some_and(|kept| path.starts_with(kept))
        };
        if paths.iter().all(is_kept) {
            durability = Durability::Immediate;
        }
        let when = match &change {
            Change::Make { new, .. } => new.changed,
            _ => self.time(),
        };
        let step = Arc::new(Step {
            change,
            when,
            paths: paths.to_vec(),
            durability,
        });
        self.now.advance(&step);
        self.steps.push(step);
    }

    fn go_to(&mut self, at: usize) {
        assert!(at <= self.steps.len(), "no crash point {at}");
        if self.cursor.0 > at {
            self.cursor = (0, self.base.clone());
        }
        while self.cursor.0 < at {
            self.cursor.1.advance(&self.steps[self.cursor.0]);
            self.cursor.0 += 1;
        }
    }

    /// The computers after a kill that follows `at` steps, or is in the middle of the next one.
    fn kills(&self, at: usize) -> Vec<Crash> {
        let state = &self.cursor.1;
        let killed = |state: State| Machine::with(self.with(self.boot, state));
        let mut crashes = vec![Crash {
            fate: Words::new(|| "killed".to_owned()),
            machine: killed(state.clone()),
        }];
        let Some(next) = self.steps.get(at).cloned() else {
            return crashes;
        };
        let Change::Write {
            file,
            at,
            ref bytes,
        } = next.change
        else {
            return crashes;
        };
        let mut parts = vec![bytes.len() / 2, bytes.len().saturating_sub(1)];
        parts.retain(|part| *part > 0);
        parts.dedup();
        for part in parts {
            let bytes = bytes[..part].to_vec();
            let mut state = state.clone();
            state.advance(&Arc::new(Step {
                change: Change::Write { file, at, bytes },
                when: next.when,
                paths: next.paths.clone(),
                durability: next.durability,
            }));
            let next = Arc::clone(&next);
            crashes.push(Crash {
                fate: Words::new(move || format!("killed in {next}, after {part} bytes")),
                machine: killed(state),
            });
        }
        crashes
    }

    /// The computer starts with this disk.
    fn boot(&self, mut disk: Disk) -> Machine {
        let mut file = ROOT;
        for name in BOOT {
            let entries = disk.entries(file).expect("it is a directory");
            file = *entries
                .get(name.as_ref() as &std::ffi::OsStr)
                .expect("it has a boot id");
        }
        let boot = self.boot + 1;
        disk.edit(file).content = Content::File(boot_id(self.device, boot));
        Machine::with(self.with(boot, State::durable(disk)))
    }
}

fn boot_id(device: u64, boot: u64) -> Vec<u8> {
    format!("{device:08x}-0000-4000-8000-{boot:012x}\n").into_bytes()
}

pub(super) fn lock(inner: &Mutex<Inner>) -> MutexGuard<'_, Inner> {
    inner.lock().unwrap_or_else(PoisonError::into_inner)
}
