//! `mailbag up` and `up --undo` on the settings of all clients, killed at each of their calls.

use super::sweeps::{Done, Points};
use super::tracer::{End, Plan, Tracer};
use crate::install::up::Fresh;
use crate::install::up_all::{changed_by_somebody, lived_in};
use std::path::PathBuf;
use std::process::Command;

/// The number of points in a run of the usual size.
const POINTS: usize = 8;

const UNDO: [&str; 2] = ["up", "--undo"];

fn up(fresh: &Fresh) -> Command {
    command(fresh, &["up", "--command", &fresh.program])
}

fn command(fresh: &Fresh, args: &[&str]) -> Command {
    let mut command = fresh.world.bare(args);
    fresh.surround(|name, value| {
        command.env(name, value);
    });
    command.current_dir(fresh.at(""));
    command
}

/// The files of the project with their content. The room has times and random ids, so only its names count.
fn state(fresh: &Fresh) -> Vec<(PathBuf, String)> {
    let (root, world) = (fresh.at(""), fresh.world.path().display().to_string());
    let plain = |(path, bytes): (PathBuf, Vec<u8>)| {
        let below = path.strip_prefix(&root).expect("in the project").to_owned();
        let bytes = if below.starts_with(".mailbag") { Vec::new() } else { bytes };
        let text = String::from_utf8_lossy(&bytes).replace(&world, "WORLD");
        // The seal is the hash of a text with the path of the world.
        let sealed = text.split_once("mailbag:sha256 ");
        let text = sealed.map_or(text.clone(), |(before, seal)| format!("{before}{}", &seal[64..]));
        (below, text)
    };
    // A kill may leave a draft in the room, where only mailbag looks.
    let is_draft = |path: &PathBuf| path.starts_with(".mailbag") && path.extension().is_some_and(|end| end == "tmp");
    fresh.files().into_iter().map(plain).filter(|(path, _)| !is_draft(path)).collect()
}

#[track_caller]
fn same(now: &[(PathBuf, String)], wanted: &[(PathBuf, String)], when: &str) {
    let only = |these: &[(PathBuf, String)], others: &[(PathBuf, String)]| -> Vec<_> {
        these.iter().filter(|file| !others.contains(file)).cloned().collect()
    };
    assert!(now == wanted, "{when}: there is {:?}, and missing is {:?}", only(now, wanted), only(wanted, now));
}

#[test]
fn up_is_killed_anywhere_and_completed_by_the_next_and_undone_to_the_byte() -> Done {
    // P195
    let whole = lived_in();
    let before = state(&whole);
    let outcome = Tracer::new(&whole.at(""))?.run(up(&whole), Plan::Count)?;
    assert_eq!(outcome.end, End::Exited(0), "{}{}", outcome.stdout, outcome.stderr);
    let after = state(&whole);
    let points = Points::of(outcome).choose(POINTS, 1);
    for (n, &(call, moment)) in points.iter().enumerate() {
        let fresh = lived_in();
        let plan = Plan::Kill { call, moment };
        assert_eq!(Tracer::new(&fresh.at(""))?.run(up(&fresh), plan)?.end, End::Killed, "{plan:?}");
        // The person completes it, or undoes the partial setup.
        if n % 2 == 0 {
            fresh.ok("up");
            same(&state(&fresh), &after, &format!("again after {plan:?}"));
        }
        fresh.ok(&UNDO);
        same(&state(&fresh), &before, &format!("undone after {plan:?}"));
    }
    println!("up: killed at {} points, each completed by the next and undone to the byte", points.len());
    Ok(())
}

#[test]
fn undo_is_killed_anywhere_and_finished_by_the_next_to_the_byte() -> Done {
    // P148
    let mut tried = 0;
    for is_changed in [false, true] {
        let used = || {
            let fresh = lived_in();
            fresh.ok("up");
            if is_changed {
                changed_by_somebody(&fresh);
            }
            fresh
        };
        let whole = used();
        let outcome = Tracer::new(&whole.at(""))?.run(command(&whole, &UNDO), Plan::Count)?;
        assert_eq!(outcome.end, End::Exited(0), "{}{}", outcome.stdout, outcome.stderr);
        let wanted = state(&whole);
        let points = Points::of(outcome).choose(POINTS, 2);
        for &(call, moment) in &points {
            let fresh = used();
            let plan = Plan::Kill { call, moment };
            assert_eq!(Tracer::new(&fresh.at(""))?.run(command(&fresh, &UNDO), plan)?.end, End::Killed, "{plan:?}");
            fresh.ok(&UNDO);
            same(&state(&fresh), &wanted, &format!("finished after {plan:?}"));
            let said = fresh.ok(&UNDO);
            assert!(said.starts_with("nothing to undo"), "{plan:?}: {said}");
        }
        tried += points.len();
    }
    println!("up --undo: killed at {tried} points, each finished by the next");
    Ok(())
}
