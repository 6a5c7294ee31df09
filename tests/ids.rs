//! The index of the log: a message is accepted once, even if the index is lost or damaged.

use crate::files;
use crate::world::{World, lossy, parse_json};
use serde_json::json;
use std::fs;

/// Each pass moves entries into the index from this number on.
const RECENT: &str = "4";

fn pass(world: &World) -> (u64, u64) {
    let mut command = world.bare("run --once --json");
    command.env("MAILBAG_TEST_RECENT_ENTRIES", RECENT);
    let output = command.output().expect("it runs");
    assert!(output.status.success(), "{}", lossy(&output.stderr));
    let tally = parse_json(&output.stdout);
    let count = |name: &str| tally[name].as_u64().expect("a number");
    (count("accepted"), count("duplicates"))
}

fn drop_message(world: &World, n: usize, file: &str) {
    let message = json!({"id": format!("m{n}"), "to": "bob", "body": format!("number {n}")});
    world.mail("alice", file, &message);
}

/// A room with an index, and with ids that are not in it yet.
fn room() -> World {
    let world = World::alice_and_bob();
    for n in 0..20 {
        drop_message(&world, n, &format!("{n}.json"));
        if n % 3 == 0 {
            pass(&world);
        }
    }
    pass(&world);
    assert!(
        world.room("log/index").exists(),
        "ids are moved into the index"
    );
    world
}

/// All messages come again, and none is accepted.
fn nothing_is_accepted_twice(world: &World, case: &str) {
    for n in 0..20 {
        drop_message(world, n, &format!("again-{n}.json"));
    }
    assert_eq!(pass(world), (0, 20), "{case}");
    assert_eq!(world.inbox("bob").len(), 20, "{case}");
}

#[test]
fn a_message_is_accepted_once_whatever_becomes_of_the_index() {
    // P18
    let world = room();
    let path = world.room("log/index");
    let whole = files::read(&path);
    nothing_is_accepted_twice(&world, "whole");
    let changed = |at: usize| {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        bytes
    };
    let other = room();
    let foreign = files::read(other.room("log/index"));
    let cases = [
        ("the first block", changed(30)),
        ("a later block", changed(whole.len() - 20)),
        ("cut off", whole[..whole.len() / 2].to_vec()),
        ("empty", Vec::new()),
        ("older", whole.clone()),
        ("of another room", foreign),
    ];
    for (case, bytes) in cases {
        files::write(&path, bytes);
        nothing_is_accepted_twice(&world, case);
    }
    files::remove_file(&path);
    nothing_is_accepted_twice(&world, "missing");
    world.verify();
}

#[test]
fn an_old_message_is_found_by_its_id_with_and_without_the_index() {
    let world = room();
    for state in ["whole", "missing"] {
        let trace = world.json("trace m0");
        assert_eq!(
            (&trace["id"], &trace["from"]),
            (&json!("m0"), &json!("alice")),
            "{state}"
        );
        let _ = fs::remove_file(world.room("log/index"));
    }
}

#[test]
fn many_files_with_one_id_are_judged_in_few_batches() {
    let world = World::alice_and_bob().settings("budget.messages = 0\nbudget.copies = 0\n");
    for n in 0..60 {
        let body = if n < 30 { n } else { 0 };
        let message = json!({"id": "one", "to": "bob", "body": body.to_string()});
        world.mail("alice", &format!("{n:02}.json"), &message);
    }
    let begun = || {
        let log = fs::read_to_string(world.room("log/00000001.ndjson")).unwrap_or_default();
        log.lines()
            .filter(|line| line.contains("\"count\":"))
            .count()
    };
    let before = begun();
    assert_eq!(pass(&world), (1, 30));
    assert!(begun() - before <= 6, "{} batches", begun() - before);
    assert_eq!(world.inbox("bob").len(), 1);
    let rejected = world.names("rejected/alice");
    assert!(rejected.len() >= 29, "{rejected:?}");
}
