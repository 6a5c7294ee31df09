//! `mailbag inbox` and `mailbag read`

use crate::beside::Beside;
use crate::files;
use crate::world::{Ran, World, field, parse_json, skip};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

#[test]
fn mail_is_listed_read_oldest_first_and_then_seen() {
    let world = World::alice_and_bob();
    world.send("alice", "bob", "first\nand a second line");
    world.ok("send bob more --subject second --type task --priority high --as alice");
    let listed = world.ok("inbox bob");
    let lines: Vec<&str> = listed.lines().collect();
    assert!(
        lines[0].ends_with("alice  message  normal  first") && lines[1].ends_with("second"),
        "{listed}"
    );
    assert_eq!(
        world.ok("inbox bob"),
        listed,
        "listing marks nothing as read"
    );
    let ran = world.run("read --as bob");
    assert_contains!(ran.err, "1 unread message left"; "{ran:?}");
    let shown = ran.out;
    assert!(
        shown.contains("from: alice") && shown.ends_with("\n    first\n    and a second line\n"),
        "{shown}"
    );
    assert_eq!(world.inbox("bob").len(), 1);
    assert_eq!(world.names("inbox/bob/seen").len(), 1);
    let rest = world.items("read --all --as bob");
    assert_fields!(rest, 0.subject: "second", 1: Value::Null);
    let none = world.run("read --as bob");
    assert_eq!((none.code, none.out.as_str()), (0, ""));
    assert_contains!(none.err, "no unread messages");
}

#[test]
fn read_does_not_mark_a_message_that_it_could_not_print() {
    let world = World::alice_and_bob();
    world.send("alice", "bob", &"x".repeat(1000));
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full");
    if let Ok(full) = full {
        let status = world
            .bare("read --as bob")
            .stdout(full)
            .stderr(Stdio::null())
            .status();
        assert!(!status.expect("it runs").success());
        assert_eq!(world.inbox("bob").len(), 1);
    } else {
        skip("no /dev/full");
    }
    // A reader that closes the pipe early does not cause an error, and has read no message.
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let status = world.bare("read --as bob").stdout(writer).status();
    assert!(status.expect("it runs").success());
    assert_eq!(world.inbox("bob").len(), 1);
}

#[test]
fn a_message_that_cannot_be_opened_stays_unread_and_hides_no_other() {
    let world = World::alice_and_bob();
    for body in ["closed", "second", "third", "fourth"] {
        world.send("alice", "bob", body);
    }
    let closed = world.room("inbox/bob").join(&world.names("inbox/bob")[0]);
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).expect("its own file");
    world.leave_root();
    let run = |args: &str| Ran::new(args, &world.by_owner(args).output().expect("it runs"));
    for (args, body) in [
        ("read --as bob", "second"),
        ("wait --read --as bob --timeout 0", "third"),
    ] {
        let ran = run(args);
        assert_eq!(ran.code, 1, "{ran:?}");
        assert_contains!(ran.out, "cannot open", body);
        assert_contains!(ran.err, "cannot read inbox/bob/", "Permission denied");
    }
    assert_eq!(run("read --all --as bob").code, 1);
    assert!(closed.exists());
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o600)).expect("its own file");
    assert_contains!(run("read --as bob").ok(), "closed");
    assert!(!closed.exists());
}

#[test]
fn printed_texts_of_agents_have_no_control_characters() {
    let world = World::alice_and_bob();
    let body = "\u{1b}[2Jgone \u{202e}drawkcab\u{9b}31m\nnext";
    world
        .pipe("send bob - --subject a\u{7}b --as alice", body)
        .ok();
    for command in ["inbox bob", "list", "read --as bob"] {
        let text = world.ok(command);
        assert!(
            !text.contains(['\u{1b}', '\u{7}', '\u{202e}', '\u{9b}']),
            "{text:?}"
        );
        assert_contains!(text, "a\\u{7}b");
    }
    let record = parse_json(world.log("accepted"));
    let id = field(&record, &["event", "accepted", "name", "id"]);
    let id = id.as_str().expect("an id");
    assert_fields!(world.items(&format!("read {id} --as bob")), 0.body: body);
}

