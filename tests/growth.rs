//! Commands find old messages without reading the whole log.

use crate::world::World;
use mailbag::commands::read;
use mailbag::log::state::{self, Relation, Relations};
use mailbag::query::{channel, inbox, trace};
use mailbag::room::Room;
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;

fn open(world: &World) -> Room {
    Room::open(&world.room("")).expect("a room")
}

fn send(world: &World, from: &str, fields: Value) {
    let name = format!("{}.json", fields["id"].as_str().expect("an id"));
    world.drop_file(from, &name, fields.to_string());
    world.ok(&["run", "--once"]);
}

/// Sends a long message, and runs a pass that begins with a checkpoint. The router writes the index with the checkpoint.
fn grow(world: &World, id: &str) {
    send(
        world,
        "alice",
        json!({"id": id, "to": "bob", "body": "x".repeat(40_000)}),
    );
    world.ok(&["run", "--once"]);
}

/// A room with a thread, receipts and an answer by an unusual reference.
fn talk() -> World {
    let world = World::with(&["alice", "bob"]);
    send(
        &world,
        "alice",
        json!({"id": "q1", "to": "bob", "type": "question", "body": "Which port?"}),
    );
    world.ok(&["read", "--as", "bob"]);
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
    world.ok(&["ack", "t1", "--as", "bob", "--note", "done"]);
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
    let other = fs::read(runs(&talk()).remove(0)).expect("a run");
    for case in [
        "first-block",
        "later-block",
        "cut-off",
        "empty",
        "of-another-room",
    ] {
        let path = runs(&world).remove(0);
        let mut bytes = fs::read(&path).expect("a run");
        match case {
            "first-block" => bytes[30] ^= 1,
            "later-block" => *bytes.last_mut().expect("a byte") ^= 1,
            "cut-off" => bytes.truncate(bytes.len() / 2),
            "empty" => bytes.clear(),
            _ => bytes.clone_from(&other),
        }
        fs::write(&path, bytes).expect("it is written");
        assert_eq!(shown(&world), expected, "{case}");
        grow(&world, case);
        assert!(is_indexed(&world), "{case}: the router writes it again");
        assert_eq!(shown(&world), expected, "{case}, written again");
    }
    fs::remove_dir_all(world.room("spool/relations")).expect("an index");
    assert_eq!(shown(&world), expected, "missing");
    assert!(
        !world.room("spool/relations").exists(),
        "a reader writes no index"
    );
}

#[test]
fn runs_of_the_index_are_merged() {
    let world = World::with(&["alice", "bob"]);
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
    fs::remove_dir_all(world.room("channels")).expect("conversations");
    let channels = channel::list(&open(&world)).expect("a list");
    assert_eq!(
        (channels[0].channel.as_str(), channels[0].messages > 8),
        ("main", true)
    );
}

#[test]
fn a_message_is_read_by_its_number_its_id_or_its_file() {
    let world = World::with(&["alice", "bob"]);
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
