//! A pass that opens, decides, expires and escalates, killed at every step: in the end each of that has happened once.

use super::ledger::Figures;
use super::one_pass::{came_once, done, drop_file, new_room, pass};
use super::sweeps::{Done, kill_each};
use super::tracer::{Outcome, Plan, Tracer};
use crate::approvals::decision;
use serde_json::{Value, json};
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};
use tempfile::TempDir;

const AGENTS: [&str; 5] = ["alice", "bob", "carol", "lead", "zoe"];
/// The time of the first pass, and the time of the killed pass.
const TIMES: [&str; 2] = ["2026-11-21T10:00:00Z", "2026-11-21T10:05:00Z"];
/// The mail in each inbox in the end.
const COPIES: [&str; 16] = [
    "bob: both", "carol: both", "human: late", "bob: in-time", "bob: up", "bob: new", "zoe: p1", "alice: o1",
    // The first of two decisions in the order of the outboxes counts.
    "alice: yes-both", "carol: yes-both", "carol: rejected: decided already",
    "alice: decided by the deadline: no", "human: decided by the deadline: no",
    "alice: yes-in-time", "human: undecided: “Deploy?”", "lead: disagreement: “Use sqlite”",
];

fn approval(to: Value, more: Value) -> Value {
    let mut message = json!({"to": to, "type": "approval", "subject": "Deploy?"});
    message.as_object_mut().expect("fields").extend(more.as_object().expect("fields").clone());
    message
}

/// A room with approvals of all kinds, and the mail for the killed pass.
fn room(room: &Path) -> io::Result<()> {
    new_room(room, &AGENTS)?;
    fs::write(room.join("settings.toml"), "[escalation]\nattempts = 1\nsupervisor = \"lead\"\n")?;
    drop_file(room, "alice", "both", approval(json!(["bob", "carol"]), json!({})))?;
    drop_file(room, "alice", "late", approval(json!("human"), json!({"deadline": "1m", "on_deadline": "no"})))?;
    drop_file(room, "alice", "in-time", approval(json!("bob"), json!({"deadline": "1m", "on_deadline": "no"})))?;
    drop_file(room, "alice", "up", approval(json!("bob"), json!({"deadline": "1m", "on_deadline": "escalate"})))?;
    drop_file(room, "alice", "p1", json!({"to": "zoe", "type": "proposal", "body": "Use sqlite"}))?;
    done(pass(room, TIMES[0]))?;
    drop_file(room, "alice", "new", approval(json!("bob"), json!({"deadline": "1h"})))?;
    drop_file(room, "bob", "yes-both", decision("alice/both", "yes"))?;
    drop_file(room, "carol", "no-both", decision("alice/both", "no"))?;
    drop_file(room, "bob", "yes-in-time", decision("alice/in-time", "yes"))?;
    drop_file(room, "zoe", "o1", json!({"to": "alice", "type": "objection", "in_reply_to": "p1", "body": "Too slow"}))?;
    let half_a_minute = SystemTime::UNIX_EPOCH + Duration::from_secs(1_795_255_230);
    File::options().append(true).open(room.join("outbox/bob/yes-in-time.json"))?.set_modified(half_a_minute)
}

/// The killed pass, the passes after it, and everything that is wrong then.
pub(super) fn play(plan: Plan) -> io::Result<(Figures, Outcome)> {
    let home = TempDir::new()?;
    let place = home.path().join("room");
    room(&place)?;
    let outcome = Tracer::new(&place)?.run(pass(&place, TIMES[1]), plan)?;
    let mut figures = Figures::of(&outcome);
    for _ in 0..2 {
        done(pass(&place, TIMES[1]))?;
    }
    let mut steps = Vec::new();
    for entry in fs::read_dir(place.join("log"))?.flatten() {
        for line in fs::read_to_string(entry.path())?.lines() {
            let record: Value = serde_json::from_str(line)?;
            steps.extend(record["decision"].as_object().map(|step| Value::Object(step.clone()).to_string()));
        }
    }
    let outcomes = ["\"decide\":{\"approval\":\"alice/both\"", "\"expire\":{\"approval\":\"alice/late\"",
        "\"decide\":{\"approval\":\"alice/in-time\"", "\"escalate\":{\"approval\":\"alice/up\"", "\"dispute\":{"];
    for outcome in outcomes {
        if steps.iter().filter(|step| step.contains(outcome)).count() != 1 {
            figures.damaged(format!("{outcome} is not recorded once: {steps:?}"));
        }
    }
    if steps.len() != 12 {
        figures.damaged(format!("{} steps: {steps:?}", steps.len()));
    }
    came_once(&place, &AGENTS, &COPIES, &mut figures)?;
    Ok((figures, outcome))
}

#[test]
fn a_pass_that_decides_killed_at_any_call() -> Done {
    // P130, P131, P133, P139
    kill_each("kills of a pass that decides", 13, 130, play)
}
