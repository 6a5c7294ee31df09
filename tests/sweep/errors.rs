//! Calls that fail, once or from then on, and a disk that is really full: nothing is lost, and once the cause is gone
//! everything arrives exactly once.

use super::device::program;
use super::letters::Random;
use super::ledger::Figures;
use super::scenario::{Setting, World};
use super::story::{Ground, Power, Strike, count};
use super::sweeps::{Done, full, green, sweep};
use super::tracer::{End, Plan, Tracer};
use crate::town::is_root;
use libc::{ EACCES, EDQUOT, EEXIST, EINTR, EIO, EMFILE, ENODEV, ENOSPC, ENOTCONN, EREMOTEIO, ESTALE, ETIMEDOUT, EUCLEAN, EXDEV, };
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::PathBuf;
use tempfile::TempDir;

/// The errors that are injected into each call.
pub(crate) const ERRORS: [(&str, &[i32]); 13] = [
    ("openat", &[EMFILE, EACCES, EIO, ENOSPC]),
    ("openat2", &[EMFILE, EACCES, EIO]),
    ("read", &[EIO, EINTR]),
    ("getdents64", &[EIO]),
    ("write", &[ENOSPC, EIO, EDQUOT, EINTR]),
    ("pwrite64", &[ENOSPC, EIO]),
    ("renameat2", &[ENOSPC, EIO, EACCES, EXDEV, EEXIST]),
    ("renameat", &[ENOSPC, EIO, EACCES]),
    ("unlinkat", &[EIO, EACCES]),
    ("mkdirat", &[ENOSPC, EACCES]),
    ("fsync", &[EIO, ENOSPC]),
    ("fdatasync", &[EIO, ENOSPC]),
    ("syncfs", &[EIO]),
];

#[test]
fn every_call_may_fail_once_or_from_then_on() -> Done {
    let setting = Setting { seed: 21, worklog: true, ..Setting::default() };
    let made = count(&setting)?.names();
    let some = if full() { 1 } else { 2 };
    let stories = failures(&made, 21).into_iter().step_by(some).collect();
    let figures = sweep(Ground::directory, &setting, stories)?;
    green("calls that fail", &figures)
}

// P144
#[test]
fn any_call_may_fail_while_an_agent_gets_another_name() -> Done {
    let setting = Setting { seed: 32, joins: true, ..Setting::default() };
    let made = count(&setting)?.names();
    let some = if full() { 1 } else { 8 };
    let stories = failures(&made, 32).into_iter().step_by(some).collect();
    let figures = sweep(Ground::directory, &setting, stories)?;
    green("calls that fail around a change of a name", &figures)
}

#[test]
fn no_file_that_can_t_be_opened_at_the_start_spoils_the_log() -> Done {
    let setting = Setting { seed: 21, ..Setting::default() };
    let fail = |nth| Plan::Fail { name: "openat", nth, errno: EMFILE, lasting: false };
    let some = if full() { 1 } else { 3 };
    let stories = (1..=100).step_by(some).map(|nth| vec![Strike { plan: fail(nth), power: Power::On }]).collect();
    green("files that can't be opened at the start", &sweep(Ground::directory, &setting, stories)?)
}

/// The errors of a broken file system.
const ANY: [i32; 8] = [EIO, ESTALE, ENODEV, ENOTCONN, ETIMEDOUT, EREMOTEIO, EACCES, EUCLEAN];

// P113
#[test]
fn whatever_goes_wrong_in_one_agent_s_directories_is_that_agent_s() -> Done {
    let mut figures = Figures::default();
    for (n, place) in ["outbox/rita", "inbox/rita", "sent/rita", "rejected/rita"].into_iter().enumerate() {
        let chosen = if full() { ANY.to_vec() } else { vec![ANY[n * 2], ANY[n * 2 + 1]] };
        for errno in chosen {
            figures.add(with_one_broken(place, errno)?);
        }
    }
    assert!(figures.reached > 4, "nothing was broken: {figures}");
    green("errors in one agent's directories", &figures)
}

/// A pass with one failing directory, and then clean passes.
fn with_one_broken(place: &'static str, errno: i32) -> io::Result<Figures> {
    let home = TempDir::new()?;
    let mut world = World::new(&home.path().join("room"), Setting { seed: 23, ..Setting::default() })?;
    fs::create_dir_all(world.room().join(place))?;
    let (command, room) = (world.command(), world.room().to_path_buf());
    let acting = RefCell::new(&mut world);
    let outcome = Tracer::new(&room)?.at_call(|call| acting.borrow_mut().act(call)).run(command, Plan::FailIn { place, errno })?;
    if outcome.end != End::Exited(0) {
        world.complain(format!("with error {errno} in {place}: {:?}, {}", outcome.end, outcome.stderr));
    }
    let others = fs::read_dir(room.join("sent/bob")).map_or(0, Iterator::count);
    if others == 0 {
        world.complain(format!("with error {errno} in {place} nobody else's mail was routed"));
    }
    world.settle()?;
    Ok(Figures { points: 1, reached: usize::from(outcome.failed > 0), ..world.figures()? })
}

