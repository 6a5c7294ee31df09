//! `mailbag reply`, and the output of `send` about replies.

use super::{EVIL, each, is_tame, say, seq_of};
use crate::files;
use crate::town::Town;
use crate::world::World;
use serde_json::json;

#[test]
fn a_reply_reaches_the_sender_and_keeps_channel_and_thread() {
    let world = World::with("alice bob carol");
    let question = json!({"id": "q1", "to": ["bob", "carol"], "subject": "Порт?", "body": "which?", "type": "question",
        "channel": "ops"});
    say(&world, "alice", question);
    world.ok("reply q1 8080 --as bob");
    let answer = &world.inbox("alice")[0];
    assert_eq!(
        json!([
            answer["type"],
            answer["subject"],
            answer["body"],
            answer["thread_id"],
            answer["in_reply_to"]
        ]),
        json!(["answer", "Re: Порт?", "8080", "q1", "q1"])
    );
    assert_eq!(
        (&answer["channel"], answer["addressed_to"].as_str()),
        (&json!("ops"), Some("alice"))
    );
    assert_eq!(world.inbox("carol").len(), 1, "not to all");
    // A reply by seq: the thread stays, `Re: ` is not doubled, and an answer does not count as a
    // question.
    let seq = answer["delivery"]["seq"].to_string();
    world.ok(&format!("reply {seq} thanks --as alice"));
    let thanks = &world.inbox("bob")[0];
    assert_eq!(
        json!([
            thanks["type"],
            thanks["subject"],
            thanks["thread_id"],
            thanks["in_reply_to"]
        ]),
        json!([
            "message",
            "Re: Порт?",
            "q1",
            format!("bob/{}", answer["id"].as_str().expect("an id"))
        ])
    );
}

#[test]
fn a_reply_to_all_and_a_reply_to_what_one_sent_go_to_those_who_had_it() {
    let world = World::with("alice bob carol dave");
    say(
        &world,
        "alice",
        json!({"id": "m", "to": "all", "body": "hello", "thread_id": "greetings"}),
    );
    world.ok("reply alice/m --all 'hello all' --as bob");
    let of = |agent: &str| {
        world
            .inbox(agent)
            .last()
            .map(|mail| mail["addressed_to"].clone())
    };
    assert_eq!(of("alice"), Some(json!(["alice", "carol", "dave"])));
    assert_eq!((of("carol"), of("dave")), (of("alice"), of("alice")));
    assert_eq!(
        world.inbox("bob").len(),
        0,
        "not to oneself, and what was answered is read"
    );
    assert_eq!(world.inbox("carol")[1]["thread_id"], "greetings");
    assert_eq!(world.inbox("carol")[1]["in_reply_to"], "alice/m");
    // Alice adds a message. A retired recipient is left out and reported.
    world.ok("agent set dave --status retired");
    let ran = world.run("reply m 'one more thing' --as alice");
    assert!(
        ran.code == 0 && ran.err.contains("not sent to dave"),
        "{ran:?}"
    );
    assert_eq!(of("bob"), Some(json!(["bob", "carol"])));
}

#[test]
fn a_reply_takes_what_send_takes() {
    let world = World::alice_and_bob();
    world.ok("send bob look --requires-response --action review --metadata file=a=b --as alice");
    let asked = &world.inbox("bob")[0];
    assert_eq!(
        json!([
            asked["requires_response"],
            asked["action"],
            asked["metadata"]
        ]),
        json!([true, "review", {"file": "a=b"}])
    );
    let id = asked["id"].as_str().expect("an id");
    files::write(world.path().join("notes.txt"), "a note");
    let args = [
        "reply",
        id,
        "-",
        "--subject",
        "Mine",
        "--priority",
        "high",
        "--attach",
        "notes.txt",
        "--requires-response",
        "--as",
        "bob",
    ];
    world.pipe(&args, "from a pipe\n").ok();
    world
        .pipe(&format!("reply {id} --type error --as bob"), "piped too")
        .ok();
    let mail = world.inbox("alice");
    assert_eq!(
        json!([mail[0]["body"], mail[0]["subject"], mail[0]["priority"]]),
        json!(["from a pipe", "Mine", "high"])
    );
    assert_eq!(
        json!([mail[0]["type"], mail[0]["requires_response"]]),
        json!(["answer", true])
    );
    assert_eq!(
        mail[0]["attachments"],
        json!([{"name": "notes.txt", "content": "a note"}])
    );
    assert_eq!(
        json!([mail[1]["body"], mail[1]["type"], mail[1]["subject"]]),
        json!(["piped too", "error", null])
    );
    let sent = world.json(&format!("reply {id} again --as bob"));
    assert_eq!(sent["recipients"][0]["agent"], "alice");
    assert_contains!(
        world.fails(2, "send bob x --metadata =v --as alice"),
        "KEY=VALUE"
    );
    assert_contains!(
        world.fails(65, &format!("reply {id} x --type qestion --as bob")),
        "question"
    );
}

