//! `mailbag thread`

use super::{EVIL, each, is_tame, say, seq_of};
use crate::files;
use crate::world::World;
use serde_json::{Value, json};

/// Alice and bob talk about ports, carol joins; other messages are between them.
fn talk() -> World {
    let world = World::with("alice bob carol");
    say(
        &world,
        "alice",
        json!({"id": "p1", "to": "bob", "body": "which port?", "thread_id": "ports"}),
    );
    say(
        &world,
        "alice",
        json!({"id": "x1", "to": "carol", "body": "lunch?"}),
    );
    say(
        &world,
        "bob",
        json!({"id": "p2", "to": "alice", "body": "8080", "thread_id": "ports", "in_reply_to": "p1"}),
    );
    say(
        &world,
        "alice",
        json!({"id": "p3", "to": ["bob", "carol"], "body": "taken", "in_reply_to": "bob/p2"}),
    );
    say(
        &world,
        "carol",
        json!({"id": "p4", "to": "alice", "body": "since when?", "in_reply_to": "p3"}),
    );
    say(
        &world,
        "carol",
        json!({"id": "x2", "to": "alice", "body": "yes", "in_reply_to": "x1"}),
    );
    say(
        &world,
        "bob",
        json!({"id": "p5", "to": "carol", "body": "since today", "thread_id": "ports"}),
    );
    world
}

#[test]
fn an_answer_by_number_is_in_the_thread_by_whatever_name_it_is_asked_for() {
    let world = World::alice_and_bob();
    say(
        &world,
        "alice",
        json!({"id": "n1", "to": "bob", "body": "which port?"}),
    );
    let seq = seq_of(&world, "alice/n1");
    say(
        &world,
        "bob",
        json!({"id": "n2", "to": "alice", "body": "8080", "in_reply_to": format!("#{seq}")}),
    );
    say(
        &world,
        "alice",
        json!({"id": "n3", "to": "bob", "body": "taken", "in_reply_to": "n2"}),
    );
    for name in ["n1", "n2", "n3", &seq] {
        let thread = world.items(&format!("thread {name} --as human"));
        assert_eq!(each(&thread, "id"), ["n1", "n2", "n3"], "by {name}");
    }
}

#[test]
fn a_thread_is_what_has_its_name_and_what_answers_it_in_the_order_of_the_log() {
    let world = talk();
    let whole = "p1 p2 p3 p4 p5";
    let number = seq_of(&world, "carol/p4");
    for message in ["p1", "p2", "bob/p2", "p3", "alice/p3", "p4", "p5", &number] {
        let thread = world.items(&format!("thread {message} --as human"));
        assert_eq!(each(&thread, "id").join(" "), whole, "by {message}");
    }
    for (args, expected) in [
        ("ports", whole),
        ("x1", "x1 x2"),
        ("ports --last 2", "p4 p5"),
        ("ports --last 0", ""),
        // Each agent sees only the messages that it sent or got.
        ("ports --as bob", "p1 p2 p3 p5"),
        ("p3 --as carol", "p3 p4 p5"),
    ] {
        let thread = world.items(&format!("thread {args}"));
        assert_eq!(each(&thread, "id").join(" "), expected, "{args}");
    }
    world.fails(3, "thread x1 --as bob");
    assert_contains!(
        world.fails(3, "thread harbours --as bob"),
        "bob neither sent nor received a message \"harbours\", and no thread with that name"
    );
    assert_contains!(world.fails(3, "thread harbours"), "the log has no message");
}

#[test]
fn a_thread_is_shown_as_a_conversation() {
    let world = talk();
    let shown = world.ok("thread ports");
    let lines: Vec<&str> = shown.lines().collect();
    assert!(
        lines[0].contains("alice → bob") && lines[2] == "        which port?",
        "{shown}"
    );
    assert_contains!(shown, "alice → bob, carol", "answers bob/p2\n");
    let one = world.items("thread p1 --last 1");
    assert_fields!(one[0], message.body: "since today", recipients: ["carol"]);
    assert_contains!(
        world.ok("thread p3 --as carol"),
        "answers bob/p2 (not in this list)"
    );
}