/// Every call in a full run; otherwise for each error one call that fails alone and one that begins a lasting failure.
pub(crate) fn failures(made: &BTreeMap<&'static str, usize>, seed: u64) -> Vec<Vec<Strike>> {
    let mut random = Random(seed);
    let mut stories = Vec::new();
    for (name, errors) in ERRORS {
        let calls = made.get(name).copied().unwrap_or_default();
        for (&errno, lasting) in errors.iter().flat_map(|errno| [(errno, false), (errno, true)]) {
            // A call that a signal interrupts is repeated immediately, and would be repeated forever.
            if calls == 0 || errno == EINTR && lasting {
                continue;
            }
            let chosen = if full() { (1..=calls).collect() } else { vec![1 + random.below(calls)] };
            stories.extend(chosen.into_iter().map(|nth| {
                vec![Strike { plan: Plan::Fail { name, nth, errno, lasting }, power: Power::On }]
            }));
        }
    }
    stories
}

#[test]
fn a_disk_that_is_full_delays_and_loses_nothing() -> Done {
    if !is_root("full disks") {
        return Ok(());
    }
    let mut figures = Figures::default();
    for kilobytes in [0, 4, 8, 16, 40, 100, 200, 300] {
        figures.add(on_a_full_disk("size=4m", |room| ballast(room, kilobytes))?);
    }
    for files in [0, 1, 2, 5, 20, 60, 90] {
        figures.add(on_a_full_disk("nr_inodes=400", |room| inodes(room, files))?);
    }
    assert!(figures.reached > 3, "the disks were not full: {figures}");
    green("full disks", &figures)
}

/// A small file system in memory, gone when dropped.
struct Small(TempDir);

impl Small {
    fn new(options: &str) -> io::Result<Small> {
        let place = TempDir::new()?;
        program("mount", &["-t", "tmpfs", "-o", options, "tmpfs", &place.path().to_string_lossy()])?;
        Ok(Small(place))
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        if let Err(error) = program("umount", &["-l", &self.0.path().to_string_lossy()]) {
            eprintln!("{} is left over: {error}", self.0.path().display());
        }
    }
}

/// One run on a disk that `fill` has filled, and then clean runs after the filling is removed.
fn on_a_full_disk(options: &str, fill: impl Fn(&Small) -> io::Result<PathBuf>) -> io::Result<Figures> {
    let small = Small::new(options)?;
    // The agents must not need space themselves.
    let setting = Setting { seed: 22, power: true, ..Setting::default() };
    let mut world = World::new(&small.0.path().join("room"), setting)?;
    let filled = fill(&small)?;
    let (command, room) = (world.command(), world.room().to_path_buf());
    let acting = RefCell::new(&mut world);
    let outcome = Tracer::new(&room)?.at_call(|call| acting.borrow_mut().act(call)).run(command, Plan::Count)?;
    if !matches!(outcome.end, End::Exited(code) if code != 101) {
        world.complain(format!("on a full disk, {options}, the router ended as {:?}: {}", outcome.end, outcome.stderr));
    }
    if filled.is_dir() { fs::remove_dir_all(filled)? } else { fs::remove_file(filled)? }
    world.settle()?;
    let mut figures = world.figures()?;
    let full = outcome.calls.iter().any(|call| call.result == Some(-i64::from(ENOSPC)));
    (figures.points, figures.reached) = (1, usize::from(full));
    Ok(figures)
}

/// Fills the disk except for this number of kilobytes.
fn ballast(small: &Small, kilobytes: u64) -> io::Result<PathBuf> {
    let path = small.0.path().join("ballast");
    let mut file = File::create(&path)?;
    loop {
        match file.write_all(&[0; 4096]) {
            Err(error) if error.kind() == ErrorKind::StorageFull => break,
            done => done?,
        }
    }
    let length = file.metadata()?.len();
    file.set_len(length.saturating_sub(kilobytes << 10))?;
    Ok(path)
}

/// Uses up all inodes of the disk except for this number.
fn inodes(small: &Small, files: usize) -> io::Result<PathBuf> {
    let path = small.0.path().join("ballast");
    fs::create_dir(&path)?;
    let mut made = 0;
    loop {
        match File::create(path.join(made.to_string())) {
            Err(error) if error.kind() == ErrorKind::StorageFull => break,
            done => drop(done?),
        }
        made += 1;
    }
    (0..made.min(files)).try_for_each(|n| fs::remove_file(path.join(n.to_string())))?;
    Ok(path)
}
