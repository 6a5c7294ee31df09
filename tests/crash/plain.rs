//! Plain mail.

use super::explore::{holds, holds_everywhere};
use super::story::{Act, ROOM, Story, drops, letter};
use crate::sim::{CallName, Failure};
use mailbag::base::error::Error;
use mailbag::router::daemon::pass;
use mailbag::{Result, Room};
use rustix::io::Errno;
use serde_json::{Value, json};
use std::path::Path;

const LOG: &str = "/home/room/log";

/// A file with one message per line that an agent drops.
fn drops_lines(agent: &str, name: &str, lines: &[&str]) -> Act {
    let path = format!("room/outbox/{agent}/{name}.ndjson");
    Act::Write(path, (lines.join("\n") + "\n").into_bytes())
}

/// A message file with a name of its own.
fn drops_as(agent: &str, name: &str, message: Value) -> Act {
    let path = format!("room/outbox/{agent}/{name}");
    Act::Write(path, message.to_string().into_bytes())
}

#[test]
fn one_message() {
    holds(&Story::new("one message", &["alice", "bob"]).then([
        drops("alice", "hello", json!({"to": "bob", "body": "hello"})),
        Act::pass(ROOM),
    ]));
}

// P91
#[test]
fn a_copy_with_both_names_after_a_power_cut_is_delivered_once() {
    let sync_inbox: fn(&Room) -> Result<()> = |room| room.dir.sub("inbox/bob")?.sync();
    holds_everywhere(&Story::new("a synced inbox", &["alice", "bob"]).then([
        drops("alice", "hello", json!({"to": "bob", "body": "hello"})),
        Act::pass(ROOM),
        Act::Do(ROOM, sync_inbox),
        Act::pass(ROOM),
    ]));
}

/// Moves the mail of bob, and syncs only the new directory. Fails if a copy was moved before.
fn move_and_sync(room: &Room) -> Result<()> {
    let (inbox, seen) = (room.dir.sub("inbox/bob")?, room.dir.sub("inbox/bob/seen")?);
    for name in inbox.names()?.iter().filter(|name| name.ends_with(".json")) {
        if seen.stat(name)?.is_some() {
            return Err(Error::usage("a copy came twice", ""));
        }
        inbox.rename(name, &seen, name, "move")?;
    }
    seen.sync()
}

/// A power cut can bring the staged name back.
#[test]
fn a_copy_that_was_moved_and_is_staged_after_a_power_cut_is_delivered_once() {
    let pass_and_move: fn(&Room) -> Result<()> = |room| {
        pass(room)?;
        move_and_sync(room)
    };
    holds(&Story::new("a synced seen", &["alice", "bob"]).then([
        drops("alice", "hello", json!({"to": "bob", "body": "hello"})),
        Act::Do(ROOM, pass_and_move),
        Act::Do(ROOM, pass_and_move),
        Act::pass(ROOM),
    ]));
}

#[test]
fn several_recipients() {
    holds(
        &Story::new("several recipients", &["alice", "bob", "carol"]).then([
            drops("alice", "a1", json!({"to": "all", "body": "to all"})),
            drops(
                "bob",
                "b1",
                json!({"to": ["alice", "carol"], "body": "to two"}),
            ),
            Act::pass(ROOM),
            Act::Move("room/inbox/carol"),
            Act::pass(ROOM),
        ]),
    );
}

#[test]
fn several_lines_one_of_them_bad() {
    let lines = [
        r#"{"id": "l1", "to": "bob", "body": "one"}"#,
        r#"{"id": "l2", "to": "nobody", "body": "two"}"#,
        r#"{"to": "bob", "body": "three"}"#,
    ];
    holds(
        &Story::new("lines", &["alice", "bob"])
            .then([drops_lines("alice", "lines", &lines), Act::pass(ROOM)]),
    );
}

#[test]
fn a_file_of_lines_that_is_larger_than_a_batch() {
    let lines = [
        r#"{"to": "all", "body": "one"}"#,
        r#"{"to": "all", "body": "two"}"#,
        r#"{"to": "bob"}"#,
        r#"{"to": "all", "body": "three"}"#,
    ];
    holds(
        &Story::new("lines larger than a batch", &["alice", "bob", "carol"])
            .with("MAILBAG_TEST_BATCH_COPIES", "3")
            .then([
                drops_lines("alice", "lines", &lines),
                drops("bob", "b1", json!({"to": "alice", "body": "between them"})),
                Act::pass(ROOM),
            ]),
    );
}

#[test]
fn several_files_of_one_sender() {
    holds(&Story::new("several files", &["alice", "bob"]).then([
        drops("alice", "a1", json!({"to": "bob", "body": "one"})),
        drops_as(
            "alice",
            "a2.json",
            json!({"to": "bob", "body": "without an id"}),
        ),
        drops("alice", "a3", json!({"to": "bob", "body": "three"})),
        Act::pass(ROOM),
    ]));
}

