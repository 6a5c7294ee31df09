//! Commands find old messages without reading the whole log.

use crate::files;
use crate::town::tool;
use crate::world::{World, lossy};
use mailbag::commands::read;
use mailbag::query::{channel, inbox};
use mailbag::room::Room;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

const INDEX: &str = "log/index";

fn open(world: &World) -> Room {
    Room::open(&world.room("")).expect("a room")
}

fn send(world: &World, from: &str, fields: Value) {
    let name = format!("{}.json", fields["id"].as_str().expect("an id"));
    world.route(from, &name, &fields);
}

/// Sends a message, and runs a pass that begins with a snapshot and the index.
fn grow(world: &World, id: &str) {
    send(world, "alice", json!({"id": id, "to": "bob", "body": "x"}));
    let mut command = world.bare("run --once");
    command.env("MAILBAG_TEST_RECENT_ENTRIES", "1");
    let output = command.output().expect("it runs");
    assert!(output.status.success(), "{}", lossy(&output.stderr));
}

/// A room with a thread, receipts and an answer by an unusual reference.
fn talk() -> World {
    let world = World::alice_and_bob();
    send(
        &world,
        "alice",
        json!({"id": "q1", "to": "bob", "type": "question", "body": "Which port?"}),
    );
    world.ok("read --as bob");
    send(
        &world,
        "bob",
        json!({"id": "a1", "to": "alice", "type": "answer", "in_reply_to": "q1", "body": "8080"}),
    );
    send(
        &world,
        "alice",
        json!({"id": "t1", "to": "bob", "thread_id": "q1", "body": "Thanks"}),
    );
    world.ok("ack t1 --as bob --note done");
    for n in 0..6 {
        send(
            &world,
            "alice",
            json!({"id": format!("other-{n}"), "to": "bob", "body": "x"}),
        );
    }
    grow(&world, "last");
    world
}

/// The number of the last record that the index covers, if it can be read.
fn covered(world: &World) -> Option<u64> {
    let bytes = fs::read(world.room(INDEX)).ok()?;
    let line = bytes.split(|&byte| byte == b'\n').next()?;
    let header: Value = serde_json::from_slice(line).ok()?;
    header["covers"]["seq"].as_u64()
}

/// The output of `trace` and `thread`.
fn shown(world: &World) -> Vec<Value> {
    let shown = [
        ["trace", "q1"],
        ["trace", "t1"],
        ["thread", "q1"],
        ["thread", "a1"],
        ["thread", "other-3"],
    ];
    shown.iter().map(|command| world.json(command)).collect()
}

#[test]
fn trace_and_thread_show_the_same_whatever_becomes_of_the_index() {
    let world = talk();
    let last = covered(&world).expect("an index");
    let expected = shown(&world);
    let statuses = expected[0]["recipients"][0]["statuses"].to_string();
    assert!(
        statuses.contains("seen") && expected[0]["answers"][0]["id"] == "a1",
        "{expected:?}"
    );
    assert_eq!(
        expected[2]["messages"].as_array().map(Vec::len),
        Some(3),
        "{expected:?}"
    );
    let path = world.room(INDEX);
    let other = files::read(talk().room(INDEX));
    for case in [
        "first-block",
        "later-block",
        "cut-off",
        "empty",
        "of-another-room",
    ] {
        let mut bytes = files::read(&path);
        match case {
            "first-block" => bytes[30] ^= 1,
            "later-block" => *bytes.last_mut().expect("a byte") ^= 1,
            "cut-off" => bytes.truncate(bytes.len() / 2),
            "empty" => bytes.clear(),
            _ => bytes.clone_from(&other),
        }
        files::write(&path, bytes);
        assert_eq!(shown(&world), expected, "{case}");
        grow(&world, case);
        assert!(covered(&world) > Some(last), "{case}: it is written again");
        assert_eq!(shown(&world), expected, "{case}, written again");
    }
    files::remove_file(&path);
    assert_eq!(shown(&world), expected, "missing");
}

fn copy(from: &Path, to: &Path) {
    let _ = fs::remove_dir_all(to);
    tool("cp", ["-a".as_ref(), from.as_os_str(), to.as_os_str()]);
}

