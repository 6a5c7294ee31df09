//! The rules of the simulated file system, each in a few lines.

mod bytes;
mod calls;
mod names;
mod sequences;

use super::{CallName, Control, ControlKind, Crash, Failure, Fate, Machine, Node, Random};
use mailbag::disk::fs::{Existing, Fs, Lock, Open, ReadLeaseResult, Sync};
use std::collections::BTreeSet;
use std::io::Result;
use std::path::Path;
use std::sync::Arc;

const BOOT: &str = "/proc/sys/kernel/random/boot_id";
const CUTS: [Fate; 3] = [Fate::Journal, Fate::PerDirectory, Fate::Unordered];

/// A computer with the directories /a and /b.
fn machine() -> Machine {
    let machine = Machine::new();
    machine.make_directory("/a");
    machine.make_directory("/b");
    machine.settle();
    machine
}

fn directory(machine: &Machine, path: &str) -> Arc<dyn Fs> {
    let opened = machine.root().open(Path::new(path), Open::Outside);
    opened.unwrap_or_else(|e| panic!("{path}: {e}"))
}

fn new_file(directory: &Arc<dyn Fs>, name: &str, bytes: &[u8]) -> Result<Arc<dyn Fs>> {
    let file = directory.open(Path::new(name), Open::Make(0o644))?;
    file.write_at(bytes, 0)?;
    Ok(file)
}

/// A file with durable bytes in /a.
fn durable_file(machine: &Machine, bytes: &[u8]) -> Result<Arc<dyn Fs>> {
    machine.write("/a/x", bytes);
    machine.settle();
    directory(machine, "/a").open(Path::new("x"), Open::Change)
}

fn move_file(from: &Arc<dyn Fs>, name: &str, to: &Arc<dyn Fs>, new: &str) -> Result<()> {
    from.rename(Path::new(name), &**to, Path::new(new), Existing::Keep)
}

/// The computers after a power cut at the end.
fn crashes(machine: &Machine, fate: Fate) -> Vec<Crash> {
    machine.crashes(machine.steps(), &[fate], &mut Random::new(1))
}

/// The contents of a file after each crash; `-` if it is missing.
fn contents(machine: &Machine, fate: Fate, path: &str) -> BTreeSet<String> {
    let crashes = crashes(machine, fate).into_iter();
    crashes.map(|crash| content(&crash.machine, path)).collect()
}

fn content(machine: &Machine, path: &str) -> String {
    let bytes = machine.read(path);
    bytes.map_or("-".to_owned(), |bytes| {
        String::from_utf8_lossy(&bytes).replace('\0', "0")
    })
}

/// The existence of these files after each crash.
fn there(machine: &Machine, fate: Fate, paths: &[&str]) -> BTreeSet<Vec<bool>> {
    let crashes = crashes(machine, fate).into_iter();
    let exist = |crash: Crash| {
        paths
            .iter()
            .map(|path| crash.machine.exists(path))
            .collect()
    };
    crashes.map(exist).collect()
}

fn texts<const N: usize>(texts: [&str; N]) -> BTreeSet<String> {
    texts.map(str::to_owned).into()
}

fn control(kind: ControlKind, name: CallName) -> Option<Control> {
    let matches = Arc::new(move |call: &super::Call| call.name == name);
    Some(Control { kind, matches })
}

#[test]
fn a_kill_takes_nothing_and_a_later_power_cut_can() -> Result<()> {
    let machine = machine();
    new_file(&directory(&machine, "/a"), "x", b"12")?;
    let killed = crashes(&machine, Fate::Kill).remove(0).machine;
    assert_eq!(content(&killed, "/a/x"), "12");
    assert_eq!(killed.steps(), 0);
    assert_eq!(killed.fingerprint(), machine.fingerprint());
    assert!(contents(&killed, Fate::Unordered, "/a/x").contains("-"));
    Ok(())
}

#[test]
fn many_steps_are_sampled() -> Result<()> {
    let machine = machine();
    let a = directory(&machine, "/a");
    for number in 0..40 {
        new_file(&a, &number.to_string(), b"text")?;
    }
    for fate in CUTS {
        let found = crashes(&machine, fate).len();
        assert!((4..400).contains(&found), "{fate:?} {found}");
    }
    Ok(())
}

#[test]
fn changes_of_other_programs_are_durable_immediately() -> Result<()> {
    let machine = machine();
    let a = directory(&machine, "/a");
    new_file(&a, "x", b"1")?;
    machine.write("/a/x", "2");
    machine.write("/a/new/y", "3");
    machine.rename("/a/new/y", "/b/y");
    for fate in CUTS {
        assert_eq!(contents(&machine, fate, "/a/x"), texts(["2"]), "{fate:?}");
        assert_eq!(contents(&machine, fate, "/b/y"), texts(["3"]), "{fate:?}");
    }
    machine.remove("/a");
    assert_eq!(
        there(&machine, Fate::Journal, &["/a"]),
        [vec![false]].into()
    );
    Ok(())
}

#[test]
fn copies_are_independent() -> Result<()> {
    let machine = machine();
    let (one, other) = (machine.copy(), machine.clone());
    assert_eq!(one.fingerprint(), other.fingerprint());
    new_file(&directory(&one, "/a"), "x", b"1")?;
    assert!(!other.exists("/a/x") && !machine.exists("/a/x"));
    assert_ne!(one.fingerprint(), other.fingerprint());
    new_file(&directory(&other, "/a"), "x", b"1")?;
    assert_eq!(one.fingerprint(), other.fingerprint());
    directory(&one, "/a").sync(Sync::Full)?;
    assert_ne!(
        one.fingerprint(),
        other.fingerprint(),
        "only one name is durable"
    );
    let to = directory(&other, "/b");
    let error = move_file(&directory(&one, "/a"), "x", &to, "x").expect_err("another computer");
    assert_eq!(error.raw_os_error(), Some(libc::EXDEV));
    Ok(())
}

#[test]
fn only_a_power_cut_changes_the_boot() -> Result<()> {
    let machine = machine();
    let boot = content(&machine, BOOT);
    assert_eq!(contents(&machine, Fate::Kill, BOOT), texts([&boot]));
    for fate in CUTS {
        assert!(!contents(&machine, fate, BOOT).contains(&boot));
    }
    assert_ne!(content(&Machine::new(), BOOT), boot);
    Ok(())
}

#[test]
fn five_hundred_points_take_less_than_a_second() -> Result<()> {
    let machine = machine();
    let (a, b) = (directory(&machine, "/a"), directory(&machine, "/b"));
    while machine.steps() < 500 {
        let name = machine.steps().to_string();
        let file = new_file(&a, &name, b"some text")?;
        file.sync(Sync::Full)?;
        move_file(&a, &name, &b, &name)?;
        a.sync(Sync::Full)?;
        b.sync(Sync::Full)?;
    }
    let start = std::time::Instant::now();
    let mut random = Random::new(7);
    let mut found = 0;
    for at in 0..=machine.steps() {
        found += machine.crashes(at, &Fate::ALL, &mut random).len();
    }
    assert!(found > 1500, "{found}");
    println!("{found} crashes in {:?}", start.elapsed());
    assert!(
        start.elapsed().as_secs() < 5,
        "{found} crashes in {:?}",
        start.elapsed()
    );
    Ok(())
}
