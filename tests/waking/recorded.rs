//! The wakes in the log: the sender and the human see the result of each, and no mail wakes twice.

use super::{alarm, rung, town, wait_for};
use crate::presence::alerts;
use crate::town::{Town, so_within};
use crate::world::{Words, World};
use serde_json::{Value, json};
use std::time::Duration;

/// The steps of the wakes for a message, as `trace` shows them to its sender.
fn steps(world: &World, reference: &str) -> Vec<String> {
    let trace = world.json(&["trace", reference]);
    let wakes = trace["recipients"][0]["wakes"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    wakes
        .iter()
        .map(|wake| wake["step"].as_str().unwrap_or_default().to_owned())
        .collect()
}

/// The failed wakes in `pending.json` and in the command's list.
fn failed(world: &World) -> (usize, usize) {
    let of_wakes = |list: &Value| {
        list.as_array()
            .into_iter()
            .flatten()
            .filter(|item| item["kind"] == "wake")
            .count()
    };
    let file: Value = serde_json::from_str(
        &std::fs::read_to_string(world.room("pending.json")).unwrap_or_default(),
    )
    .unwrap_or_default();
    (
        of_wakes(&file["pending"]["human"]),
        of_wakes(&world.json("pending --as human")["items"]),
    )
}

#[test]
fn the_sender_sees_that_a_wake_was_requested_started_and_succeeded() {
    // P198
    let town = town(alarm(&["{agent}"]));
    town.mail(
        "alice",
        "a.json",
        json!({"id": "m1", "to": "bob", "body": "hello"}),
    );
    wait_for(&town, 1);
    town.wait("it is in the log", || {
        steps(&town, "alice/m1") == ["requested", "started", "succeeded"]
    });
    assert_contains!(
        town.ok("trace alice/m1"),
        "bob: delivered",
        "  wake succeeded\n"
    );
    assert_contains!(
        town.ok("log"),
        "receipts   bob wake requested: ",
        "bob wake succeeded: "
    );
    assert_eq!(failed(&town), (0, 0));
    town.verify();
}

#[test]
fn a_wake_that_failed_needs_the_human_until_another_one_succeeds() {
    // P198
    let script = "test -e repaired || { echo 'no such bell'; exit 3; }; echo rang >> woken";
    let town = town(json!({"argv": ["sh", "-c", script], "every": "1s"}));
    town.mail(
        "alice",
        "a.json",
        json!({"id": "m1", "to": "bob", "body": "hello"}),
    );
    town.wait("the list has it", || failed(&town) == (1, 1));
    let failure = town.json("trace alice/m1")["recipients"][0]["wakes"][2].clone();
    assert_fields!(failure, step: "failed", reason: "sh: exit status: 3 no such bell");
    assert_contains!(
        town.ok("who"),
        "wake failed just now: sh: exit status: 3 no such bell"
    );
    town.write("../repaired", "");
    town.mail(
        "alice",
        "b.json",
        json!({"id": "m2", "to": "bob", "body": "hello again"}),
    );
    wait_for(&town, 1);
    town.wait("the list is empty", || failed(&town) == (0, 0));
    assert_eq!(
        steps(&town, "alice/m1").len(),
        6,
        "the failed one was tried again with the next mail"
    );
}

#[test]
fn a_failed_wake_is_no_longer_listed_when_its_mail_is_read() {
    // P198
    let town = town(json!({"argv": ["/no/such/program"]}));
    town.mail("alice", "a.json", json!({"to": "bob", "body": "hello"}));
    town.wait("the list has it", || failed(&town) == (1, 1));
    town.ok("read --as bob");
    town.wait("the list is empty", || failed(&town) == (0, 0));
}

#[test]
fn the_human_dismisses_a_failed_wake_by_its_number_and_the_next_failure_is_listed() {
    // P159
    let town = town(json!({"argv": ["/no/such/program"], "every": "1s"}));
    town.mail(
        "alice",
        "a.json",
        json!({"id": "m1", "to": "bob", "body": "hello"}),
    );
    town.wait("the list has it", || failed(&town) == (1, 1));
    let number = town.json("pending --as human")["items"][0]["seq"].to_string();
    assert_eq!(town.json("trace alice/m1")["seq"].to_string(), number);
    let refused = World::run(&town, &["dismiss", &number, "--as", "alice"]);
    assert!(
        refused.code != 0 && refused.err.contains("only its recipients"),
        "{refused:?}"
    );
    assert_eq!(failed(&town), (1, 1));
    town.ok(&["dismiss", &number, "--as", "human"]);
    town.wait("the list is empty", || failed(&town) == (0, 0));
    assert_contains!(town.ok("trace alice/m1"), "bob: delivered"; "it is bob's to close");
    let again = World::run(&town, &["dismiss", &number, "--as", "human"]);
    assert!(
        again.code != 0,
        "there is nothing to dismiss any more: {again:?}"
    );
    town.mail(
        "alice",
        "b.json",
        json!({"to": "bob", "body": "hello again"}),
    );
    town.wait("the list has the next one", || failed(&town) == (1, 1));
    town.verify();
}

#[test]
fn a_restarted_router_does_not_wake_an_agent_again_for_the_same_mail() {
    // P198
    let mut town = town(alarm(&["{count}"]));
    town.mail(
        "alice",
        "a.json",
        json!({"id": "m1", "to": "bob", "body": "hello"}),
    );
    wait_for(&town, 1);
    town.wait("it is in the log", || steps(&town, "alice/m1").len() == 3);
    town.router().signal(rustix::process::Signal::KILL);
    town.ended();
    std::fs::remove_file(town.room("spool/checkpoint")).ok();
    town.start(&[]);
    town.mail(
        "alice",
        "b.json",
        json!({"to": "bob", "priority": "low", "body": "by the way"}),
    );
    town.wait_for_mail("bob", 2);
    assert!(
        !so_within(Duration::from_secs(3), || rung(&town).len() > 1),
        "{:?}",
        rung(&town)
    );
    town.mail("alice", "c.json", json!({"to": "bob", "body": "again"}));
    wait_for(&town, 2);
}

#[test]
fn mail_without_a_program_to_wake_leaves_no_record_of_it() {
    let town = Town::alice_and_bob().run();
    town.mail("alice", "a.json", json!({"to": "bob", "body": "hello"}));
    town.wait_for_mail("bob", 1);
    assert!(
        !so_within(Duration::from_secs(2), || log(&town).contains("\"wakes\"")),
        "{}",
        log(&town)
    );
    assert_eq!(
        log(&town).lines().count(),
        2,
        "the room and the message: {}",
        log(&town)
    );
}

fn log(world: &World) -> String {
    world.text("log/00000001.ndjson")
}

/// Fires a hook of bob's session, which idles after it.
fn hook_at(world: &World, time: &str, event: &str) -> String {
    let input =
        json!({"hook_event_name": event, "session_id": "s1", "source": "startup"}).to_string();
    let mut hook = world.program("hook claude --as bob");
    let output = hook
        .env("MAILBAG_TEST_NOW", format!("2026-01-05T{time}:00Z"))
        .write_stdin(input)
        .output();
    String::from_utf8(output.expect("the program runs").stdout).expect("text")
}

fn at(world: &World, time: &str, args: &(impl Words + ?Sized)) -> String {
    let now = format!("2026-01-05T{time}:00Z");
    world.run_env(args, "MAILBAG_TEST_NOW", now).ok()
}

#[test]
fn unread_mail_of_an_idle_session_is_announced_again_before_the_human_is_alerted() {
    // P199
    let world = World::alice_and_bob();
    hook_at(&world, "09:59", "SessionStart");
    world.mail(
        "alice",
        "a.json",
        json!({"id": "m1", "to": "bob", "body": "anybody there?"}),
    );
    at(&world, "10:00", "run --once");
    assert_contains!(
        hook_at(&world, "10:01", "UserPromptSubmit"),
        "anybody there?"
    );
    hook_at(&world, "10:02", "Stop");
    at(&world, "16:01", "run --once");
    assert_eq!(
        (
            world.names("inbox/bob/.announced").len(),
            alerts(&world).len()
        ),
        (1, 0),
        "six hours since the stop"
    );
    let announced = |trace: &str| {
        let line = trace.lines().find(|line| line.contains("announced"));
        line.map(str::to_owned).expect("it was announced")
    };
    let before = announced(&at(&world, "16:01", "trace alice/m1"));
    at(&world, "16:03", "run --once");
    assert_eq!(
        (
            world.names("inbox/bob/.announced").len(),
            alerts(&world).len()
        ),
        (0, 0)
    );
    let trace = at(&world, "16:03", "trace alice/m1");
    assert_contains!(trace, "wake again\n");
    assert_eq!(announced(&trace), before);
    for time in ["16:04", "16:12"] {
        at(&world, time, "run --once");
        assert_eq!(alerts(&world).len(), 0, "the session has ten minutes");
    }
    for time in ["16:14", "16:15", "17:00", "23:00"] {
        at(&world, time, "run --once");
        assert_eq!(alerts(&world).len(), 1, "{time}");
    }
    assert_contains!(
        alerts(&world)[0]["body"]
            .as_str()
            .unwrap_or_default()
            .to_owned(),
        "It was woken again at 2026-01-05T16:03:00"
    );
    assert_eq!(log(&world).matches("\"step\":\"again\"").count(), 1);
    assert_contains!(
        at(&world, "23:00", "trace alice/m1"),
        "announced\n",
        "wake again\n"
    );
}

#[test]
fn a_session_that_answers_to_the_second_wake_is_not_reported() {
    // P199
    let world = World::alice_and_bob();
    hook_at(&world, "10:00", "SessionStart");
    at(&world, "10:00", "send bob 'anybody there?' --as alice");
    hook_at(&world, "10:01", "UserPromptSubmit");
    hook_at(&world, "10:02", "Stop");
    at(&world, "16:03", "run --once");
    assert_contains!(hook_at(&world, "16:05", "UserPromptSubmit"), "anybody there?"; "it is announced once more");
    hook_at(&world, "16:06", "Stop");
    for time in ["16:20", "22:00"] {
        at(&world, time, "run --once");
    }
    assert_eq!(alerts(&world).len(), 0, "it was seen at 16:06");
    at(&world, "22:07", "run --once");
    assert_eq!(
        (
            alerts(&world).len(),
            log(&world).matches("\"step\":\"again\"").count()
        ),
        (0, 2),
        "and idled again"
    );
}

#[test]
fn a_stale_agent_without_a_session_is_reported_immediately() {
    // P199
    let world = World::alice_and_bob();
    at(&world, "10:00", "send bob 'anybody there?' --as alice");
    at(&world, "16:01", "run --once");
    assert_eq!(
        (
            alerts(&world).len(),
            log(&world).matches("\"step\":\"again\"").count()
        ),
        (1, 0)
    );
}

#[test]
fn a_program_that_wakes_runs_once_more_for_mail_that_is_left_unread() {
    // P199
    let wake = alarm(&["{agent}"]);
    let mut town = Town::with(&[json!({"id": "alice"}), json!({"id": "bob", "wake": wake})])
        .settings("durability = \"process\"\nstale_after = \"4s\"\n");
    for event in ["SessionStart", "UserPromptSubmit", "Stop"] {
        let input =
            json!({"hook_event_name": event, "session_id": "s1", "source": "startup"}).to_string();
        town.pipe("hook codex --as bob", input);
    }
    town.start(&[]);
    town.mail(
        "alice",
        "a.json",
        json!({"id": "m1", "to": "bob", "body": "hello"}),
    );
    wait_for(&town, 1);
    assert!(alerts(&town).is_empty(), "{:?}", alerts(&town));
    wait_for(&town, 2);
    town.wait("the human is told", || alerts(&town).len() == 1);
    assert!(!so_within(Duration::from_secs(3), || rung(&town).len() > 2
        || alerts(&town).len() > 1));
    let once_more = [
        "requested",
        "started",
        "succeeded",
        "again",
        "requested",
        "started",
        "succeeded",
    ];
    assert_eq!(steps(&town, "alice/m1"), once_more);
}
