//! Commands find old messages without reading the whole log.

use crate::files;
use crate::town::tool;
use crate::world::{Ran, World};
use mailbag::commands::read;
use mailbag::log::state::{self, Relation, Relations};
use mailbag::query::{channel, inbox, trace};
use mailbag::room::Room;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

fn open(world: &World) -> Room {
    Room::open(&world.room("")).expect("a room")
}

fn send(world: &World, from: &str, fields: Value) {
    let name = format!("{}.json", fields["id"].as_str().expect("an id"));
    world.mail(from, &name, &fields);
    world.pass_here();
}

/// Sends a long message, and runs a pass that begins with a checkpoint. The router writes the index with the checkpoint.
fn grow(world: &World, id: &str) {
    let body = "x".repeat(40_000);
    send(world, "alice", json!({"id": id, "to": "bob", "body": body}));
    world.pass_here();
}

/// Changes the last byte of the one run of the index, and returns its path.
fn damage(world: &World) -> PathBuf {
    let path = runs(world).remove(0);
    let mut bytes = files::read(&path);
    *bytes.last_mut().expect("a byte") ^= 1;
    files::write(&path, bytes);
    path
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
    grow(&world, "long-0");
    world
}

fn runs(world: &World) -> Vec<PathBuf> {
    let entries = fs::read_dir(world.room("spool/relations"))
        .into_iter()
        .flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("a file").path()).collect();
    paths.sort();
    paths
}

fn is_indexed(world: &World) -> bool {
    let room = open(world);
    let state = state::committed(&room.dir).expect("a state");
    let relations = Relations::open(&room.dir, &state);
    relations.is_some_and(|relations| relations.places(&[Relation::Id("q1")]).is_some())
}

/// The output of `trace` and `thread`.
fn shown(world: &World) -> Vec<Value> {
    let commands = [
        "trace q1",
        "trace t1",
        "thread q1",
        "thread a1",
        "thread other-3",
    ];
    commands.map(|command| world.json(command)).to_vec()
}

#[test]
fn trace_and_thread_show_the_same_whatever_becomes_of_the_index() {
    let world = talk();
    assert!(is_indexed(&world), "{:?}", runs(&world));
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
    let other = files::read(runs(&talk()).remove(0));
    for case in [
        "first-block",
        "later-block",
        "cut-off",
        "empty",
        "of-another-room",
    ] {
        let path = runs(&world).remove(0);
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
        assert!(is_indexed(&world), "{case}: the router writes it again");
        assert_eq!(shown(&world), expected, "{case}, written again");
    }
    files::remove_dir(world.room("spool/relations"));
    assert_eq!(shown(&world), expected, "missing");
    assert!(
        !world.room("spool/relations").exists(),
        "a reader writes no index"
    );
}

fn copy(from: &Path, to: &Path) {
    let _ = fs::remove_dir_all(to);
    tool("cp", ["-a".as_ref(), from.as_os_str(), to.as_os_str()]);
}

#[test]
fn an_older_and_a_newer_index_decide_nothing_and_are_written_again() {
    let world = talk();
    let (index, checkpoint) = (
        world.room("spool/relations"),
        world.room("spool/checkpoint"),
    );
    let saved = world.path().join("saved");
    copy(&world.room(""), &saved);
    grow(&world, "later");
    send(
        &world,
        "bob",
        json!({"id": "a2", "to": "alice", "in_reply_to": "q1", "body": "or 8081"}),
    );
    grow(&world, "long-1");
    let expected = shown(&world);
    assert_eq!(expected[0]["answers"][1]["id"], "a2", "{expected:?}");
    let newer = world.path().join("newer");
    copy(&index, &newer);

    copy(&saved.join("spool/relations"), &index);
    assert_eq!(shown(&world), expected, "an older index");
    copy(&newer, &index);
    files::copy(saved.join("spool/checkpoint"), &checkpoint);
    assert_eq!(shown(&world), expected, "newer than the checkpoint");
    grow(&world, "long-2");
    assert!(is_indexed(&world));
    assert_eq!(shown(&world), expected);

    // The room before these messages, with the index of the room after them.
    copy(&saved, &world.room(""));
    copy(&newer, &index);
    let before = shown(&world);
    assert_eq!(before[0]["answers"].as_array().map(Vec::len), Some(1));
    grow(&world, "another");
    assert!(is_indexed(&world));
    assert_eq!(shown(&world), before, "newer than the log");
    let inodes = |paths: Vec<PathBuf>| -> Vec<u64> {
        let metas = paths.iter().map(fs::metadata);
        metas.map(|meta| meta.expect("a run").ino()).collect()
    };
    let written = inodes(runs(&world));
    world.pass();
    world.pass();
    assert_eq!(inodes(runs(&world)), written, "it is written again once");
}