#[test]
fn a_name_that_is_used_again() {
    holds(&Story::new("a name used again", &["alice", "bob"]).then([
        drops_as("alice", "next.json", json!({"to": "bob", "body": "one"})),
        Act::pass(ROOM),
        drops_as("alice", "next.json", json!({"to": "bob", "body": "two"})),
        Act::pass(ROOM),
    ]));
}

#[test]
fn files_that_are_rejected() {
    holds(&Story::new("rejections", &["alice", "bob"]).then([
        drops("alice", "a1", json!({"to": "nobody", "body": "who?"})),
        drops_as(
            "alice",
            "a2.json",
            json!({"id": "a2", "to": "bob", "type": "unheard", "body": "what?"}),
        ),
        Act::Write("room/outbox/bob/b1.json".into(), b"no message".to_vec()),
        Act::pass(ROOM),
    ]));
}

#[test]
fn a_rejected_message_is_dropped_again_with_its_id() {
    holds(&Story::new("a correction", &["alice", "bob"]).then([
        drops("alice", "a1", json!({"to": "bbo", "body": "hello"})),
        Act::pass(ROOM),
        drops("alice", "a1", json!({"to": "bob", "body": "hello"})),
        Act::pass(ROOM),
    ]));
}

#[test]
fn a_message_is_dropped_again() {
    let hello = json!({"to": "bob", "body": "hello"});
    let mut other = json!({"to": "bob", "body": "another text"});
    other["id"] = "hello".into();
    holds(
        &Story::new("duplicates", &["alice", "bob"])
            .before([drops("alice", "hello", hello.clone()), Act::pass(ROOM)])
            .then([
                drops("alice", "hello", hello),
                drops_as("alice", "other.json", other),
                Act::pass(ROOM),
            ]),
    );
}

#[test]
fn a_message_is_dropped_twice_at_once() {
    let mut hello = json!({"to": "bob", "body": "hello"});
    hello["id"] = "hello".into();
    holds(&Story::new("two equal files", &["alice", "bob"]).then([
        drops_as("alice", "one.json", hello.clone()),
        drops_as("alice", "two.json", hello),
        Act::pass(ROOM),
    ]));
}

#[test]
fn a_message_with_attachments() {
    let attached = json!([{"path": "context/plan.md"}, {"name": "note.txt", "content": "a note"}]);
    holds(
        &Story::new("attachments", &["alice", "bob"])
            .before([Act::Write(
                "room/context/plan.md".into(),
                b"# The plan\n".to_vec(),
            )])
            .then([
                drops(
                    "alice",
                    "a1",
                    json!({"to": "bob", "body": "see", "attachments": attached}),
                ),
                Act::pass(ROOM),
            ]),
    );
}

#[test]
fn mail_to_the_sender_and_to_the_person() {
    holds(&Story::new("a note to oneself", &["alice"]).then([
        drops("alice", "a1", json!({"to": "alice", "body": "remember"})),
        drops("alice", "a2", json!({"to": "human", "body": "done"})),
        drops("human", "h1", json!({"to": "all", "body": "well done"})),
        Act::pass(ROOM),
    ]));
}

#[test]
fn one_reader_deletes_and_another_moves() {
    holds(
        &Story::new("readers", &["alice", "bob", "carol"])
            .before([
                drops("alice", "a1", json!({"to": "all", "body": "one"})),
                Act::pass(ROOM),
                Act::Take("room/inbox/bob"),
                Act::Move("room/inbox/carol"),
            ])
            .then([
                drops("alice", "a2", json!({"to": "all", "body": "two"})),
                Act::pass(ROOM),
                Act::Take("room/inbox/bob"),
                Act::pass(ROOM),
            ]),
    );
}

/// A router recovers the room after a failed sync of the log, and routes on in the same pass.
#[test]
fn a_failed_sync_of_the_log_does_not_end_the_router() {
    let story = Story::new("a failed sync", &["alice", "bob"])
        .with("MAILBAG_TEST_BATCH_COPIES", "1")
        .then([letter("one"), letter("two"), Act::pass(ROOM)]);
    story.set_variables();
    let mut play = story.begin();
    let (letters, passes) = story.acts.split_at(2);
    for letter in letters {
        play.play(letter).expect("it is written");
    }
    let mut whole = play.clone();
    whole.machine.watch();
    whole.play(&passes[0]).expect("a pass");
    let syncs: Vec<usize> = (0..)
        .zip(whole.machine.calls())
        .filter(|(_, call)| call.name == CallName::SyncData && call.paths[0].starts_with(LOG))
        .map(|(number, _)| number)
        .collect();
    assert!(syncs.len() > 1, "{syncs:?}");
    for call in syncs {
        let mut play = play.clone();
        play.machine.watch();
        play.machine.fail(Some(Failure {
            call,
            errno: Errno::IO.raw_os_error(),
            lasts: false,
            short: false,
        }));
        play.play(&passes[0]).expect("the router goes on");
        let inbox = play.machine.tree(Path::new("/home/room/inbox/bob"));
        let copies = inbox.keys().filter(|path| path.extension().is_some());
        assert_eq!(copies.count(), 2, "{call}: {inbox:?}");
    }
}
