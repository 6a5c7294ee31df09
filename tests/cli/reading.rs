//! `mailbag inbox` and `mailbag read`

use crate::world::World;
use serde_json::Value;
use std::process::Stdio;

#[test]
fn mail_is_listed_read_oldest_first_and_then_seen() {
    let world = World::with(&["alice", "bob"]);
    world.send("alice", "bob", "first\nand a second line");
    world.ok(&["send", "bob", "more", "--subject", "second", "--type", "task", "--priority", "high", "--as", "alice"]);
    let listed = world.ok(&["inbox", "bob"]);
    let lines: Vec<&str> = listed.lines().collect();
    assert!(lines[0].ends_with("alice  message  normal  first") && lines[1].ends_with("second"), "{listed}");
    assert_eq!(world.ok(&["inbox", "bob"]), listed, "listing marks nothing as read");
    let shown = world.ok(&["read", "--as", "bob"]);
    assert!(shown.contains("from: alice") && shown.ends_with("first\nand a second line\n"), "{shown}");
    assert_eq!((world.inbox("bob").len(), world.names("inbox/bob/seen").len()), (1, 1));
    let rest = world.json(&["read", "--all", "--as", "bob"]);
    assert_eq!((rest.as_array().map(Vec::len), rest[0]["subject"].as_str()), (Some(1), Some("second")));
    let none = world.run(&["read", "--as", "bob"]);
    assert_eq!((none.code, none.out.as_str()), (0, ""));
    assert!(none.err.contains("no unread mail"));
}

#[test]
fn a_message_is_named_by_id_beginning_or_seq_and_can_be_read_again() {
    let world = World::with(&["alice", "bob"]);
    for id in ["msg_aa", "msg_ab", "other"] {
        world.drop_file(
            "alice",
            &format!("{id}.json"),
            format!(r#"{{"id": "{id}", "to": "bob", "body": "I am {id}"}}"#),
        );
    }
    world.ok(&["inbox", "bob"]);
    let said = world.fails(2, &["read", "msg", "--as", "bob"]);
    assert!(said.contains("alice/msg_aa") && said.contains("alice/msg_ab"), "{said}");
    assert!(world.ok(&["read", "oth", "--as", "bob"]).contains("I am other"));
    let seq = world.inbox("bob")[1]["delivery"]["seq"].to_string();
    assert!(world.ok(&["read", &seq, "--as", "bob"]).contains("I am msg_ab"));
    assert!(world.ok(&["read", "alice/msg_aa", "--as", "bob"]).contains("I am msg_aa"));
    assert!(world.ok(&["read", "msg_ab", "--as", "bob"]).contains("I am msg_ab"), "once more, from seen/");
    world.fails(3, &["read", "nothing", "--as", "bob"]);
}

#[test]
fn what_could_not_be_printed_is_not_marked_as_read() {
    let world = World::with(&["alice", "bob"]);
    world.send("alice", "bob", &"x".repeat(1000));
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full");
    if let Ok(full) = full {
        let status = world.bare(&["read", "--as", "bob"]).stdout(full).stderr(Stdio::null()).status();
        assert!(!status.expect("it runs").success());
        assert_eq!(world.inbox("bob").len(), 1);
    }
    // A reader that has enough is no failure, and has read nothing.
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let status = world.bare(&["read", "--as", "bob"]).stdout(writer).status();
    assert!(status.expect("it runs").success());
    assert_eq!(world.inbox("bob").len(), 1);
}

#[test]
fn what_agents_write_cannot_play_with_the_terminal() {
    let world = World::with(&["alice", "bob"]);
    let body = "\u{1b}[2Jgone \u{202e}drawkcab\u{9b}31m\nnext";
    world.pipe(&["send", "bob", "-", "--subject", "a\u{7}b", "--as", "alice"], body).ok(&["send"]);
    for text in [world.ok(&["inbox", "bob"]), world.ok(&["log"]), world.ok(&["read", "--as", "bob"])] {
        assert!(!text.contains(['\u{1b}', '\u{7}', '\u{202e}', '\u{9b}']), "{text:?}");
        assert!(text.contains("a\\u{7}b"), "{text}");
    }
    let id = world.json(&["log", "--event", "accepted"])["id"].clone();
    let again = world.json(&["read", id.as_str().expect("an id"), "--as", "bob"]);
    assert_eq!(again[0]["body"], body);
}

#[test]
fn whatever_stands_in_an_inbox_can_be_read() {
    let world = World::with(&["bob"]);
    world.write("inbox/bob/a.json", "not JSON \u{1b}[31m");
    world.write("inbox/bob/b.json", r#"{"body": "by hand"}"#);
    world.write("inbox/bob/.hidden.json", "{}");
    let listed = world.ok(&["inbox", "bob"]);
    assert!(listed.contains("a.json") && listed.contains("by hand") && !listed.contains("hidden"), "{listed}");
    let shown = world.ok(&["read", "--all", "--as", "bob"]);
    assert!(shown.contains("not JSON \\u{1b}[31m") && shown.contains("by hand"), "{shown}");
    assert_eq!(world.names("inbox/bob/seen").len(), 2);
}

#[test]
fn numbers_in_a_message_are_shown_as_they_were_written() {
    let world = World::with(&["alice", "bob"]);
    world.drop_file("alice", "x.json", r#"{"to": "bob", "metadata": {"n": 12345678901234567890123, "x": 1.10}}"#);
    let text = world.ok(&["read", "--as", "bob", "--json"]);
    assert!(text.contains("12345678901234567890123") && text.contains("1.10"), "{text}");
    let read: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(read[0]["from"], "alice");
}
