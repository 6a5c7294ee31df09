//! A router that wakes an agent, killed at every step: no mail wakes twice, and each wake in the log has happened.

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

/// Rings once, and then ends the router that started it.
const BELL: &str = "echo rang >> \"$MAILBAG_ROOM/../rung\"; kill -TERM $PPID";

fn mailbag(room: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    command.arg("--room").arg(room).args(words).env("MAILBAG_TRUST_DIR", room.with_file_name("trust")).env("MAILBAG_TEST_ANCESTRY", "person");
    command
}

/// A room where bob has mail, and a program that wakes him. The program is beside the room, so that only the router's own
/// calls are points.
fn ready(room: &Path) -> io::Result<()> {
    new_room(room, &["alice", "bob"])?;
    let wake = json!({"argv": ["sh", "-c", BELL], "every": "1s"}).to_string();
    done(mailbag(room, &["agent", "set", "bob", "--wake", &wake, "--quiet"]))?;
    fs::write(room.join("outbox/alice/m1.json"), json!({"id": "m1", "to": "bob", "body": "hello"}).to_string())?;
    done(mailbag(room, &["run", "--once", "--quiet"]))
}

fn rung(room: &Path) -> usize {
    fs::read_to_string(room.with_file_name("rung")).unwrap_or_default().lines().count()
}

/// The killed router, the one after it, and everything that is wrong then. The second router ends when it has woken bob for a
/// second message.
fn play(plan: Plan) -> io::Result<(Figures, Outcome)> {
    let home = TempDir::new()?;
    let room = home.path().join("room");
    ready(&room)?;
    let outcome = Tracer::new(&room)?.run(mailbag(&room, &["run", "--quiet", "--poll"]), plan)?;
    let mut figures = Figures::of(&outcome);
    let before = rung(&room);
    fs::write(room.join("outbox/alice/m2.json"), json!({"id": "m2", "to": "bob", "body": "again"}).to_string())?;
    let mut second = Command::new("timeout");
    let router = mailbag(&room, &["run", "--quiet", "--poll"]);
    second.arg("60").arg(router.get_program()).args(router.get_args());
    second.env("MAILBAG_TRUST_DIR", room.with_file_name("trust")).env("MAILBAG_TEST_ANCESTRY", "person");
    done(second)?;
    let after = rung(&room);
    let log = fs::read_to_string(room.join("log/00000001.ndjson"))?;
    let records = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()).collect::<Vec<_>>();
    let first = records.iter().find(|record| record["id"] == "m1").map(|record| record["seq"].clone());
    let requests = records.iter().flat_map(|record| record["wakes"].as_array().into_iter().flatten());
    let alone = json!([first]);
    // A request for both messages is one for the second message.
    match requests.filter(|wake| wake["step"] == "requested" && wake["seqs"] == alone).count() {
        0 if before == 0 => {}
        0 => figures.damaged("bob was woken without a request in the log".to_owned()),
        1 => {}
        n => figures.duplicated(format!("{n} requests for one message")),
    }
    match after - before {
        1 => {}
        0 => figures.lost("the wake for the second message".to_owned()),
        n => figures.duplicated(format!("{n} wakes after the kill")),
    }
    if before > 1 {
        figures.duplicated(format!("{before} wakes before the kill"));
    }
    done(mailbag(&room, &["log", "verify"]))?;
    Ok((figures, outcome))
}

#[test]
fn a_router_that_wakes_an_agent_killed_at_any_call() -> Done {
    // P198
    kill_each("kills of a router that wakes an agent", 6, 198, play)
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
    match log.matches("\"step\":\"again\"").count() {
        0 => figures.lost("the second announcement".to_owned()),
        1 => {}
        n => figures.duplicated(format!("{n} second announcements")),
    }
    match log.matches("\"about\":\"stale:bob:").count() {
        0 => figures.lost("the human was not told".to_owned()),
        1 => {}
        n => figures.duplicated(format!("the human was told {n} times")),
    }
    done(mailbag(&room, &["log", "verify"]))?;
    Ok((figures, outcome))
}
