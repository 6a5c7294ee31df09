//! A pass that announces mail of an idle session again, killed at every step.

use super::ledger::Figures;
use super::one_pass::{done, new_room};
use super::scenario::PROGRAM;
use super::sweeps::{Done, kill_each};
use super::tracer::{Outcome, Plan, Tracer};
use serde_json::{Value, json};
use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

fn mailbag(room: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    command.arg("--room").arg(room).args(words).env("MAILBAG_TRUST_DIR", room.with_file_name("trust")).env("MAILBAG_TEST_ANCESTRY", "person");
    command
}

/// A pass that announces old mail again, killed at every step: it is announced again at most once, and the human is
/// notified.
#[test]
fn a_pass_that_announces_mail_again_killed_at_any_call() -> Done {
    // P199
    let home = TempDir::new()?;
    let original = home.path().join("room");
    left_unread(&original)?;
    kill_each("kills of a pass that announces mail again", 10, 199, |plan| announce_again(&original, plan))
}

fn at(room: &Path, time: &str, words: &[&str]) -> Command {
    let mut command = mailbag(room, words);
    command.env("MAILBAG_TEST_NOW", format!("2026-01-05T{time}:00Z"));
    command
}

/// A room where bob's session was notified of its mail, and has been idle since.
pub(super) fn left_unread(room: &Path) -> io::Result<()> {
    new_room(room, &["alice", "bob"])?;
    fs::write(room.join("outbox/alice/m1.json"), json!({"id": "m1", "to": "bob", "body": "hello"}).to_string())?;
    done(at(room, "10:00", &["run", "--once", "--quiet"]))?;
    for event in ["SessionStart", "UserPromptSubmit", "Stop"] {
        let input = home_file(room, json!({"hook_event_name": event, "session_id": "s1", "source": "startup"}))?;
        let mut hook = at(room, "10:01", &["hook", "codex", "--as", "bob"]);
        hook.stdin(input).current_dir(room);
        done(hook)?;
    }
    Ok(())
}

fn home_file(room: &Path, input: Value) -> io::Result<fs::File> {
    let path = room.with_file_name("input");
    fs::write(&path, input.to_string())?;
    fs::File::open(path)
}

pub(super) fn announce_again(original: &Path, plan: Plan) -> io::Result<(Figures, Outcome)> {
    let home = TempDir::new()?;
    let room = home.path().join("room");
    let mut copy = Command::new("cp");
    copy.arg("-a").arg(original).arg(&room);
    done(copy)?;
    done(at(&room, "10:02", &["init", "--adopt", "--quiet"]))?;
    let outcome = Tracer::new(&room)?.run(at(&room, "16:10", &["run", "--once", "--quiet"]), plan)?;
    let mut figures = Figures::of(&outcome);
    for time in ["16:11", "16:40", "16:41"] {
        done(at(&room, time, &["run", "--once", "--quiet"]))?;
    }
    let log = fs::read_to_string(room.join("log/00000001.ndjson"))?;
    match log.matches("\"about\":\"stale:bob:").count() {
        0 => figures.lost("the human was not told".to_owned()),
        1 => {}
        n => figures.duplicated(format!("the human was told {n} times")),
    }
    done(mailbag(&room, &["log", "verify"]))?;
    Ok((figures, outcome))
}