#[test]
fn a_just_dropped_message_can_be_answered_with_and_without_a_router() {
    let world = World::alice_and_bob();
    world.drop_file(
        "alice",
        "x.json",
        r#"{"id": "m1", "to": "bob", "body": "hi"}"#,
    );
    world.ok("reply m1 'hi yourself' --as bob");
    assert_eq!(world.bodies("alice"), ["hi yourself"]);
    let town = Town::alice_and_bob().run();
    town.mail(
        "alice",
        "x.json",
        json!({"id": "m1", "to": "bob", "body": "hi"}),
    );
    town.wait_for_bodies("bob", &["hi"]);
    town.ok("reply m1 'hi yourself' --as bob");
    town.wait_for_bodies("alice", &["hi yourself"]);
}

#[test]
fn reply_rejects_an_unanswerable_message_and_writes_nothing() {
    let world = World::with("alice bob carol");
    say(
        &world,
        "alice",
        json!({"id": "same", "to": "bob", "body": "x"}),
    );
    say(
        &world,
        "carol",
        json!({"id": "same", "to": "bob", "body": "x"}),
    );
    say(
        &world,
        "alice",
        json!({"id": "bad", "to": "nobody", "body": "x"}),
    );
    say(
        &world,
        "alice",
        json!({"id": "note", "to": "alice", "body": "to myself"}),
    );
    let before = world.everything();
    assert_contains!(
        world.fails(2, "reply same x --as bob"),
        "alice/same",
        "carol/same"
    );
    assert_contains!(
        world.fails(3, "reply alice/same x --as carol"),
        "carol neither sent nor received"
    );
    for missing in ["nothing", "999", "a/b/c", "\"", "0", "99999999999999999999"] {
        world.fails(3, &format!("reply {missing} x --as bob"));
    }
    // The bounce for `bad`.
    let bounce = world.inbox("alice")[0]["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    for reference in [bounce.clone(), format!("mailbag/{bounce}")] {
        assert_contains!(
            world.fails(65, &["reply", &reference, "sorry", "--as", "alice"]),
            "the router wrote it and reads no mail",
            "correct the rejected file"
        );
    }
    let unknown = world.run_env("reply same x", "MAILBAG_TEST_ANCESTRY", "unknown");
    assert_contains!(unknown.fails(2), "--as");
    assert_eq!(world.everything(), before);
    world.ok("reply note again --as alice");
    assert_eq!(
        world.bodies("alice").last().map(String::as_str),
        Some("again")
    );
    world.ok("agent set carol --status retired");
    assert_contains!(
        world.fails(65, "reply carol/same x --as bob"),
        "carol",
        "retired"
    );
}

#[test]
fn the_human_may_answer_what_was_said_between_agents() {
    let world = World::alice_and_bob();
    say(
        &world,
        "alice",
        json!({"id": "m1", "to": "bob", "subject": EVIL, "body": "shall I delete it?"}),
    );
    let seq = seq_of(&world, "alice/m1");
    world.ok(&format!("reply {seq} --all 'no, wait' --as human"));
    assert_eq!(
        world.inbox("alice")[0]["addressed_to"],
        json!(["alice", "bob"])
    );
    let shown = world.ok("thread m1 --as human");
    assert!(is_tame(&shown) && shown.contains("no, wait"), "{shown:?}");
    assert_eq!(
        each(&world.items("thread m1 --as bob"), "from"),
        ["alice", "human"]
    );
}

#[test]
fn a_reply_marks_the_answered_message_as_read() {
    let world = World::with("alice bob carol");
    let asked = world
        .ok("send -q bob carol 'which port?' --as alice")
        .trim()
        .to_owned();
    let other = world.send("alice", "bob", "and which host?");
    world.ok(&format!("reply {asked} 8080 --as bob"));
    assert_eq!(world.bodies("bob"), ["and which host?"]);
    assert_eq!(world.bodies("carol"), ["which port?"], "her copy is hers");
    world.ok(&[
        "send",
        "alice",
        "localhost",
        "--reply-to",
        &other,
        "--as",
        "bob",
    ]);
    assert_eq!(world.bodies("bob"), [""; 0]);
    let status =
        || world.json(&format!("trace {asked} --as alice"))["recipients"][0]["status"].clone();
    world.wait("its sender sees that it was seen", || status() == "seen");
    // A reply that is rejected in advance marks no message as read.
    world.fails(65, &format!("reply {asked} x --priority asap --as carol"));
    assert_eq!(world.bodies("carol"), ["which port?"]);
}