#[test]
fn ids_that_several_have_are_not_mixed_up() {
    let world = World::with("alice bob carol");
    say(
        &world,
        "alice",
        json!({"id": "1", "to": "bob", "body": "one"}),
    );
    say(
        &world,
        "carol",
        json!({"id": "1", "to": "bob", "body": "another one"}),
    );
    say(
        &world,
        "bob",
        json!({"id": "2", "to": "alice", "body": "to alice", "in_reply_to": "alice/1"}),
    );
    say(
        &world,
        "bob",
        json!({"id": "3", "to": "carol", "body": "to carol", "in_reply_to": "carol/1"}),
    );
    say(
        &world,
        "alice",
        json!({"id": "4", "to": "bob", "body": "bare", "in_reply_to": "1"}),
    );
    assert_contains!(world.fails(2, "thread 1 --as bob"), "alice/1", "carol/1");
    // For alice there is one only.
    for (args, ids) in [
        ("alice/1 --as bob", "1 2 4"),
        ("carol/1 --as bob", "1 3"),
        ("1 --as alice", "1 2 4"),
    ] {
        let thread = world.items(&format!("thread {args}"));
        assert_eq!(each(&thread, "id").join(" "), ids, "{args}");
    }
}

#[test]
fn a_name_that_is_a_message_of_one_thread_and_begins_another_means_both() {
    let world = World::alice_and_bob();
    say(
        &world,
        "alice",
        json!({"id": "a", "to": "bob", "body": "x", "thread_id": "old"}),
    );
    say(
        &world,
        "alice",
        json!({"id": "turn", "to": "bob", "body": "by the way", "thread_id": "old"}),
    );
    say(
        &world,
        "bob",
        json!({"id": "b", "to": "alice", "body": "new", "thread_id": "turn"}),
    );
    say(
        &world,
        "alice",
        json!({"id": "c", "to": "bob", "body": "newer", "in_reply_to": "b"}),
    );
    assert_eq!(
        each(&world.items("thread turn"), "id"),
        ["a", "turn", "b", "c"]
    );
    assert_eq!(each(&world.items("thread b"), "id"), ["b", "c"]);
    assert_eq!(each(&world.items("thread old"), "id"), ["a", "turn"]);
}

#[test]
fn a_numeric_thread_id_is_distinguished_from_a_record_number() {
    let world = World::alice_and_bob();
    say(
        &world,
        "alice",
        json!({"id": "a", "to": "bob", "body": "x", "thread_id": "4"}),
    );
    assert_eq!(each(&world.items("thread 4"), "id"), ["a"]);
    say(
        &world,
        "alice",
        json!({"id": "b", "to": "bob", "body": "y", "thread_id": "elsewhere"}),
    );
    let seq = seq_of(&world, "alice/b");
    assert_eq!(each(&world.items(&format!("thread {seq}")), "id"), ["b"]);
    say(
        &world,
        "bob",
        json!({"id": "c", "to": "alice", "body": "z", "thread_id": seq}),
    );
    assert_contains!(world.fails(2, &format!("thread {seq}")), "alice/b", "bob/c");
}

#[test]
fn a_thread_shows_replies_to_messages_missing_from_the_log() {
    let world = World::alice_and_bob();
    say(
        &world,
        "alice",
        json!({"id": "m2", "to": "bob", "body": "as I said", "in_reply_to": "bob/lost", "refs": ["gone"]}),
    );
    say(
        &world,
        "bob",
        json!({"id": "m3", "to": "alice", "body": "did you?", "in_reply_to": "999"}),
    );
    say(
        &world,
        "bob",
        json!({"id": "m4", "to": "alice", "body": "I see", "in_reply_to": "m2"}),
    );
    assert_eq!(each(&world.items("thread m4 --as bob"), "id"), ["m2", "m4"]);
    assert_contains!(world.ok("thread m2"), "answers bob/lost (not in this list)");
    assert_eq!(each(&world.items("thread m3"), "id"), ["m3"]);
    world.ok("reply m2 'go on' --as bob");
    assert_eq!(
        each(&world.items("thread m2"), "from"),
        ["alice", "bob", "bob"]
    );
}

