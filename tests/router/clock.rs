//! The machine's clock is set back: leases and deadlines still end after their span.

use crate::world::{Words, World, parse_json};
use serde_json::{Value, json};

/// A time of the right clock, in minutes after the first one, and of a clock that is years ahead or behind.
fn clock(year: u32, minutes: u32) -> String {
    format!(
        "{year}-11-21T{:02}:{:02}:00Z",
        10 + minutes / 60,
        minutes % 60
    )
}

/// Sets the clock of a command.
fn set(command: &mut assert_cmd::Command, now: &str) {
    command.env("MAILBAG_TEST_NOW", now);
}

/// Runs the program while the clock shows this time.
#[track_caller]
fn run(world: &World, now: &str, args: &(impl Words + ?Sized)) -> String {
    world.run_with(args, |command| set(command, now)).ok()
}

/// An agent drops a message, and it is delivered while the clock shows this time.
#[track_caller]
fn say(world: &World, now: &str, agent: &str, message: Value) {
    world.mail(agent, &format!("{}.json", uuid::Uuid::now_v7()), &message);
    run(world, now, "run --once");
}

/// A room that was made while the clock showed this time.
fn room(now: &str) -> World {
    let world = World::empty();
    run(&world, now, "init");
    run(&world, now, "agent add alice bob");
    say(&world, now, "alice", json!({"to": "bob", "body": "first"}));
    world
}

fn claims(world: &World, now: &str) -> Value {
    let listed = parse_json(run(world, now, "claims --json"));
    listed["claims"].clone()
}

/// The claims at this time, the same from the live files as from the log alone.
#[track_caller]
fn claims_rebuilt(world: &World, now: &str) -> Value {
    let kept = claims(world, now);
    for name in ["spool/snapshot", "claims.json"] {
        let _ = std::fs::remove_file(world.room(name));
    }
    assert_eq!(claims(world, now), kept, "the log says something else");
    run(world, now, "log verify");
    kept
}

fn lease_of_a_minute() -> Value {
    json!({"type": "claim", "claims": ["src/a"], "lease": "1m"})
}

#[test]
fn a_claim_after_the_clock_was_corrected_lapses_after_its_lease() {
    // P341
    let world = room(&clock(2026, 0));
    say(
        &world,
        &clock(2036, 0),
        "bob",
        json!({"to": "alice", "body": "from the future"}),
    );
    say(&world, &clock(2026, 1), "alice", lease_of_a_minute());
    let held = claims_rebuilt(&world, &clock(2026, 1));
    assert_eq!(
        held[0]["expires_at"], "2026-11-21T10:02:00.000000Z",
        "{held}"
    );
    run(&world, &clock(2026, 3), "run --once");
    assert_eq!(claims_rebuilt(&world, &clock(2026, 3)), json!([]));
}

#[test]
fn a_claim_that_was_granted_while_the_clock_was_ahead_lapses_after_its_lease() {
    // P341
    let world = room(&clock(2026, 0));
    say(&world, &clock(2036, 0), "alice", lease_of_a_minute());
    // No mail arrives: the router itself notices the clock.
    run(&world, &clock(2026, 1), "run --once");
    let held = claims_rebuilt(&world, &clock(2026, 1));
    let lapses = held[0]["expires_at"].as_str().unwrap_or_default();
    assert!(
        ("2026-11-21T10:01:59".."2026-11-21T10:02:01").contains(&lapses),
        "{held}"
    );
    run(&world, &clock(2026, 3), "run --once");
    assert_eq!(claims_rebuilt(&world, &clock(2026, 3)), json!([]));
}

#[test]
fn accept_times_always_increase_and_each_has_the_time_of_the_clock() {
    // P341
    let world = room(&clock(2026, 0));
    say(
        &world,
        &clock(2036, 0),
        "bob",
        json!({"to": "alice", "body": "ahead"}),
    );
    say(
        &world,
        &clock(2026, 1),
        "bob",
        json!({"to": "alice", "body": "corrected"}),
    );
    say(
        &world,
        &clock(2026, 2),
        "bob",
        json!({"to": "alice", "body": "later"}),
    );
    let log = world.log("");
    let records: Vec<Value> = log
        .lines()
        .map(|line| serde_json::from_str(line).expect("a record"))
        .collect();
    let times: Vec<&str> = records
        .iter()
        .map(|record| record["at"].as_str().expect("a time"))
        .collect();
    assert!(times.is_sorted(), "{times:?}");
    let shown: Vec<&str> = records
        .iter()
        .filter_map(|record| record["clock"].as_str())
        .collect();
    assert!(
        shown.len() >= 2 && shown.iter().all(|at| at.starts_with("2026-11-21T10:0")),
        "{shown:?}"
    );
    assert_eq!(world.bodies("alice"), ["ahead", "corrected", "later"]);
}

#[test]
fn the_deadline_of_an_approval_comes_after_its_span() {
    // P341
    let world = room(&clock(2026, 0));
    let ask = json!({"id": "go", "to": "bob", "type": "approval", "subject": "Deploy?", "deadline": "10m"});
    say(&world, &clock(2036, 0), "alice", ask);
    run(&world, &clock(2026, 1), "run --once");
    let pending = run(&world, &clock(2026, 2), "pending --as bob --json");
    assert!(
        pending.contains("2026-11-21T10:10:59") || pending.contains("2026-11-21T10:11:00"),
        "{pending}"
    );
    run(&world, &clock(2026, 12), "run --once");
    assert_eq!(
        world.inbox("alice").last().expect("a notice")["metadata"]["approval"]["status"],
        "denied"
    );
}

#[test]
fn an_unanswered_question_escalates_after_its_span() {
    // P341
    let world = room(&clock(2026, 0)).settings("answer_within = \"10m\"\n");
    say(
        &world,
        &clock(2036, 0),
        "alice",
        json!({"to": "bob", "body": "?", "requires_response": true}),
    );
    run(&world, &clock(2026, 1), "run --once");
    run(&world, &clock(2026, 9), "run --once");
    let escalations = || {
        world
            .inbox("human")
            .iter()
            .filter(|mail| mail["type"] == "escalation")
            .count()
    };
    assert_eq!(escalations(), 0);
    run(&world, &clock(2026, 12), "run --once");
    assert_eq!(escalations(), 1);
}

#[test]
fn a_session_that_called_while_the_clock_was_ahead_does_not_keep_its_agent() {
    // P341
    let world = room(&clock(2026, 0));
    let join = |now: &str, session: &str| {
        let args = ["join", "alice", "--session", session, "--client", "codex"];
        world.run_with(&args, |command| set(command, now)).code
    };
    assert_eq!(
        (join(&clock(2036, 0), "one"), join(&clock(2026, 1), "two")),
        (0, 0)
    );
    assert_ne!(join(&clock(2026, 2), "one"), 0, "the second one is alive");
}
