//! Finding places in a log of several segments that is cut, damaged or being written.

use super::{drop_all, each, seq_of};
use crate::files;
use crate::world::World;
use serde_json::{Value, json};
use std::fs::OpenOptions;
use std::io::Write;

/// A room with a log of many small segments, which test builds can make.
fn segmented(messages: usize) -> World {
    let world = World::alice_and_bob();
    for n in 0..messages {
        let body = "x".repeat(1 + n * 37 % 900);
        let message =
            json!({"id": format!("m{n}"), "to": "bob", "body": body, "thread_id": "all-of-it"});
        world.mail("alice", &format!("{n:04}.json"), &message);
        world
            .program("run --once")
            .env("MAILBAG_TEST_SEGMENT_BYTES", "4000")
            .assert()
            .success();
    }
    world
}

fn segments(world: &World) -> Vec<std::path::PathBuf> {
    let mut paths: Vec<_> = std::fs::read_dir(world.room("log"))
        .expect("the log")
        .flatten()
        .map(|e| e.path())
        .collect();
    paths.sort();
    paths
}

#[test]
fn times_and_numbers_are_found_over_all_segments() {
    let world = segmented(40);
    assert!(segments(&world).len() > 3, "{:?}", segments(&world));
    let all = world.items("list");
    assert_eq!(all.as_array().map(Vec::len), Some(40));
    for n in [0, 1, 20, 38, 39] {
        let at = all[n]["accepted_at"].as_str().expect("a time");
        assert_eq!(
            world
                .items(&["list", "--from", "alice", "--since", at])
                .as_array()
                .map(Vec::len),
            Some(40 - n)
        );
        assert_eq!(
            world
                .items(&["list", "--until", at])
                .as_array()
                .map(Vec::len),
            Some(n)
        );
        let seq = all[n]["seq"].to_string();
        world.ok(&["send", "alice", "got it", "--ref", &seq, "--as", "bob"]);
        assert_eq!(
            world.inbox("alice").last().map(|mail| mail["refs"].clone()),
            Some(json!([format!("m{n}")]))
        );
    }
    assert_eq!(
        world
            .items("thread all-of-it --last 3")
            .as_array()
            .map(Vec::len),
        Some(3)
    );
    assert_eq!(
        each(&world.items("list --from alice --last 2"), "id"),
        ["m38", "m39"]
    );
}

#[test]
fn a_last_line_that_is_cut_is_not_there_yet() {
    let world = segmented(5);
    let last = segments(&world).pop().expect("a segment");
    let whole = files::read_text(&last);
    let line = whole.lines().last().expect("a line");
    let seq: u64 = seq_of(&world, "alice/m4").parse().expect("a number");
    // As a router's write that another process sees half of.
    let next = line
        .replacen(
            &format!("{{\"seq\":{seq}"),
            &format!("{{\"seq\":{}", seq + 1),
            1,
        )
        .replace("m4", "m5");
    let mut file = OpenOptions::new()
        .append(true)
        .open(&last)
        .expect("the segment");
    file.write_all(&next.as_bytes()[..next.len() / 2])
        .expect("it is written");
    assert_eq!(world.items("list").as_array().map(Vec::len), Some(5));
    assert_eq!(world.items("list --last 1")[0]["id"], "m4");
    assert_eq!(world.items("search x").as_array().map(Vec::len), Some(5));
    world.fails(3, "thread m5");
    world.fails(3, &["thread", &(seq + 1).to_string()]);
    assert_eq!(
        each(&world.items(&["thread", &seq.to_string()]), "id").last(),
        Some(&"m4")
    );
}

#[test]
fn a_damaged_line_hides_no_other() {
    let world = World::alice_and_bob();
    let messages: Vec<(&str, Value)> = (0..6)
        .map(|n| {
            (
                "alice",
                json!({"id": format!("m{n}"), "to": "bob", "body": "needle"}),
            )
        })
        .collect();
    drop_all(&world, &messages);
    let path = world.room("log/00000001.ndjson");
    let text = files::read_text(&path);
    files::write(&path, text.replace("\"id\":\"m3\"", "\"id\":\"m3"));
    assert_eq!(
        each(&world.items("search needle"), "id"),
        ["m0", "m1", "m2", "m4", "m5"]
    );
    assert_eq!(each(&world.items("thread m5"), "id"), ["m5"]);
}

#[test]
fn a_log_that_is_gone_or_empty_has_nothing_to_find() {
    let world = World::with("alice");
    assert_eq!(world.items("list"), json!([]));
    assert_eq!(world.items("search x --since 1h"), json!([]));
    world.fails(3, "thread m1");
    world.fails(3, "reply m1 x --as alice");
    files::remove_dir(world.room("log"));
    assert_eq!(world.items("list --since 1h --last 3"), json!([]));
}