#[test]
fn every_file_in_an_inbox_can_be_read() {
    let world = World::with("bob");
    world.write("inbox/bob/a.json", "not JSON \u{1b}[31m");
    world.write("inbox/bob/b.json", r#"{"body": "by hand"}"#);
    world.write("inbox/bob/.hidden.json", "{}");
    let listed = world.ok("inbox bob");
    assert!(
        listed.contains("a.json")
            && listed.contains("b.json: placed here directly, sender unknown")
            && !listed.contains("hidden"),
        "{listed}"
    );
    assert_contains!(
        world.ok("read --all --as bob"),
        "not JSON \\u{1b}[31m",
        "by hand"
    );
    assert_eq!(world.names("inbox/bob/seen").len(), 2);
}

#[test]
fn a_file_that_is_no_message_widens_no_column_of_the_inbox() {
    let world = World::alice_and_bob();
    world.send("alice", "bob", "first");
    let before = world.ok("inbox bob");
    world.write("inbox/bob/a-file-with-a-long-name.json", "not a message");
    let after = world.ok("inbox bob");
    assert_contains!(
        after,
        before.trim_end(),
        "inbox/bob/a-file-with-a-long-name.json: "
    );
}

#[test]
fn an_inbox_is_listed_since_a_time() {
    let world = World::alice_and_bob();
    world.write(
        "inbox/bob/20200101T000000.000000Z-alice-x.json",
        r#"{"body": "of long ago"}"#,
    );
    let none = world.run("inbox bob --since 1h");
    assert_contains!(none.err, "bob has no unread messages of that time"; "{none:?}");
    world.write("inbox/bob/by-hand.json", r#"{"body": "of no time"}"#);
    world.send("alice", "bob", "of today");
    let listed = world.ok("inbox bob --since 1h");
    assert!(
        listed.contains("of today")
            && listed.contains("by-hand.json")
            && !listed.contains("alice-x.json"),
        "{listed}"
    );
    assert_eq!(
        world.ok("inbox bob --since 2019-12-31"),
        world.ok("inbox bob")
    );
    world.fails(2, "inbox bob --since someday");
}

#[test]
fn numbers_in_a_message_are_shown_as_they_were_written() {
    let world = World::alice_and_bob();
    let message = r#"{"to": "bob", "metadata": {"n": 12345678901234567890123, "x": 1.10}}"#;
    world.drop_file("alice", "x.json", message);
    let text = world.ok("read --as bob --json");
    assert_contains!(text, "12345678901234567890123", "1.10");
}

/// Puts a file with the name of the oldest unread message and these bytes into `seen/`.
fn seen_before(world: &World, bytes: Option<&str>) -> String {
    let name = world.names("inbox/bob").remove(0);
    let same = world.text(&format!("inbox/bob/{name}"));
    world.write(&format!("inbox/bob/seen/{name}"), bytes.unwrap_or(&same));
    name
}

#[test]
fn read_shows_a_message_once_although_seen_has_a_file_of_its_name() {
    // P96
    let world = World::alice_and_bob();
    for body in ["first", "second", "third"] {
        world.send("alice", "bob", body);
    }
    seen_before(&world, None);
    assert_contains!(world.ok("read --as bob"), "first");
    assert_eq!(world.bodies("bob"), ["second", "third"]);
    let name = seen_before(&world, Some("another thing that its reader keeps there"));
    assert_contains!(world.ok("read --all --as bob"), "second", "third");
    assert_eq!(world.bodies("bob"), [""; 0]);
    // Nothing was written over, and nothing was lost.
    let further = format!("inbox/bob/seen/{}~2.json", name.trim_end_matches(".json"));
    assert_eq!(world.read(&further)["body"], "second");
    assert_eq!(world.names("inbox/bob/seen").len(), 4);
    let kept = world.text(&format!("inbox/bob/seen/{name}"));
    assert!(kept.starts_with("another thing"), "{kept}");
}

#[test]
fn a_message_that_cannot_be_marked_does_not_block_other_messages() {
    let world = World::alice_and_bob();
    world.send("alice", "bob", "first");
    world.send("alice", "bob", "second");
    let name = world.names("inbox/bob").remove(0);
    files::make_dir(world.room(&format!("inbox/bob/seen/{name}")));
    world.ok("read --all --as bob");
    assert_eq!(world.bodies("bob"), [""; 0]);
}

#[test]
fn fifty_simultaneous_readers_show_each_message_once() {
    let world = World::alice_and_bob();
    let lines: String = (0..50)
        .map(|n| format!("{{\"to\": \"bob\", \"body\": \"letter {n}.\"}}\n"))
        .collect();
    world.route("alice", "many.ndjson", lines);
    let _router = world.router("");
    let readers: Vec<Beside> = (0..50)
        .map(|_| Beside::start(&world, "read --as bob --json"))
        .collect();
    let mut bodies = BTreeSet::new();
    for reader in readers {
        let read = parse_json(reader.ends(&world, 0));
        assert_fields!(read, messages.1: Value::Null);
        let body = read["messages"][0]["body"].to_string();
        assert!(bodies.insert(body), "{read}");
    }
    assert_eq!(world.inbox("bob").len(), 0);
}

#[test]
fn a_reader_that_does_not_end_keeps_its_message_and_no_other() {
    let world = World::alice_and_bob();
    let long = serde_json::json!({"to": "bob", "body": "long ".repeat(100_000)}).to_string();
    world.route("alice", "long.json", long);
    // It fills the pipe without a reader, so it is still printing.
    let mut slow = world.bare("read --as bob");
    let mut slow = slow
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    slow.stdout
        .as_mut()
        .expect("a pipe")
        .read_exact(&mut [0])
        .expect("it begins to show it");
    let second = world.run("read --as bob");
    assert!(
        second.out.is_empty() && second.err.contains("another process is reading"),
        "{second:?}"
    );
    world.send("alice", "bob", "short");
    assert_contains!(world.ok("read --as bob"), "short");
    slow.kill().expect("it can be killed");
    slow.wait().expect("it ends");
    assert_contains!(world.ok("read --as bob"), "long"; "nobody had shown it to the end");
}
