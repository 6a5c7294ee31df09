//! Mail that an idle session left unread: it is announced again before the human is notified.

use crate::presence::alerts;
use crate::world::{Words, World};
use serde_json::json;

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
        alerts(&world).len(),
        0,
        "it idled again, and is woken again"
    );
    at(&world, "22:18", "run --once");
    assert_eq!(alerts(&world).len(), 1);
}

#[test]
fn a_stale_agent_without_a_session_is_reported_immediately() {
    // P199
    let world = World::alice_and_bob();
    at(&world, "10:00", "send bob 'anybody there?' --as alice");
    at(&world, "16:01", "run --once");
    assert_eq!(alerts(&world).len(), 1);
}