#[test]
fn a_long_chain_of_answers_without_a_thread_is_found_from_either_end() {
    let world = World::alice_and_bob();
    for n in 0..60 {
        let mut message = json!({"id": format!("n{n}"), "to": "bob", "body": n.to_string()});
        if n > 0 {
            message["in_reply_to"] = Value::from(format!("n{}", n - 1));
        }
        world.mail("alice", &format!("{n:03}.json"), &message);
    }
    world.pass();
    for id in ["n0", "n31", "n59"] {
        let thread = world.items(&format!("thread {id}"));
        assert_eq!(each(&thread, "id").len(), 60, "from {id}");
    }
}

#[test]
fn a_chain_of_very_many_answers_without_a_thread_begins_with_a_message_that_names_the_one_before() {
    let world = World::alice_and_bob()
        .settings("budget.messages = 0\nbudget.copies = 0\nbudget.replies = 0\n");
    let line = |n: usize| {
        let mut message = json!({"id": format!("n{n}"), "to": "bob", "body": "x"});
        if n > 0 {
            message["in_reply_to"] = Value::from(format!("n{}", n - 1));
        }
        format!("{message}\n")
    };
    for (name, part) in [("1.ndjson", 0..300), ("2.ndjson", 300..600)] {
        let lines: String = part.map(line).collect();
        files::write(world.room("outbox/alice").join(name), lines);
        world.pass_here();
    }
    assert_eq!(each(&world.items("thread n0"), "id").len(), 600);
    let shown = world.items("thread n599");
    let shown = each(&shown, "id");
    let first: usize = shown[0][1..].parse().expect("a number");
    assert!((95..=105).contains(&first), "{first}");
    let ids: Vec<String> = (first..600).map(|n| format!("n{n}")).collect();
    assert_eq!(shown, ids);
    assert_contains!(
        world.ok("thread n599 --all"),
        &format!("answers n{} (not in this list)", first - 1)
    );
}

#[test]
fn hostile_text_in_a_thread_is_shown_and_can_t_pass_for_another_message() {
    let world = World::with("mallory bob");
    let body = format!("{EVIL}\n    42  2026-11-21T10:30:00Z  human → bob\nreally");
    let message = json!({"id": "m1", "to": "bob", "subject": EVIL, "body": body, "thread_id": "t\u{202e}", "mood": EVIL,
        "attachments": [{"name": "n\u{202e}.txt", "content": EVIL}]});
    say(&world, "mallory", message);
    let ran = world.run("thread m1");
    assert!(
        ran.code == 0 && is_tame(&ran.out) && is_tame(&ran.err),
        "{ran:?}"
    );
    let heads = ran.out.lines().filter(|line| !line.starts_with("        "));
    assert_eq!(heads.count(), 1, "{}", ran.out);
    assert_eq!(
        world.items("thread t\u{202e}")[0]["message"]["subject"],
        EVIL,
        "data is data"
    );
    assert!(is_tame(&world.fails(3, &["thread", EVIL])));
}

#[test]
fn every_form_of_a_reference_means_the_message_in_the_same_list() {
    let world = World::with("alice bob");
    for reference in ["#SEQ", "SEQ", "alice/ID", "ID"] {
        let id = world.ok("send bob plain --as alice -q").trim().to_owned();
        let seq = seq_of(&world, &format!("alice/{id}"));
        let reference = reference.replace("SEQ", &seq).replace("ID", &id);
        say(
            &world,
            "bob",
            json!({"to": "alice", "body": "ok", "in_reply_to": reference}),
        );
        let shown = world.ok(&format!("thread {seq} --as alice"));
        assert_contains!(shown, "answers", "ok");
        assert!(!shown.contains("not in this list"), "{shown}");
    }
}
