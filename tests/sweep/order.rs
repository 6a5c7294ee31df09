//! The order of the syncs of a batch: staged files and all earlier moves, the log, the deliveries.

use super::calls::Call;
use super::controls::powered;
use super::letters::seed_with_lines;
use super::scenario::{BATCH_COPIES, Setting};
use super::story::{Ground, Power, Strike, count};
use super::sweeps::{Done, green, sweep};
use super::tracer::{Outcome, Plan};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A room with small batches, so that their files are synced one by one.
fn small(seed: u64) -> Setting {
    Setting { env: vec![(BATCH_COPIES, "3".to_owned())], ..powered(seed_with_lines(seed)) }
}

fn without(fault: &str) -> Setting {
    let fault = ("MAILBAG_FAILPOINT", fault.to_owned());
    Setting { env: [small(42).env, vec![fault]].concat(), ..small(42) }
}

/// The files and directories that are not on the disk at a call of a run.
#[derive(Default)]
struct Dirty {
    staged: BTreeSet<PathBuf>,
    directories: BTreeSet<PathBuf>,
    is_log: bool,
}

/// Finds calls in the wrong order.
fn wrong_order(outcome: &Outcome) -> Vec<String> {
    let (mut dirty, mut wrong) = (Dirty::default(), Vec::new());
    for call in outcome.changes().filter(|call| matches!(call.result, Some(0..))) {
        let Some(path) = call.paths.first() else { continue };
        let is_log = is_in(path, "log") && path.extension().is_some_and(|extension| extension == "ndjson");
        match call.name {
            "write" if is_in(path, "spool/stage") => {
                dirty.staged.insert(path.clone());
            }
            "write" if is_log => {
                let missing = dirty.staged.iter().chain(&dirty.directories);
                wrong.extend(missing.map(|path| format!("{} is not on the disk, and the log is written", path.display())));
                dirty.is_log = true;
            }
            "fsync" | "fdatasync" => {
                dirty.staged.remove(path);
                dirty.directories.remove(path);
                dirty.is_log &= !is_log;
            }
            "syncfs" => dirty = Dirty::default(),
            name if name.starts_with("rename") => note_move(call, &mut dirty, &mut wrong),
            _ => {}
        }
    }
    wrong
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
fn a_batch_is_on_the_disk_before_it_is_delivered() -> Done {
    // P44, P560
    for setting in [powered(41), small(41)] {
        assert_eq!(wrong_order(&count(&setting)?), Vec::<String>::new());
    }
    Ok(())
}

#[test]
fn the_order_of_the_calls_shows_each_missing_step() -> Done {
    for fault in ["stage-sync", "log-sync"] {
        assert!(!wrong_order(&count(&without(fault))?).is_empty(), "nothing shows that {fault} is off");
    }
    Ok(())
}

#[test]
fn a_sync_that_fails_loses_nothing() -> Done {
    let setting = Setting { stays: false, power: false, ..small(47) };
    let made = count(&setting)?.names();
    let mut stories = Vec::new();
    for name in ["fsync", "fdatasync"] {
        let fails = |nth| Plan::Fail { name, nth, errno: libc::EIO, lasting: false };
        stories.extend((1..=made.get(name).copied().unwrap_or_default().min(12)).map(|nth| {
            vec![Strike { plan: fails(nth), power: Power::On }]
        }));
    }
    green("failing syncs", &sweep(Ground::directory, &setting, stories)?)?;
    Ok(())
}
