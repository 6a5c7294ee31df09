//! A pass that finds a changed charter, killed at every step: the change is recorded once, and told once.

use super::ledger::Figures;
use super::one_pass::{done, new_room};
use super::scenario::PROGRAM;
use super::sweeps::{Done, kill_each};
use super::tracer::{Outcome, Plan, Tracer};
use crate::town::so_within;
use serde_json::Value;
use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use tempfile::TempDir;

fn mailbag(room: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    command.arg("--room").arg(room).args(words);
    command
}

/// The subjects of the human's mail.
fn told(room: &Path) -> Vec<String> {
    let mails = fs::read_dir(room.join("inbox/human")).into_iter().flatten().flatten();
    let mails = mails.filter_map(|entry| serde_json::from_slice::<Value>(&fs::read(entry.path()).ok()?).ok());
    mails.filter_map(|mail| mail["subject"].as_str().map(str::to_owned)).collect()
}

/// A room with its charter in the log.
pub(super) fn recorded(room: &Path) -> io::Result<()> {
    new_room(room, &["alice"])?;
    fs::write(room.join("charter.md"), "## Goals\n- Ship\n")?;
    if so_within(Duration::from_secs(60), || done(mailbag(room, &["run", "--once", "--quiet"])).is_ok() && told(room).len() == 1) { Ok(()) } else { Err(io::Error::other("no notice")) }
}

/// The killed pass in a copy of this room without its charter, the passes after it, and everything that is wrong then.
pub(super) fn play(original: &Path, plan: Plan) -> io::Result<(Figures, Outcome)> {
    let home = TempDir::new()?;
    let room = home.path().join("room");
    let mut copy = Command::new("cp");
    copy.arg("-a").arg(original).arg(&room);
    done(copy)?;
    done(mailbag(&room, &["init", "--adopt", "--quiet"]))?;
    fs::remove_file(room.join("charter.md"))?;
    let outcome = Tracer::new(&room)?.run(mailbag(&room, &["run", "--once", "--quiet"]), plan)?;
    let mut figures = Figures::of(&outcome);
    for _ in 0..2 {
        done(mailbag(&room, &["run", "--once", "--quiet"]))?;
    }
    match told(&room).iter().filter(|subject| *subject == "charter.md was removed").count() {
        0 => figures.lost("the removed charter".to_owned()),
        1 => {}
        n => figures.duplicated(format!("the removed charter was told {n} times")),
    }
    let log = fs::read_to_string(room.join("log/00000001.ndjson"))?;
    if log.matches("\"about\":\"charter missing 2\"").count() != 1 || log.matches("\"about\":\"charter ").count() != 2 {
        figures.damaged(log);
    }
    done(mailbag(&room, &["log", "verify"]))?;
    Ok((figures, outcome))
}

#[test]
fn a_pass_that_finds_a_changed_charter_killed_at_any_call() -> Done {
    // P172
    let home = TempDir::new()?;
    let original = home.path().join("room");
    recorded(&original)?;
    kill_each("kills of a pass that finds a changed charter", 10, 172, |plan| play(&original, plan))
}