#[test]
fn an_older_and_a_newer_index_decide_nothing_and_are_written_again() {
    let world = talk();
    let (index, snapshot) = (world.room(INDEX), world.room("spool/snapshot"));
    let saved = world.path().join("saved");
    copy(&world.room(""), &saved);
    send(
        &world,
        "bob",
        json!({"id": "a2", "to": "alice", "in_reply_to": "q1", "body": "or 8081"}),
    );
    grow(&world, "later");
    let expected = shown(&world);
    assert_eq!(expected[0]["answers"][1]["id"], "a2", "{expected:?}");
    let newer = files::read(&index);

    files::copy(saved.join(INDEX), &index);
    assert_eq!(shown(&world), expected, "an older index");
    files::write(&index, &newer);
    files::copy(saved.join("spool/snapshot"), &snapshot);
    assert_eq!(shown(&world), expected, "newer than the snapshot");
    files::remove_file(&snapshot);
    assert_eq!(shown(&world), expected, "without a snapshot");
    grow(&world, "again");
    assert_eq!(shown(&world), expected);

    // The room before these messages, with the index of the room after them.
    copy(&saved, &world.room(""));
    files::write(&index, &newer);
    let before = shown(&world);
    assert_eq!(before[0]["answers"].as_array().map(Vec::len), Some(1));
    send(
        &world,
        "bob",
        json!({"id": "a2", "to": "alice", "body": "of the other log"}),
    );
    assert!(
        world
            .inbox("alice")
            .iter()
            .any(|message| message["id"] == "a2"),
        "the index of the other log makes no duplicate"
    );
    grow(&world, "another");
    assert_eq!(shown(&world), before, "newer than the log");
}

#[test]
fn readers_work_in_a_room_that_they_cannot_write_to() {
    let world = talk();
    fs::set_permissions(world.path(), fs::Permissions::from_mode(0o755)).expect("ours");
    let path = world.room(INDEX);
    // Root may write everywhere, so another user owns the room.
    world.leave_root();
    let set_mode = |mode: &str| {
        let room = world.room("");
        tool("chmod", ["-R".as_ref(), mode.as_ref(), room.as_os_str()]);
    };
    let shown_read_only = || {
        set_mode("a-w");
        let mut shown = BTreeMap::new();
        for words in [
            ["trace", "q1"],
            ["trace", "2"],
            ["thread", "q1"],
            ["thread", "a1"],
            ["list", "--last=3"],
        ] {
            let mut command = world.by_owner(&[&words[..], &["--json"]].concat());
            let output = command.output().expect("it runs");
            let err = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{words:?}: {err}");
            shown.insert(words, output.stdout);
        }
        set_mode("u+w");
        shown
    };
    let expected = shown_read_only();
    let whole = files::read(&path);
    let mut damaged = whole.clone();
    *damaged.last_mut().expect("a byte") ^= 1;
    for (case, bytes) in [("damaged", damaged), ("cut off", whole[..30].to_vec())] {
        files::write(&path, &bytes);
        assert_eq!(shown_read_only(), expected, "{case}");
        assert_eq!(files::read(&path), bytes, "{case}");
    }
    files::remove_file(&path);
    assert_eq!(shown_read_only(), expected, "missing");
}

#[test]
fn channels_are_listed_without_their_conversations() {
    let world = talk();
    files::remove_dir(world.room("channels"));
    let channels = channel::list(&open(&world)).expect("a list");
    assert_eq!(
        (channels[0].channel.as_str(), channels[0].messages > 8),
        ("main", true)
    );
}

#[test]
fn a_message_is_read_by_its_number_its_id_or_its_file() {
    let world = World::alice_and_bob();
    for n in 0..3 {
        send(
            &world,
            "alice",
            json!({"id": format!("m{n}"), "to": "bob", "body": "x"}),
        );
    }
    let room = open(&world);
    let all = inbox::list(&room, "bob").expect("mail");
    let number = all[2].seq.expect("a number").to_string();
    for (name, id) in [(number.as_str(), "m2"), ("m2", "m2"), ("alice/m1", "m1")] {
        let found = read::named(&room, "bob", &[name.to_owned()]).expect("it is found");
        assert_eq!(found[0].id, id, "{name}");
    }
    let file = all[0].name.to_str().expect("UTF-8").to_owned();
    let found = read::named(&room, "bob", &[file]).expect("it is found");
    assert_eq!(found[0].id, "m0");
}