#[test]
fn the_first_router_after_a_boot_writes_a_damaged_index_again() {
    for end_of_log in ["", r#"{"seq":"#] {
        let world = talk();
        let expected = shown(&world);
        damage(&world);
        let log = world.text("log/00000001.ndjson");
        world.write("log/00000001.ndjson", log + end_of_log);
        world.write("spool/boot", "an earlier boot");
        world.pass();
        assert!(
            is_indexed(&world),
            "after {end_of_log:?}: {:?}",
            runs(&world)
        );
        assert_eq!(shown(&world), expected, "after {end_of_log:?}");
    }
}

#[test]
fn a_run_of_the_index_that_a_killed_router_did_not_name_is_not_used() {
    let world = talk();
    let expected = shown(&world);
    let path = damage(&world);
    let unnamed = path.with_extension("tmp");
    files::rename(path, &unnamed);
    assert!(!is_indexed(&world), "{:?}", runs(&world));
    assert_eq!(shown(&world), expected);
    world.write("spool/boot", "an earlier boot");
    world.pass();
    assert!(is_indexed(&world), "{:?}", runs(&world));
    assert!(!unnamed.exists(), "it is removed");
}

#[test]
fn readers_work_in_a_room_that_they_cannot_write_to() {
    let world = talk();
    fs::set_permissions(world.path(), fs::Permissions::from_mode(0o755)).expect("ours");
    let path = runs(&world).remove(0);
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
            "trace q1",
            "trace 2",
            "thread q1",
            "thread a1",
            "list --last=3",
        ] {
            let mut command = world.by_owner(&format!("{words} --json"));
            let output = command.output().expect("it runs");
            shown.insert(words, Ran::new(words, &output).ok());
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
    files::remove_dir(world.room("spool/relations"));
    assert_eq!(shown_read_only(), expected, "missing");
    let owner = rustix::process::geteuid().as_raw().to_string();
    tool(
        "chown",
        ["-R".as_ref(), owner.as_ref(), world.path().as_os_str()],
    );
    grow(&world, "long-1");
    assert!(is_indexed(&world), "{:?}", runs(&world));
}

#[test]
fn runs_of_the_index_are_merged() {
    let world = World::alice_and_bob();
    for n in 0..12 {
        grow(&world, &format!("m{n}"));
    }
    assert!((1..6).contains(&runs(&world).len()), "{:?}", runs(&world));
    let room = open(&world);
    let trace = trace::trace(&room, None, "m0").expect("a trace");
    assert_eq!(trace.recipients.len(), 1);
}

#[test]
fn channels_are_listed_without_their_conversations() {
    let world = talk();
    files::remove_dir(world.room("channels"));
    let channels = channel::list(&open(&world)).expect("a list");
    assert_eq!(channels[0].channel, "main");
    assert!(channels[0].messages > 8);
}

#[test]
fn a_message_is_read_by_its_number_its_id_or_its_file() {
    let world = World::alice_and_bob();
    for id in ["m0", "m1", "m2"] {
        send(&world, "alice", json!({"id": id, "to": "bob", "body": "x"}));
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
