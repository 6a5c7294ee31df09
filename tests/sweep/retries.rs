//! A retry of a rejected line, of a file and with a replacement, killed at every step and repeated: it is delivered once.

use super::controls::red;
use super::ledger::Figures;
use super::one_pass::{done, new_room, pass};
use super::scenario::{PROGRAM, Setting};
use super::sweeps::{Done, Points, WORKERS, green, side_by_side};
use super::tracer::{Outcome, Plan, Tracer};
use serde_json::Value;
use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

const NOW: &str = "2026-11-23T08:00:00Z";

/// The kind of mail that is sent again.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Line,
    File,
    Replaced,
}

/// The retry of the only rejection.
fn retry(room: &Path, kind: Kind, setting: &Setting) -> Command {
    let mut command = Command::new(PROGRAM);
    command.args(["rejected", "retry"]).args(if kind == Kind::Replaced { ["2"] } else { ["--all"] }).arg("--room").arg(room).env("MAILBAG_TEST_NOW", NOW);
    if kind == Kind::Replaced {
        command.arg(room.with_file_name("replacement.json"));
    }
    command.env("MAILBAG_TEST_ANCESTRY", "person");
    command.envs(setting.env.iter().map(|(name, value)| (*name, value)));
    command
}

fn play(setting: &Setting, kind: Kind, plan: Plan) -> io::Result<(Figures, Outcome)> {
    let home = TempDir::new()?;
    let room = home.path().join("room");
    new_room(&room, &["alice", "bob"])?;
    let line = "{\"to\": \"bbo\", \"body\": \"the letter\"}\n";
    let name = if kind == Kind::Line { "x.ndjson" } else { "x.json" };
    fs::write(room.join("outbox/alice").join(name), if kind == Kind::Replaced { "{}" } else { line })?;
    fs::write(home.path().join("replacement.json"), line)?;
    done(pass(&room, NOW))?;
    let mut add = Command::new(PROGRAM);
    add.args(["agent", "add", "bbo", "--quiet", "--room"]).arg(&room);
    done(add)?;
    let outcome = Tracer::new(&room)?.run(retry(&room, kind, setting), plan)?;
    let mut figures =
        Figures::of(&outcome);
    // The person repeats the command, as long as the rejection is listed.
    for _ in 0..2 {
        let _ = retry(&room, kind, setting).output()?;
        let mut later = pass(&room, NOW);
        later.envs(setting.env.iter().map(|(name, value)| (*name, value)));
        done(later)?;
    }
    let mut came = 0;
    for entry in fs::read_dir(room.join("inbox/bbo"))?.flatten().filter(|entry| entry.path().is_file()) {
        came += usize::from(serde_json::from_slice::<Value>(&fs::read(entry.path())?)?["body"] == "the letter");
    }
    match came {
        0 => figures.lost(format!("the letter, {kind:?}")),
        1 => {}
        n => figures.duplicated(format!("the letter came {n} times, {kind:?}")),
    }
    for left in fs::read_dir(room.join("rejected/alice"))?.flatten() {
        figures.left_over(format!("{}, {kind:?}", left.path().display()));
    }
    let after = format!("\n    after {plan:?}, {:?}: {}", outcome.end, outcome.stderr);
    figures.complaints.iter_mut().for_each(|complaint| complaint.push_str(&after));
    Ok((figures, outcome))
}

fn kills(setting: &Setting, kind: Kind, most: usize, enough: usize) -> io::Result<Figures> {
    let (mut figures, outcome) = play(setting, kind, Plan::Count)?;
    let points = Points::of(outcome).choose(most, setting.seed);
    let kills = side_by_side(WORKERS, points, enough, |_, (call, moment)| {
        Ok(play(setting, kind, Plan::Kill { call, moment })?.0)
    })?;
    figures.add(kills);
    Ok(figures)
}

#[test]
fn a_retry_killed_at_any_call_and_repeated() -> Done {
    // P290
    for (seed, kind) in [(61, Kind::Line), (62, Kind::File), (63, Kind::Replaced)] {
        let figures = kills(&Setting { seed, ..Setting::default() }, kind, 18, usize::MAX)?;
        green(&format!("kills of a retry, {kind:?}"), &figures)?;
    }
    Ok(())
}

#[test]
fn without_the_look_up_of_an_earlier_retry() -> Done {
    red("retry-check", Setting { seed: 64, ..Setting::default() }, |setting| kills(setting, Kind::Line, 200, 1))
}
