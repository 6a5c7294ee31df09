//! A pass finds that an agent has another name, and a call fails, or the pass is killed: until the other name is recorded,
//! claims do not lapse, approvals do not escalate, and decisions wait.

use super::ledger::Figures;
use super::one_pass::{came_once, done, drop_file, new_room, pass};
use super::sweeps::{Done, Points, full, green};
use super::tracer::{End, Outcome, Plan, Tracer};
use libc::{EIO, ENOSPC};
use serde_json::{Value, json};
use std::fs;
use std::io;
use std::path::Path;
use tempfile::TempDir;

const AGENTS: [&str; 5] = ["ana", "anna", "dee", "zoe", "lead"];
const TIMES: [&str; 2] = ["2026-11-21T10:00:00Z", "2026-11-21T10:05:00Z"];
/// The mail in each inbox in the end. Anna has read her own copy of the message to all.
const COPIES: [&str; 7] =
    ["anna: approve", "anna: own", "anna: claimed", "dee: waits", "dee: to-all", "lead: to-all", "zoe: decided"];

fn room(room: &Path) -> io::Result<()> {
    new_room(room, &AGENTS)?;
    drop_file(room, "ana", "claimed", json!({"type": "claim", "claims": ["src"], "lease": "7d"}))?;
    done(pass(room, TIMES[0]))?;
    drop_file(room, "dee", "waits", json!({"type": "claim", "claims": ["src"], "wait": true}))?;
    // The second pass is within the ten seconds that a deadline waits for mail that cannot be read.
    let approval = json!({"to": "ana", "type": "approval", "subject": "Deploy?", "deadline": "295s", "on_deadline": "escalate"});
    drop_file(room, "zoe", "approve", approval)?;
    drop_file(room, "zoe", "to-all", json!({"to": ["ana", "anna", "dee", "lead"], "body": "x"}))?;
    drop_file(room, "zoe", "own", json!({"to": "ana", "body": "x"}))?;
    done(pass(room, TIMES[0]))?;
    // Anna has consumed her own copy.
    for entry in fs::read_dir(room.join("inbox/anna"))?.flatten().filter(|entry| entry.path().is_file()) {
        fs::remove_file(entry.path())?;
    }
    done(pass(room, TIMES[0]))?;
    let mut registry: Value = serde_json::from_slice(&fs::read(room.join("registry.json"))?)?;
    registry["agents"].as_array_mut().expect("a list").retain(|agent| agent["id"] != "ana");
    registry["aliases"]["ana"] = json!("anna");
    fs::write(room.join("registry.json"), registry.to_string())?;
    drop_file(room, "anna", "decided", json!({"type": "decision", "in_reply_to": "zoe/approve", "option": "yes"}))
}

fn play(plan: Plan) -> io::Result<(Figures, Outcome)> {
    let home = TempDir::new()?;
    let place = home.path().join("room");
    room(&place)?;
    let outcome = Tracer::new(&place)?.run(pass(&place, TIMES[1]), plan)?;
    let reached = outcome.end == End::Killed || outcome.failed > 0;
    let mut figures = Figures { points: 1, reached: usize::from(reached), ..Figures::default() };
    for _ in 0..2 {
        done(pass(&place, TIMES[1]))?;
    }
    let log = fs::read_to_string(place.join("log/00000001.ndjson"))?;
    for (mark, times) in [("\"rename\":{", 1), ("\"decide\":{", 1), ("claims-lapsed", 0), ("\"escalate\":{", 0)] {
        if log.matches(mark).count() != times {
            figures.damaged(format!("{mark} is not recorded {times} times"));
        }
    }
    let claims: Value = serde_json::from_slice(&fs::read(place.join("claims.json"))?)?;
    if claims["claims"][0]["owner"] != "anna" {
        figures.damaged(format!("the claim is not that of anna: {claims}"));
    }
    came_once(&place, &AGENTS, &COPIES, &mut figures)?;
    let after = format!("\n    after {plan:?}, {:?}: {}", outcome.end, outcome.stderr);
    figures.complaints.iter_mut().for_each(|complaint| complaint.push_str(&after));
    Ok((figures, outcome))
}

#[test]
fn a_change_of_a_name_in_which_a_call_fails_or_that_is_killed() -> Done {
    // P143, P144
    let (mut figures, outcome) = play(Plan::Count)?;
    let names = outcome.names();
    for (name, errno) in [("pwrite64", ENOSPC), ("write", ENOSPC), ("openat", EIO), ("renameat2", EIO), ("fdatasync", EIO)] {
        let calls = names.get(name).copied().unwrap_or_default();
        let step = if full() { 1 } else { calls.div_ceil(8).max(1) };
        for nth in (1..=calls).step_by(step) {
            figures.add(play(Plan::Fail { name, nth, errno, lasting: false })?.0);
        }
    }
    for (call, moment) in Points::of(outcome).choose(7, 144) {
        figures.add(play(Plan::Kill { call, moment })?.0);
    }
    green("changes of a name with a call that fails, or killed", &figures)
}
