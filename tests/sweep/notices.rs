//! The router writes messages of all kinds, and one call fails: each message comes once, in this pass or in the next.

use super::ledger::Figures;
use super::one_pass::{came_once, done, drop_file, new_room, pass};
use super::scenario::PROGRAM;
use super::sweeps::{Done, Points, full, green, kill_each};
use super::tracer::{End, Outcome, Plan, Tracer};
use super::{charter, claims, decisions, waking};
use libc::{EIO, EMFILE, ENOSPC};
use serde_json::{Value, json};
use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

const AGENTS: [&str; 5] = ["alice", "bob", "carol", "lead", "boss"];
/// The time of the first pass, and the time of the pass with a failing call: after the time of the files.
const TIMES: [&str; 2] = ["2030-01-01T10:00:00Z", "2030-01-01T10:05:00Z"];
/// The mail in each inbox in the end.
const COPIES: [&str; 16] = [
    "bob: ask", "carol: ask", "bob: p0", "lead: unacknowledged: “now!”", "alice: expired unread: “gone”", "lead: unanswered: “ask?”",
    "boss: unanswered: “ask?”", "alice: not delivered: the link po was removed",
    "bob: not delivered: the link po was removed", "human: outbox/stranger has mail, but no agent with that id is registered",
    "bob: outbox/bob/notes.txt is not sent", "carol: disputed", "alice: objected", "lead: disagreement: “Use sqlite”",
    "bob: no agent received “lost”", "carol: half",
];

/// Changes the entries of the registry by hand.
fn edit_agents(room: &Path, edit: impl Fn(&str, &mut Value)) -> io::Result<()> {
    let mut registry: Value = serde_json::from_slice(&fs::read(room.join("registry.json"))?)?;
    for agent in registry["agents"].as_array_mut().into_iter().flatten() {
        let id = agent["id"].as_str().unwrap_or_default().to_owned();
        edit(&id, agent);
    }
    fs::write(room.join("registry.json"), registry.to_string())
}

/// A room where all notices are due, except notices about claims and approvals.
fn room(room: &Path) -> io::Result<()> {
    new_room(room, &AGENTS)?;
    edit_agents(room, |id, agent| match id {
        "bob" => agent["supervisor"] = json!("lead"),
        "carol" => agent["supervisor"] = json!("boss"),
        _ => {}
    })?;
    let settings = "answer_within = \"4m\"\n[escalation]\nattempts = 1\nsupervisor = \"lead\"\n[links.po]\naddress = \"/nowhere\"\n";
    fs::write(room.join("settings.toml"), settings)?;
    let expires = "2030-01-01T10:01:00Z";
    drop_file(room, "alice", "gone", json!({"to": "bob", "subject": "gone", "expires_at": expires}))?;
    drop_file(room, "alice", "ask", json!({"to": ["bob", "carol"], "requires_response": true, "priority": "urgent", "subject": "ask?"}))?;
    drop_file(room, "boss", "p0", json!({"to": "bob", "priority": "urgent", "subject": "now!"}))?;
    drop_file(room, "alice", "far", json!({"to": "po:Sintra", "body": "x"}))?;
    drop_file(room, "bob", "far", json!({"to": "po:Sintra", "body": "x"}))?;
    drop_file(room, "alice", "disputed", json!({"to": "carol", "type": "proposal", "body": "Use sqlite"}))?;
    done(pass(room, TIMES[0]))?;
    drop_file(room, "human", "cut", json!({"type": "link", "link": "po", "action": "bounce"}))?;
    let objection = json!({"to": "alice", "type": "objection", "in_reply_to": "disputed", "body": "Too slow"});
    drop_file(room, "carol", "objected", objection)?;
    drop_file(room, "bob", "lost", json!({"to": "#weather", "subject": "lost"}))?;
    drop_file(room, "bob", "half", json!({"to": ["carol"], "subject": "half"}))?;
    fs::create_dir_all(room.join("outbox/stranger"))?;
    fs::write(room.join("outbox/stranger/x.json"), "{}")?;
    fs::write(room.join("outbox/bob/notes.txt"), "notes")
}

/// The mail in each inbox in the end, in the room of causes.
const CAUSED: [&str; 10] = [
    "human: the link po has stopped", "human: another program or person wrote to WORKLOG.md", "alice: your claims lapse at 2030-01-01T10:06:00Z",
    "bob: not handed over: docs", "lead: your claims lapse at 2030-01-01T10:20:00Z", "alice: a", "bob: b", "lead: l", "carol: offer",
    "alice: m",
];

/// A room with these causes of messages: a lease is nearly over, a session has ended, the recipient of an offer is
/// retired, a link has the state of another room, and a person wrote into the worklog.
fn room_of_causes(room: &Path) -> io::Result<()> {
    new_room(room, &AGENTS)?;
    fs::write(room.join("settings.toml"), "worklog = true\n[links.po]\naddress = \"/nowhere\"\n")?;
    drop_file(room, "alice", "a", json!({"type": "claim", "claims": ["src"], "lease": "6m"}))?;
    drop_file(room, "bob", "b", json!({"type": "claim", "claims": ["docs"]}))?;
    drop_file(room, "lead", "l", json!({"type": "claim", "claims": ["tests"]}))?;
    done(pass(room, TIMES[0]))?;
    drop_file(room, "bob", "offer", json!({"type": "handoff", "to": "carol", "claims": ["docs"], "body": "yours"}))?;
    drop_file(room, "boss", "m", json!({"to": "alice", "type": "milestone", "body": "The parser works"}))?;
    done(pass(room, TIMES[0]))?;
    let mut join = Command::new(PROGRAM);
    join.args(["join", "lead", "--quiet", "--room"]).arg(room);
    join.env("MAILBAG_TEST_NOW", TIMES[0]).env("CLAUDE_CODE_SESSION_ID", "ended");
    done(join)?;
    let session = room.join("sessions/lead.json");
    let mut ended: Value = serde_json::from_slice(&fs::read(&session)?)?;
    ended["ended"] = json!(true);
    fs::write(session, ended.to_string())?;
    // The command would make a pass.
    edit_agents(room, |id, agent| {
        if id == "carol" {
            agent["status"] = json!("retired");
        }
    })?;
    let came = json!({"stream": "another", "n": 3, "digest": "0".repeat(64)});
    fs::create_dir_all(room.join("links/po/in"))?;
    fs::write(room.join("links/po/in/state.json"), json!({"room": "far", "in": came, "out": null}).to_string())?;
    let worklog = room.with_file_name("WORKLOG.md");
    let text = fs::read_to_string(&worklog)?;
    fs::write(worklog, text + "written by hand\n")
}

