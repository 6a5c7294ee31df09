//! Loops of agents that answer each other without content: recognized by structure, delivered, and announced later.

use super::from_mailbag;
use crate::approvals::{drop_at, pass};
use crate::world::{World, lossy};
use serde_json::{Value, json};

fn room() -> World {
    World::with("alice bob carol").settings("budget.messages = 0\nanswer_within = \"0\"\n")
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

fn notices(world: &World) -> Vec<Value> {
    let all = from_mailbag(world, "human", "alert").into_iter();
    all.filter(|mail| {
        mail["subject"]
            .as_str()
            .is_some_and(|text| text.contains("answers without content"))
    })
    .collect()
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

#[test]
fn acknowledgements_without_content_are_delivered_and_announced_later_and_the_human_is_notified_once()
 {
    // P368
    let world = room();
    say_all(
        &world,
        0,
        in_turn(20, |n| json!({"body": format!("thanks, noted ({n})")})),
    );
    let [(late, all), (late_too, all_too)] = ["alice", "bob"].map(|agent| delayed(&world, agent));
    assert_eq!(
        (all + all_too, late + late_too),
        (20, 12),
        "the first eight are announced at once"
    );
    let told = notices(&world);
    assert_eq!(told.len(), 1, "{told:#?}");
    assert!(
        told[0]["subject"]
            .as_str()
            .is_some_and(|text| text.starts_with("alice, bob: repeated")),
        "{told:#?}"
    );
    world.verify();
}

#[test]
fn the_delay_grows_with_each_message_and_ends() {
    // P368
    let world = room();
    say_all(
        &world,
        0,
        in_turn(14, |n| json!({"body": format!("ok {n}")})),
    );
    let mut times: Vec<String> = ["alice", "bob"]
        .iter()
        .flat_map(|agent| world.inbox(agent))
        .filter_map(|mail| {
            mail["delivery"]["announce_after"]
                .as_str()
                .map(str::to_owned)
        })
        .collect();
    times.sort();
    let times: Vec<&str> = times.iter().map(|time| &time[..19]).collect();
    let wanted = [
        "10:00:30", "10:01:00", "10:02:00", "10:04:00", "10:08:00", "10:15:00",
    ];
    assert_eq!(times, wanted.map(|time| format!("2026-11-21T{time}")));
}

#[test]
fn a_hook_announces_mail_of_a_loop_when_its_delay_is_over() {
    // P368
    let world = room();
    say_all(
        &world,
        0,
        in_turn(10, |n| json!({"body": format!("noted {n}")})),
    );
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
        before.contains("noted 7") && !before.contains("noted 9"),
        "{before}"
    );
    assert!(!hook("2026-11-21T10:00:20Z").contains("noted 9"));
    assert_contains!(hook("2026-11-21T10:01:10Z"), "noted 9");
}

#[test]
fn a_circle_of_several_agents_is_recognized() {
    // P368
    let world = room();
    let names = ["alice", "bob", "carol"];
    let circle = (0..18).map(|n| {
        (
            names[n % 3],
            json!({"to": names[(n + 1) % 3], "body": format!("passed on {n}")}),
        )
    });
    say_all(&world, 0, circle.collect::<Vec<_>>());
    let late: usize = names.iter().map(|agent| delayed(&world, agent).0).sum();
    assert!(late >= 6, "{late}");
    assert_eq!(notices(&world).len(), 1);
}

#[test]
fn long_texts_that_repeat_in_a_conversation_are_recognized_as_well() {
    // P368
    let world = room();
    let text = "I have taken note of everything that you wrote. ".repeat(20);
    say_all(&world, 0, in_turn(16, |_| json!({"body": text})));
    assert!(delayed(&world, "alice").0 + delayed(&world, "bob").0 > 4);
}

#[test]
fn a_sender_that_repeats_itself_is_announced_later_and_the_notice_names_only_the_sender() {
    // P368
    let world = room();
    // Bob is part of a chain, but of no loop.
    say_all(
        &world,
        0,
        [("bob", json!({"to": "alice", "body": "hello"}))],
    );
    say_all(
        &world,
        0,
        (0..6).map(|_| {
            (
                "alice",
                json!({"to": "bob", "type": "question", "body": "are you done?"}),
            )
        }),
    );
    assert_eq!(delayed(&world, "bob"), (3, 6));
    let [notice] = &notices(&world)[..] else {
        panic!("one notice")
    };
    let subject = notice["subject"].as_str().unwrap_or_default();
    assert_eq!(
        subject,
        "alice: repeated messages or answers without content"
    );
    let command = "mailbag list --as alice --last 20";
    assert_contains!(notice["body"].as_str().unwrap_or_default(), command);
    let listed = world.items(command.strip_prefix("mailbag ").expect("a command"));
    let texts = listed.as_array().expect("messages").iter();
    assert_eq!(
        texts.filter(|mail| mail["from"] == "alice").count(),
        6,
        "{listed}"
    );
}

#[test]
fn conversations_with_content_reports_and_urgent_mail_are_not_delayed() {
    // P368
    let world = room();
    let long = |n: usize| {
        format!(
            "Step {n}: {}",
            format!("fact {n} of this matter, ").repeat(20)
        )
    };
    say_all(&world, 0, in_turn(20, |n| json!({"body": long(n)})));
    say_all(
        &world,
        1,
        in_turn(
            20,
            |n| json!({"type": "status", "body": format!("done {n}")}),
        ),
    );
    say_all(
        &world,
        2,
        in_turn(
            20,
            |n| json!({"priority": "urgent", "body": format!("fire {n}")}),
        ),
    );
    say_all(
        &world,
        3,
        in_turn(
            20,
            |n| json!({"type": "question", "body": format!("why {n}?")}),
        ),
    );
    for agent in ["alice", "bob"] {
        assert_eq!(delayed(&world, agent), (0, 40), "{agent}");
    }
    assert_eq!(notices(&world).len(), 0);
}

#[test]
fn a_message_of_the_human_a_question_and_a_pause_end_a_loop() {
    // P368
    let world = room();
    let loops = |minutes| {
        say_all(
            &world,
            minutes,
            in_turn(8, |n| json!({"body": format!("ok {minutes} {n}")})),
        )
    };
    loops(0);
    say_all(
        &world,
        0,
        [(
            "human",
            json!({"to": ["alice", "bob"], "body": "go on with the parser"}),
        )],
    );
    loops(0);
    say_all(
        &world,
        0,
        [(
            "alice",
            json!({"to": "bob", "type": "question", "body": "which parser?"}),
        )],
    );
    say_all(
        &world,
        0,
        in_turn(8, |n| json!({"body": format!("yes {n}")}))
            .into_iter()
            .skip(1),
    );
    loops(30);
    for agent in ["alice", "bob"] {
        assert_eq!(delayed(&world, agent).0, 0, "{agent}");
    }
}

#[test]
fn a_setting_turns_the_delays_off() {
    let world = room().settings("budget.messages = 0\nbudget.replies = 0\n");
    say_all(&world, 0, in_turn(16, |_| json!({"body": "thanks"})));
    assert_eq!(delayed(&world, "alice").0 + delayed(&world, "bob").0, 0);
}
