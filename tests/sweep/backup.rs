//! A backup, killed at every step: the room is as if there had been none, and a copy that is not whole is no room.

use super::ledger::Figures;
use super::scenario::{PROGRAM, Setting, World};
use super::sweeps::{Done, Points, green};
use super::tracer::{End, Plan, Tracer};
use std::io;
use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;

fn program(room: &Path, args: &[&str]) -> io::Result<Output> {
    Command::new(PROGRAM).args(args).arg("--room").arg(room).output()
}

/// One backup beside letters that nobody has routed yet, disturbed; then a router, and another backup.
fn play(plan: Plan) -> io::Result<(Figures, super::tracer::Outcome)> {
    let home = TempDir::new()?;
    let (room, copy) = (home.path().join("room"), home.path().join("copy"));
    let mut world = World::new(&room, Setting { seed: 92, ..Setting::default() })?;
    let mut command = Command::new(PROGRAM);
    command.arg("backup").arg(&copy).arg("--room").arg(&room);
    let outcome = Tracer::new(&room)?.run(command, plan)?;
    let is_whole = copy.join("spool/room").exists();
    if outcome.end == End::Exited(0) && !is_whole {
        world.complain(format!("it ended well without a copy: {}", outcome.stderr));
    }
    if copy.join("spool").exists() && program(&copy, &["run", "--once"])?.status.success() != is_whole {
        world.complain("a copy that is not whole was routed, or a whole one was not".into());
    }
    world.settle()?;
    let again = home.path().join("again");
    for (room, args) in [(&room, ["backup", &again.display().to_string()]), (&again, ["log", "verify"])] {
        let done = program(room, &args)?;
        if !done.status.success() {
            world.complain(format!("{args:?} afterwards: {}", String::from_utf8_lossy(&done.stderr)));
        }
    }
    let reached = usize::from(outcome.end == End::Killed);
    Ok((Figures { points: 1, reached, ..world.figures()? }, outcome))
}

#[test]
fn a_backup_killed_at_any_call() -> Done {
    // P92
    let (mut figures, outcome) = play(Plan::Count)?;
    for (call, moment) in Points::of(outcome).choose(24, 92) {
        figures.add(play(Plan::Kill { call, moment })?.0);
    }
    green("kills of a backup", &figures)
}
