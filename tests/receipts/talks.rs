//! Talks of two agents without a task, a question or a file: delivered, and announced once an hour.

use crate::approvals::{drop_at, pass};
use crate::world::{World, lossy};
use serde_json::{Value, json};

fn room() -> World {
    World::with("alice bob").settings("budget.messages = 0\nanswer_within = \"0\"\n")
}

/// Drops these messages, each in its own pass, all within a minute of the room.
fn say_all(world: &World, minutes: u64, messages: impl IntoIterator<Item = (&'static str, Value)>) {
    for (agent, message) in messages {
        drop_at(world, minutes, agent, message);
        pass(world, minutes);
    }
}

/// The number of an agent's copies that are announced later, and of all its copies.
fn delayed(world: &World, agent: &str) -> (usize, usize) {
    let mail = world.inbox(agent);
    (
        mail.iter()
            .filter(|mail| mail["delivery"]["announce_after"].is_string())
            .count(),
        mail.len(),
    )
}

/// Messages that alice and bob send in turn.
fn in_turn(count: usize, text: impl Fn(usize) -> Value) -> Vec<(&'static str, Value)> {
    (0..count)
        .map(|n| {
            let (from, to) = if n % 2 == 0 {
                ("alice", "bob")
            } else {
                ("bob", "alice")
            };
            let mut message = text(n);
            message["to"] = json!(to);
            (from, message)
        })
        .collect()
}

fn thanks(count: usize) -> Vec<(&'static str, Value)> {
    in_turn(count, |n| json!({"body": format!("thanks {n}")}))
}

#[test]
fn after_twenty_messages_two_agents_get_announcements_once_an_hour() {
    // P368
    let world = room();
    say_all(&world, 0, thanks(20));
    assert_eq!(
        ["alice", "bob"].map(|agent| delayed(&world, agent)),
        [(0, 10); 2]
    );
    say_all(&world, 1, thanks(2));
    say_all(&world, 61, thanks(1));
    let [mut times, of_bob] = ["alice", "bob"].map(|agent| {
        let mail = world.inbox(agent).into_iter();
        let times = mail.filter_map(|mail| {
            let at = mail["delivery"]["announce_after"].as_str()?;
            Some(at[..16].to_owned())
        });
        times.collect::<Vec<String>>()
    });
    times.extend(of_bob);
    times.sort();
    let wanted = ["11:00", "11:00", "12:00"];
    assert_eq!(times, wanted.map(|time| format!("2026-11-21T{time}")));
    world.verify();
}

#[test]
fn a_hook_announces_mail_of_a_long_talk_when_its_hour_is_over() {
    // P368
    let world = room();
    say_all(&world, 0, thanks(22));
    let hook = |time: &str| {
        let input = json!({"session_id": "s", "hook_event_name": "UserPromptSubmit", "prompt": "x", "cwd": world.path()});
        let ran = world
            .program("hook claude")
            .env("MAILBAG_AGENT", "alice")
            .env("MAILBAG_TEST_NOW", time)
            .write_stdin(input.to_string())
            .output()
            .expect("the hook");
        lossy(&ran.stdout)
    };
    let before = hook("2026-11-21T10:00:05Z");
    assert!(
        before.contains("thanks 19") && !before.contains("thanks 21"),
        "{before}"
    );
    assert!(!hook("2026-11-21T10:59:50Z").contains("thanks 21"));
    assert_contains!(hook("2026-11-21T11:00:10Z"), "thanks 21");
}

#[test]
fn a_question_ends_a_long_talk_and_is_announced_at_once() {
    // P368
    let world = room();
    say_all(&world, 0, thanks(20));
    let question = json!({"to": "bob", "type": "question", "body": "which parser?"});
    say_all(&world, 0, [("alice", question)]);
    say_all(&world, 0, thanks(20));
    for agent in ["alice", "bob"] {
        assert_eq!(delayed(&world, agent).0, 0, "{agent}");
    }
}

#[test]
fn a_setting_turns_the_delays_off() {
    let world = room().settings("budget.messages = 0\nbudget.replies = 0\n");
    say_all(&world, 0, thanks(24));
    assert_eq!(delayed(&world, "alice").0 + delayed(&world, "bob").0, 0);
}
