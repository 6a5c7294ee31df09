//! The clauses about the log, and about what stops a router or keeps a message waiting.

use crate::files;
use crate::world::{World, sha256};
use serde_json::Value;
use std::fs;

/// The log's records, each with its line.
fn log(world: &World) -> Vec<(String, Value)> {
    let mut segments: Vec<_> = fs::read_dir(world.room("log"))
        .expect("a log")
        .flatten()
        .map(|e| e.path())
        .filter(|path| path.extension().is_some_and(|end| end == "ndjson"))
        .collect();
    segments.sort();
    let text: String = segments.iter().map(|path| files::read_text(path)).collect();
    text.split_inclusive('\n')
        .map(|line| {
            (
                line.to_owned(),
                serde_json::from_str(line).expect("a record"),
            )
        })
        .collect()
}

/// Every rule about the log's lines that can be checked by reading them.
fn check_log(world: &World) -> usize {
    let records = log(world);
    let (mut prev, mut at, mut records_of_batch, mut batch) = ("0".repeat(64), String::new(), 0, 1);
    for (n, (line, record)) in records.iter().enumerate() {
        assert_eq!(record["seq"], n as u64 + 1);
        assert_eq!(record["prev"], prev);
        let now = record["at"].as_str().expect("a time").to_owned();
        assert!(now > at, "{now} after {at}");
        assert_eq!(record["batch"], batch);
        records_of_batch += 1;
        for range in record["settled"].as_array().into_iter().flatten() {
            assert!(
                range[1].as_u64().is_some_and(|last| last <= n as u64),
                "{line}"
            );
        }
        (prev, at) = (sha256(line), now);
        if let Some(count) = record["count"].as_u64() {
            assert_eq!(count, records_of_batch, "{line}");
            (records_of_batch, batch) = (0, batch + 1);
        }
    }
    assert_eq!(records_of_batch, 0, "the last batch is whole");
    records.len()
}

#[test]
fn the_log_can_be_checked_by_reading_it() {
    // P38, P39, P40, P41, P42
    let world = World::alice_and_bob();
    for n in 0..5 {
        world.drop_file("alice", "x.json", format!(r#"{{"to":"bob","body":"{n}"}}"#));
        world.route("alice", "y.json", r#"{"to":"bbo","body":"no"}"#);
    }
    assert!(check_log(&world) > 10);
    // A field of a later version, in the last line, which nothing is chained to yet.
    let path = world.room("log/00000001.ndjson");
    let text = files::read_text(&path);
    files::write(
        &path,
        text.trim_end()
            .strip_suffix('}')
            .expect("a record")
            .to_owned()
            + ",\"later\":1}\n",
    );
    // The tip names the line as it was.
    files::remove_file(world.room("spool/tip"));
    world.verify();
    world.send("alice", "bob", "after it");
    check_log(&world);
}

#[test]
fn a_segment_that_has_grown_is_followed_by_another() {
    // P43
    let world = World::alice_and_bob();
    for n in 0..4 {
        world.drop_file("alice", "x.json", format!(r#"{{"to":"bob","body":"{n}"}}"#));
        world
            .program("run --once")
            .env("MAILBAG_TEST_SEGMENT_BYTES", "600")
            .assert()
            .success();
    }
    assert!(world.room("log/00000003.ndjson").exists());
    check_log(&world);
    world.verify();
}

#[test]
fn a_copy_that_cannot_be_delivered_waits_and_others_go_on() {
    // P45
    let world = World::with("alice bob carol");
    files::remove_dir(world.room("inbox/bob"));
    world.write("inbox/bob", "in the way");
    world.route("alice", "x.json", r#"{"to":["bob","carol"],"body":"hi"}"#);
    assert_eq!(world.bodies("carol"), ["hi"]);
    assert_contains!(world.ok("status"), "inbox/bob");
    files::remove_file(world.room("inbox/bob"));
    world.pass();
    assert_eq!(
        (world.bodies("bob"), world.inbox("carol").len()),
        (vec!["hi".to_owned()], 1)
    );
}

#[test]
fn damage_before_the_last_batch_stops_the_router() {
    // P47
    let world = World::alice_and_bob();
    for n in 0..3 {
        world.send("alice", "bob", &format!("number {n}"));
    }
    let path = world.room("log/00000001.ndjson");
    let text = files::read_text(&path).replace("number 0", "number 9");
    files::write(&path, &text);
    let _ = fs::remove_file(world.room("spool/snapshot"));
    let complaint = world.run("run --once");
    assert!(
        complaint.code != 0 && complaint.err.contains("00000001.ndjson"),
        "{complaint:?}"
    );
    assert_eq!(files::read_text(&path), text);
}

#[test]
fn a_record_without_a_field_of_its_event_is_damage() {
    // P460
    let world = World::alice_and_bob();
    world.send("alice", "bob", "hi");
    let path = world.room("log/00000001.ndjson");
    let text = files::read_text(&path);
    files::write(&path, text.replace("\"digest\":", "\"later\":"));
    let _ = fs::remove_file(world.room("spool/tip"));
    let verified = world.run("log verify");
    assert!(
        verified.code != 0 && verified.err.contains("missing field `digest`"),
        "{verified:?}"
    );
}

#[test]
fn a_room_with_another_room_s_log_is_not_routed() {
    // P49
    let world = World::alice_and_bob();
    world.send("alice", "bob", "hi");
    world.write("spool/room", "another\n");
    let before = log(&world).len();
    assert_ne!(world.run("run --once").code, 0);
    assert_eq!(log(&world).len(), before);
}

#[test]
fn without_a_router_whoever_reads_routes() {
    // P50
    let world = World::alice_and_bob();
    world.drop_file("alice", "x.json", r#"{"to":"bob","body":"by hand"}"#);
    assert_contains!(world.ok("inbox bob"), "by hand");
    world.drop_file("alice", "x.json", r#"{"to":"bob","body":"again"}"#);
    assert_contains!(world.ok("read --all --as bob"), "again");
}

#[test]
fn a_registry_that_cannot_be_read_is_not_replaced() {
    // P51
    let world = World::alice_and_bob();
    let good = world.text("registry.json");
    let router = world.router("");
    world.write("registry.json", "{");
    world.wait("the human hears of it", || !world.inbox("human").is_empty());
    world.drop_file("alice", "x.json", r#"{"to":"bob","body":"still"}"#);
    world.wait("the last good one is in force", || {
        world.bodies("bob") == ["still"]
    });
    drop(router);
    assert_ne!(world.run("run --once").code, 0);
    assert_eq!(world.text("registry.json"), "{");
    world.write("registry.json", good);
    world.pass();
}
