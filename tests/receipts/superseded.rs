//! Superseded mail leaves the inboxes and names its replacement.

use super::statuses;
use crate::files;
use crate::world::World;
use serde_json::{Value, json};

/// Alice has replaced a message to bob and carol, which carol had read.
fn room(ack: impl Fn(&World, &str, &str)) -> (World, String) {
    let world = World::with("alice bob carol");
    let old = world
        .ok("send -q bob carol 'deploy at one' --as alice")
        .trim()
        .to_owned();
    world.ok("read --as carol");
    let new = world
        .ok("send -q bob carol 'deploy at two' --as alice")
        .trim()
        .to_owned();
    ack(&world, &old, &new);
    world.pass();
    (world, old)
}

#[test]
fn superseded_mail_leaves_the_inboxes_by_command_and_by_a_dropped_file() {
    // P60, P366
    let by_command = |world: &World, old: &str, new: &str| {
        world.ok(&[
            "ack",
            old,
            "--status",
            "superseded",
            "--by",
            new,
            "--as",
            "alice",
        ]);
    };
    let by_file = |world: &World, old: &str, new: &str| {
        let ack = json!({"type": "ack", "refs": [old], "status": "superseded", "metadata": {"superseded_by": new}});
        world.mail("alice", "ack.json", &ack);
    };
    for (world, old) in [room(by_command), room(by_file)] {
        assert_eq!(world.bodies("bob"), ["deploy at two"]);
        assert_eq!(world.names("inbox/bob/expired").len(), 1);
        assert_eq!(
            world.names("inbox/carol/seen").len(),
            1,
            "a read copy stays where it is"
        );
        assert!(
            !statuses(&world, &old, "bob").contains(&"seen".to_owned()),
            "no reader has seen it"
        );
        let trace = world.ok(&["trace", &old, "--as", "alice"]);
        assert_eq!(
            trace.matches("superseded by alice: replaced by #3").count(),
            2,
            "{trace}"
        );
        let read = world.ok(&["read", &old, "--as", "bob"]);
        assert_contains!(read, "closed: superseded: replaced by #3");
        let read: Value = world.items(&["read", &old, "--as", "bob"]);
        assert_eq!(read[0]["delivery"]["closed"], "superseded: replaced by #3");
        assert!(!world.ok("inbox --as bob").contains("deploy at one"));
    }
}

#[test]
fn a_read_message_that_was_closed_later_is_shown_as_closed() {
    // P366
    let world = World::with("alice carol");
    let old = world.ok("send -q carol deploy --type task --as alice");
    let old = old.trim();
    world.ok("read --as carol");
    world.ok(&["ack", old, "--status", "withdrawn", "--as", "alice"]);
    let read = world.ok(&["read", old, "--as", "carol"]);
    assert_contains!(read, "closed: withdrawn");
    let read = world.items(&["read", old, "--as", "carol"]);
    assert_eq!(read[0]["delivery"]["closed"], "withdrawn");
    let name = world.names("inbox/carol/seen").remove(0);
    files::rename(
        world.room("inbox/carol/seen").join(&name),
        world.room("inbox/carol").join(&name),
    );
    assert_contains!(world.ok("inbox --as carol"), "task (withdrawn)");
    assert_contains!(world.ok("wait --as carol"), "closed: withdrawn");
    assert_contains!(world.ok("read --as carol"), "closed: withdrawn");
}

#[test]
fn mail_that_is_superseded_without_a_replacement_leaves_the_inbox_as_well() {
    // P60
    let (world, old) = room(|world, old, _| {
        world.ok(&["ack", old, "--status", "superseded", "--as", "alice"]);
    });
    assert_eq!(world.bodies("bob"), ["deploy at two"]);
    assert_contains!(
        world.ok(&["read", &old, "--as", "bob"]),
        "closed: superseded\n"
    );
}

#[test]
fn a_replacement_that_the_sender_does_not_know_is_rejected() {
    // P366
    let world = World::with("alice bob carol");
    let old = world.send("alice", "bob", "one");
    let other = world.send("carol", "bob", "not for alice");
    assert_contains!(
        world.fails(
            3,
            &[
                "ack",
                &old,
                "--status",
                "superseded",
                "--by",
                &other,
                "--as",
                "alice",
            ],
        ),
        "neither sent nor received"
    );
    assert_contains!(
        world.fails(2, &["ack", &old, "--by", &other, "--as", "bob"]),
        "--status superseded"
    );
    assert_eq!(world.bodies("bob"), ["one", "not for alice"]);
}

#[test]
fn an_approval_that_its_asker_supersedes_is_closed() {
    // P366
    let world = World::alice_and_bob();
    world.route(
        "alice",
        "a.json",
        r#"{"id":"a1","to":"bob","type":"approval","body":"Deploy?"}"#,
    );
    world.ok("ack a1 --status superseded --as alice");
    assert_eq!(world.json("pending --as bob")["items"], json!([]));
}

#[test]
fn each_program_that_shows_superseded_mail_again_names_its_replacement() {
    // P366
    let (world, _) = room(|world, old, new| {
        let args = ["ack", old, "--status", "superseded", "--by", new];
        world.ok(&[&args[..], &["--as", "alice"]].concat());
    });
    let listed = world.json("list")["messages"].clone();
    let [old, new] = [&listed[0], &listed[1]];
    let closed = format!("superseded: replaced by #{}", new["seq"]);
    assert_eq!(
        (&old["closed"], &new["closed"]),
        (&json!(closed), &Value::Null)
    );
    let number = old["seq"].to_string();
    let shown = [
        world.ok("list"),
        world.ok(&["thread", &number, "--as", "bob"]),
        world.ok(&["read", &number, "--as", "bob"]),
        world.ok("search deploy"),
    ];
    for text in shown {
        assert_eq!(text.matches(&closed).count(), 1, "{text}");
    }
    let context = world.ok("context --as carol");
    assert!(!context.contains("deploy at one"), "{context}");
    let id = new["id"].as_str().expect("an id");
    world.ok(&["ack", id, "--status", "withdrawn", "--as", "alice"]);
    assert_contains!(world.ok("list"), "(withdrawn)");
}

#[test]
fn a_conversation_names_the_replacement_of_superseded_mail() {
    // P366
    let world = World::alice_and_bob();
    for id in ["old", "new"] {
        let message = json!({"id": id, "to": "bob", "channel": "design", "body": id});
        world.route("alice", &format!("{id}.json"), &message);
    }
    let args = ["ack", "old", "--status", "superseded", "--by", "new"];
    world.ok(&[&args[..], &["--as", "alice"]].concat());
    let shown = world.ok("list --channel design");
    assert_eq!(
        shown.matches("superseded: replaced by #3").count(),
        1,
        "{shown}"
    );
}

#[test]
fn a_recipient_that_closes_its_own_copy_does_not_close_the_message() {
    // P59
    let (world, old) = room(|world, old, new| {
        world.ok(&[
            "ack",
            old,
            "--status",
            "superseded",
            "--by",
            new,
            "--as",
            "bob",
        ]);
    });
    assert!(!world.inbox("carol").is_empty());
    for args in [
        &["list", "--as", "carol"][..],
        &["thread", &old, "--as", "carol"],
        &["search", "deploy", "--as", "carol"],
        &["context", "--as", "carol"],
    ] {
        let shown = world.ok(args);
        assert!(!shown.contains("superseded"), "{args:?}: {shown}");
    }
}
