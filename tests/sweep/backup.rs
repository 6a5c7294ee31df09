//! A backup, disturbed at every step: it does not change the room, and an incomplete copy is not a room.

use super::controls::red;
use super::errors::ERRORS;
use super::ledger::Figures;
use super::letters::Random;
use super::scenario::{PROGRAM, Setting, World};
use super::story::Ground;
use super::sweeps::{Done, Points, full, green, kill_each};
use super::tracer::{End, Outcome, Plan, Tracer};
use super::weak::Unsynced;
use std::io;
use std::path::Path;
use std::process::{Command, Output};
use walkdir::WalkDir;

fn program(room: &Path, args: &[&str]) -> io::Result<Output> {
    Command::new(PROGRAM).args(args).arg("--room").arg(room).output()
}

fn setting(seed: u64) -> Setting {
    Setting { seed, power: true, unordered: true, ..Setting::default() }
}

/// The files of a room that a copy has byte for byte, below their directories.
fn kept(room: &Path) -> io::Result<Vec<(String, Vec<u8>)>> {
    let mut files = Vec::new();
    for place in ["outbox", "inbox", "log", "sent", "registry.json"] {
        for entry in WalkDir::new(room.join(place)).sort_by_file_name().into_iter().filter_map(Result::ok) {
            let name = entry.path().strip_prefix(room).expect("it is inside").display().to_string();
            if entry.file_type().is_file() && !name.split('/').any(|part| part.starts_with('.')) {
                files.push((name, std::fs::read(entry.path())?));
            }
        }
    }
    Ok(files)
}

/// Commands that use a copy although it is not whole, or do not use a whole one.
fn uses_of(copy: &Path, is_whole: bool) -> io::Result<Vec<String>> {
    let (before, mut complaints) = (kept(copy)?, Vec::new());
    let place = copy.display().to_string();
    for args in [&["init", "--adopt", &place][..], &["init", &place], &["inbox", "alice"], &["run", "--once"]] {
        let done = program(copy, args)?;
        let said = String::from_utf8_lossy(&done.stderr);
        if done.status.success() != is_whole || !is_whole && !said.contains("did not finish this copy") {
            complaints.push(format!("{args:?} with a copy that is whole: {is_whole}: {said}"));
        }
    }
    if !is_whole && kept(copy)? != before {
        complaints.push("a command changed a copy that is not whole".into());
    }
    Ok(complaints)
}

/// One disturbed backup beside unrouted letters, with a power cut at its end if `cut` is given; then a router, and another
/// backup.
fn play(setting: &Setting, plan: Plan, cut: Option<u64>) -> io::Result<(Figures, Outcome)> {
    let ground = Ground::directory()?;
    let home = ground.room().parent().expect("a directory").to_path_buf();
    let (room, copy) = (home.join("room"), home.join("copy"));
    let mut world = World::new(&room, setting.clone())?;
    let before = kept(&room)?;
    let mut command = world.program(&["backup"]);
    command.arg(&copy);
    let mut unsynced = Unsynced::default();
    let outcome = Tracer::new(&home)?.at_call(|call| unsynced.about_to(call)).run(command, plan)?;
    unsynced.ended(&outcome);
    if let Some(seed) = cut {
        world.power_went();
        unsynced.undo(&mut Random(seed))?;
    }
    let is_whole = copy.join("spool/room").exists() && !copy.join("INCOMPLETE").exists();
    if matches!(outcome.end, End::Exited(101) | End::Hung | End::Signalled(_)) {
        world.complain(format!("{plan:?}: it ended as {:?}: {}", outcome.end, outcome.stderr));
    }
    if outcome.end == End::Exited(0) && !is_whole {
        world.complain(format!("it ended well without a copy: {}", outcome.stderr));
    }
    if is_whole && kept(&copy)? != before {
        world.complain(format!("{plan:?}, cut {cut:?}: the copy counts as whole and lacks something"));
    }
    if copy.join("registry.json").exists() || copy.join("log").exists() || copy.join("spool").exists() {
        for complaint in uses_of(&copy, is_whole)? {
            world.complain(format!("{plan:?}, cut {cut:?}: {complaint}"));
        }
    }
    world.settle()?;
    let again = home.join("again");
    for (room, args) in [(&room, ["backup", &again.display().to_string()]), (&again, ["log", "verify"])] {
        let done = program(room, &args)?;
        if !done.status.success() {
            world.complain(format!("{args:?} afterwards: {}", String::from_utf8_lossy(&done.stderr)));
        }
    }
    let reached = usize::from(outcome.end == End::Killed || outcome.failed > 0);
    Ok((Figures { points: 1, reached, ..world.figures()? }, outcome))
}

/// Power cuts during a backup, and after its end.
fn cuts(setting: &Setting, enough: usize) -> io::Result<Figures> {
    let (mut figures, outcome) = play(setting, Plan::Count, Some(setting.seed))?;
    // The copy counts as whole from here on, and the pass at the end has not synced anything yet.
    let whole = outcome.changes().filter(|call| call.paths.iter().any(|path| path.ends_with("copy/INCOMPLETE")));
    let whole = whole.filter_map(|call| call.number).last().unwrap_or_default();
    let calls: Vec<usize> = (whole..whole + 4).collect();
    let points = Points::of(outcome);
    for (n, (call, moment)) in [points.sides_of(&calls), points.choose(6, setting.seed)].concat().into_iter().enumerate() {
        figures.add(play(setting, Plan::Kill { call, moment }, Some(setting.seed ^ (n as u64) << 8))?.0);
        if figures.complaints.len() >= enough {
            break;
        }
    }
    Ok(figures)
}

#[test]
fn a_backup_killed_at_any_call() -> Done {
    // P92
    let setting = Setting { seed: 92, ..Setting::default() };
    kill_each("kills of a backup", 24, 92, |plan| play(&setting, plan, None))
}

#[test]
fn the_power_cut_during_a_backup_and_after_it() -> Done {
    // P92
    green("power cuts of a backup", &cuts(&setting(93), usize::MAX)?)
}

#[test]
fn a_backup_in_which_any_call_fails() -> Done {
    // P92
    let setting = Setting { seed: 94, ..Setting::default() };
    let (mut figures, outcome) = play(&setting, Plan::Count, None)?;
    let (made, mut random) = (outcome.names(), Random(94));
    for (name, errors) in ERRORS {
        let calls = made.get(name).copied().unwrap_or_default();
        for &errno in errors.iter().filter(|errno| calls > 0 && **errno != libc::EINTR) {
            let chosen = if full() { (1..=calls).collect() } else { vec![1 + random.below(calls)] };
            for nth in chosen {
                figures.add(play(&setting, Plan::Fail { name, nth, errno, lasting: false }, None)?.0);
            }
        }
    }
    green("calls of a backup that fail", &figures)
}

#[test]
fn without_the_sync_of_a_backup() -> Done {
    red("backup-sync", setting(95), |setting| cuts(setting, 1))
}
