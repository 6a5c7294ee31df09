//! A pass that replaces files of all kinds, and commands that do, killed at every call: the next pass leaves no temporary file.

use super::ledger::Figures;
use super::one_pass::{done, drop_file, new_room, pass};
use super::scenario::PROGRAM;
use super::sweeps::{Done, Points, kill_each};
use super::tracer::{End, Outcome, Plan, Tracer};
use serde_json::json;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

const TIMES: [&str; 2] = ["2026-11-21T10:00:00Z", "2026-11-21T10:05:00Z"];
const LINE: &str = r#"{"id":"01J","t":"2026-11-21T10:00:00Z","type":"agent","sender":"alice","content":"hello?","addressed":["bob"]}"#;

/// A room. Its next pass writes the registry, the claims and the files for people, and cuts out a foreign line.
fn room(room: &Path) -> io::Result<()> {
    new_room(room, &["alice", "bob"])?;
    fs::write(room.join("settings.toml"), "mailbox = true\nadmission = \"open\"\n")?;
    drop_file(room, "alice", "first", json!({"to": "bob", "body": "first"}))?;
    done(pass(room, TIMES[0]))?;
    let conversation = room.join("channels/main/messages.ndjson");
    let text = fs::read_to_string(&conversation)?;
    fs::write(&conversation, format!("{text}{LINE}\n"))?;
    drop_file(room, "alice", "claim", json!({"type": "claim", "claims": ["src/a"]}))?;
    drop_file(room, "alice", "second", json!({"to": "bob", "type": "question", "body": "second"}))?;
    fs::create_dir_all(room.join("outbox/dora"))?;
    drop_file(room, "dora", "new", json!({"to": "alice", "body": "new"}))
}

/// Temporary files outside of the outboxes.
fn temporary_files(at: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(at)? {
        let path = entry?.path();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if path.is_dir() && name != "outbox" {
            found.extend(temporary_files(&path)?);
        } else if name.starts_with('.') && (name.ends_with(".tmp") || name.contains(".clock.")) {
            found.push(path);
        }
    }
    Ok(found)
}

fn play(plan: Plan, command: &dyn Fn(&Path) -> Command) -> io::Result<(Figures, Outcome)> {
    play_without("", plan, command)
}

/// Without the protection `fault` in the pass after the kill.
fn play_without(fault: &str, plan: Plan, command: &dyn Fn(&Path) -> Command) -> io::Result<(Figures, Outcome)> {
    let home = TempDir::new()?;
    let place = home.path().join("room");
    room(&place)?;
    let outcome = Tracer::new(&place)?.run(command(&place), plan)?;
    let reached = usize::from(outcome.end == End::Killed);
    let mut figures = Figures { points: 1, reached, ..Figures::default() };
    let mut next = pass(&place, TIMES[1]);
    next.env("MAILBAG_FAILPOINT", fault);
    done(next)?;
    for path in temporary_files(&place)? {
        figures.left_over(format!("{} after {plan:?}", path.display()));
    }
    Ok((figures, outcome))
}

fn sweep(name: &str, command: &dyn Fn(&Path) -> Command) -> Done {
    kill_each(name, 20, 400, |plan| play(plan, command))
}

#[test]
fn no_temporary_file_of_a_killed_pass_stays() -> Done {
    // P440
    sweep("temporary files of a killed pass", &|room| pass(room, TIMES[1]))
}

#[test]
fn no_temporary_file_of_a_killed_command_stays() -> Done {
    // P440
    sweep("temporary files of a killed command", &|room| {
        let mut add = Command::new(PROGRAM);
        add.args(["agent", "add", "--quiet", "erin", "--room"]).arg(room).env("MAILBAG_TEST_ANCESTRY", "person");
        add
    })
}

#[test]
fn without_the_removal_of_temporary_files() -> Done {
    let command: &dyn Fn(&Path) -> Command = &|room| pass(room, TIMES[1]);
    let (_, outcome) = play(Plan::Count, command)?;
    for (call, moment) in Points::of(outcome).choose(60, 401) {
        if !play_without("leftovers", Plan::Kill { call, moment }, command)?.0.complaints.is_empty() {
            return Ok(());
        }
    }
    Err("no kill notices that the protection is off".into())
}