fn play(plan: Plan) -> io::Result<(Figures, Outcome)> {
    play_in(room, &COPIES, plan, "")
}

fn play_causes(plan: Plan) -> io::Result<(Figures, Outcome)> {
    play_in(room_of_causes, &CAUSED, plan, "")
}

/// The disturbed pass, without the protection `fault`, and everything that is wrong after three more passes.
fn play_in(room: fn(&Path) -> io::Result<()>, copies: &[&str], plan: Plan, fault: &str) -> io::Result<(Figures, Outcome)> {
    let home = TempDir::new()?;
    let place = home.path().join("room");
    room(&place)?;
    let pass = || -> Command {
        let mut pass = pass(&place, TIMES[1]);
        pass.env("MAILBAG_TEST_STRAY_MS", "0").env("MAILBAG_FAILPOINT", fault);
        pass
    };
    let outcome = Tracer::new(&place)?.run(pass(), plan)?;
    let is_reached = outcome.failed > 0 || outcome.end == End::Killed;
    let mut figures = Figures { points: 1, reached: usize::from(is_reached), ..Figures::default() };
    for _ in 0..3 {
        done(pass())?;
    }
    came_once(&place, &AGENTS, copies, &mut figures)?;
    let after = format!("\n    after {plan:?}, {:?}: {}", outcome.end, outcome.stderr);
    figures.complaints.iter_mut().for_each(|complaint| complaint.push_str(&after));
    Ok((figures, outcome))
}

/// Every call that stages a file or writes to the log fails once; in the small size, at most `most` of them.
fn fail_each(most: usize, play: impl Fn(Plan) -> io::Result<(Figures, Outcome)>) -> io::Result<Figures> {
    let (mut figures, outcome) = play(Plan::Count)?;
    let room = outcome.calls.iter().flat_map(|call| &call.paths).find_map(|path| {
        let room = path.parent().filter(|parent| parent.ends_with("spool/stage"))?;
        room.parent()?.parent().map(Path::to_path_buf)
    });
    let room = room.ok_or_else(|| io::Error::other("the pass stages nothing"))?;
    let kinds = [("openat", EIO), ("openat2", EMFILE), ("write", ENOSPC), ("pwrite64", ENOSPC), ("pwritev", EIO)];
    let plans = kinds.into_iter().flat_map(|kind| outcome.failing(&room, &["spool/stage", "log"], kind));
    let plans: Vec<Plan> = plans.collect();
    let step = if full() { 1 } else { plans.len().div_ceil(most).max(1) };
    for plan in plans.into_iter().step_by(step) {
        figures.add(play(plan)?.0);
    }
    assert!(figures.reached > 0, "no call failed: {figures}");
    Ok(figures)
}

#[test]
fn every_kind_of_message_of_the_router_stays_due_until_it_is_recorded() -> Done {
    // P291
    green("messages of the router whose staging fails", &fail_each(40, play)?)?;
    green("messages about files and leases whose staging fails", &fail_each(20, play_causes)?)
}

#[test]
fn a_pass_with_every_kind_of_message_of_the_router_is_killed_at_any_call() -> Done {
    // P291
    for (what, play) in [("many kinds", play as fn(Plan) -> _), ("files and leases", play_causes)] {
        kill_each(&format!("kills of a pass with messages of the router: {what}"), 8, 291, play)?;
    }
    Ok(())
}

#[test]
fn without_the_record_of_a_notice_before_its_cause_is_moved() -> Done {
    let play = |plan| play_in(room_of_causes, &CAUSED, plan, "notice-record");
    let (mut figures, outcome) = play(Plan::Count)?;
    assert_eq!(figures.complaints.len(), 0, "only a kill separates the two: {figures}");
    for (call, moment) in Points::of(outcome).choose(40, 292) {
        figures.add(play(Plan::Kill { call, moment })?.0);
        if !figures.complaints.is_empty() {
            return Ok(());
        }
    }
    Err(format!("no kill notices that the protection is off: {figures}").into())
}

#[test]
fn messages_about_decisions_and_claims_stay_due_until_they_are_recorded() -> Done {
    // P139
    green("decisions whose staging fails", &fail_each(16, decisions::play)?)?;
    green("claims whose staging fails", &fail_each(16, claims::play)?)
}

#[test]
fn messages_about_the_charter_and_stale_agents_stay_due_until_they_are_recorded() -> Done {
    // P172, P199
    let home = TempDir::new()?;
    let original = home.path().join("room");
    charter::recorded(&original)?;
    green("a charter whose notice fails", &fail_each(6, |plan| charter::play(&original, plan))?)?;
    let home = TempDir::new()?;
    let original = home.path().join("room");
    waking::left_unread(&original)?;
    green("a stale agent whose notice fails", &fail_each(6, |plan| waking::announce_again(&original, plan))?)
}
