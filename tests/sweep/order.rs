//! The order of the syncs of a batch: the calls are made in it, and on a file system with a journal nothing is lost with it.

use super::calls::Call;
use super::controls::{powered, red, until_red};
use super::device::Kind;
use super::letters::seed_with_lines;
use super::scenario::{BATCH_COPIES, Setting};
use super::story::{Ground, Power, Strike, count};
use super::sweeps::{Done, Points, cuts, green, journal_cuts, sweep, sweep_until, unordered_cuts};
use super::tracer::{Outcome, Plan};
use crate::world::{World, skip, lossy};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A room on a file system with a journal, and a program that uses the order by the journal on every file system. Its
/// batches are small, so that their files are written back one by one.
fn journal(seed: u64) -> Setting {
    let env = vec![("MAILBAG_FAILPOINT", "sync-order".to_owned()), (BATCH_COPIES, "3".to_owned())];
    Setting { journal: true, env, ..powered(seed_with_lines(seed)) }
}

fn without(fault: &str) -> Setting {
    let fault = ("MAILBAG_FAILPOINT", fault.to_owned());
    Setting { env: [journal(42).env, vec![fault]].concat(), ..journal(42) }
}

/// The files and directories that are not on the disk at a call of a run.
#[derive(Default)]
struct Dirty {
    staged: BTreeSet<PathBuf>,
    directories: BTreeSet<PathBuf>,
    is_log: bool,
}

/// Finds calls in the wrong order. Also returns whether a batch was appended before its directories were synced.
fn wrong_order(outcome: &Outcome) -> (Vec<String>, bool) {
    let (mut dirty, mut wrong, mut by_journal) = (Dirty::default(), Vec::new(), false);
    for call in outcome.changes().filter(|call| matches!(call.result, Some(0..))) {
        let Some(path) = call.paths.first() else { continue };
        let is_log = is_in(path, "log") && path.extension().is_some_and(|extension| extension == "ndjson");
        match call.name {
            "write" if is_in(path, "spool/stage") => {
                dirty.staged.insert(path.clone());
            }
            "write" if is_log => {
                let missing = dirty.staged.iter().map(|path| format!("{} is not on the disk, and the log is written", path.display()));
                wrong.extend(missing);
                by_journal |= !dirty.directories.is_empty();
                dirty.is_log = true;
            }
            "fsync" | "fdatasync" | "sync_file_range" => {
                dirty.staged.remove(path);
                dirty.directories.remove(path);
                dirty.is_log &= !is_log || call.name == "sync_file_range";
            }
            "syncfs" => dirty = Dirty::default(),
            name if name.starts_with("rename") => note_move(call, &mut dirty, &mut wrong),
            _ => {}
        }
    }
    (wrong, by_journal)
}

fn is_in(path: &Path, directory: &str) -> bool {
    path.parent().is_some_and(|parent| parent.ends_with(directory))
}

fn note_move(call: &Call, dirty: &mut Dirty, wrong: &mut Vec<String>) {
    let [from, to] = &*call.paths else { return };
    let parents = [from, to].map(|path| path.parent().unwrap_or(path));
    if parents[1].ends_with("spool/claim") {
        dirty.directories.extend(parents.map(Path::to_path_buf));
    }
    if parents[0].ends_with("spool/stage") && dirty.is_log {
        wrong.push(format!("{} is delivered, and the log is not synced", to.display()));
    }
}

#[test]
fn a_batch_is_on_the_disk_before_it_is_delivered_in_both_orders() -> Done {
    // P44, P560
    let (wrong, by_journal) = wrong_order(&count(&powered(41))?);
    assert_eq!((wrong, by_journal), (Vec::new(), false), "memory has no journal");
    let (wrong, by_journal) = wrong_order(&count(&journal(41))?);
    assert_eq!((wrong, by_journal), (Vec::new(), true));
    Ok(())
}

#[test]
fn the_order_of_the_calls_shows_each_missing_step() -> Done {
    for fault in ["sync-order,stage-sync", "sync-order,write-back-wait", "sync-order,log-sync", "stage-sync", "log-sync"] {
        let (wrong, _) = wrong_order(&count(&without(fault))?);
        assert!(!wrong.is_empty(), "nothing shows that {fault} is off");
    }
    Ok(())
}

#[test]
fn the_power_cut_with_the_order_by_the_journal() -> Done {
    // P46, P560
    let setting = journal(43);
    let points = Points::count(&setting)?;
    let cuts_of_journal = journal_cuts(&points.choose(20, 43), 43);
    green("power cuts of a journal", &sweep(Ground::directory, &setting, cuts_of_journal)?)?;
    for kind in [Kind::Ext4, Kind::Xfs] {
        match kind.unavailable() {
            Some(why) => skip(format_args!("power cuts on {kind}: {why}")),
            None => {
                let figures = sweep(|| Ground::device(kind), &setting, cuts(&points.choose(10, 43), 43))?;
                green(&format!("power cuts on {kind} with the order by the journal"), &figures)?;
            }
        }
    }
    Ok(())
}

#[test]
fn a_write_back_or_a_sync_of_the_log_that_fails_loses_nothing() -> Done {
    let setting = Setting { stays: false, power: false, ..journal(47) };
    let made = count(&setting)?.names();
    let mut stories = Vec::new();
    for name in ["sync_file_range", "fdatasync"] {
        let fails = |nth| Plan::Fail { name, nth, errno: libc::EIO, lasting: false };
        stories.extend((1..=made.get(name).copied().unwrap_or_default().min(12)).map(|nth| {
            vec![Strike { plan: fails(nth), power: Power::On }]
        }));
    }
    green("failing calls of the order by the journal", &sweep(Ground::directory, &setting, stories)?)?;
    Ok(())
}

#[test]
fn without_a_step_of_the_order_by_the_journal() -> Done {
    for fault in ["sync-order,stage-sync", "sync-order,write-back-wait", "sync-order,log-sync"] {
        red(fault, journal(44), |setting| {
            let points = Points::count(setting)?.choose(120, 44);
            until_red(setting, journal_cuts(&points, 44))
        })?;
    }
    Ok(())
}

#[test]
fn the_cut_of_an_acknowledged_record_is_noticed() -> Done {
    let setting = without("sync-order,log-sync");
    let points = Points::count(&setting)?.choose(120, 44);
    let figures = sweep_until(40, Ground::directory, &setting, journal_cuts(&points, 44))?;
    let is_noticed = figures.complaints.iter().any(|complaint| complaint.contains("was acknowledged before the cut"));
    assert!(is_noticed, "{figures}");
    Ok(())
}

#[test]
fn without_the_look_at_the_file_system() -> Done {
    red("sync-order", Setting { unordered: true, ..powered(45) }, |setting| {
        let points = Points::count(setting)?.choose(120, 45);
        until_red(setting, unordered_cuts(&points, 45))
    })
}

#[test]
fn an_append_that_does_not_make_the_log_longer_is_never_delivered() -> Done {
    // P561
    let world = World::alice_and_bob();
    world.pass();
    world.drop_file("alice", "hello.json", r#"{"to": "bob", "body": "hello"}"#);
    let run = world.program("run --once").env("MAILBAG_FAILPOINT", "log-grows").output()?;
    let error = lossy(&run.stderr);
    assert!(!run.status.success() && error.contains("instead of"), "{error}");
    assert_eq!(world.bodies("bob"), Vec::<String>::new());
    Ok(())
}
