//! Finding places in a log of several segments that is cut, damaged or being written.

use super::{each, say, seq_of};
use crate::files;
use crate::town::listing;
use crate::world::World;
use serde_json::json;

/// A room with a log of many small segments, which test builds can make.
fn segmented(messages: usize) -> World {
    let world = World::alice_and_bob();
    for n in 0..messages {
        let body = "x".repeat(1 + n * 37 % 900);
        let message =
            json!({"id": format!("m{n}"), "to": "bob", "body": body, "thread_id": "all-of-it"});
        world.mail("alice", &format!("{n:04}.json"), &message);
        world
            .run_env("run --once", "MAILBAG_TEST_SEGMENT_BYTES", "4000")
            .ok();
    }
    world
}

fn count(world: &World, args: &str) -> usize {
    world.items(args).as_array().expect("a list").len()
}

#[test]
fn times_and_numbers_are_found_over_all_segments() {
    let world = segmented(40);
    let segments = listing(&world.room("log"));
    assert!(segments.len() > 3, "{segments:?}");
    let all = world.items("list");
    assert_eq!(count(&world, "list"), 40);
    for n in [0, 1, 20, 38, 39] {
        let at = all[n]["accepted_at"].as_str().expect("a time");
        let since = format!("list --from alice --since {at}");
        assert_eq!(count(&world, &since), 40 - n);
        assert_eq!(count(&world, &format!("list --until {at}")), n);
        let seq = &all[n]["seq"];
        world.ok(&format!("send alice 'got it' --ref {seq} --as bob"));
        let answer = world.inbox("alice").pop().expect("the answer");
        assert_eq!(answer["refs"], json!([format!("m{n}")]));
    }
    assert_eq!(count(&world, "thread all-of-it --last 3"), 3);
    assert_eq!(
        each(&world.items("list --from alice --last 2"), "id"),
        ["m38", "m39"]
    );
}

#[test]
fn a_last_line_that_is_cut_is_not_there_yet() {
    let world = segmented(5);
    let last = listing(&world.room("log")).pop().expect("a segment");
    let last = format!("log/{last}");
    let whole = world.text(&last);
    let line = whole.lines().last().expect("a line");
    let seq: u64 = seq_of(&world, "alice/m4").parse().expect("a number");
    // As a router's write that another process sees half of.
    let seq_as = |seq: u64| format!("{{\"seq\":{seq}");
    let next = line.replacen(&seq_as(seq), &seq_as(seq + 1), 1);
    let next = next.replace("m4", "m5");
    world.write(&last, whole.clone() + &next[..next.len() / 2]);
    assert_eq!(count(&world, "list"), 5);
    assert_eq!(world.items("list --last 1")[0]["id"], "m4");
    assert_eq!(count(&world, "search x"), 5);
    world.fails(3, "thread m5");
    world.fails(3, &format!("thread {}", seq + 1));
    let thread = world.items(&format!("thread {seq}"));
    assert_eq!(each(&thread, "id").last(), Some(&"m4"));
}

#[test]
fn a_damaged_line_hides_no_other() {
    let world = World::alice_and_bob();
    for id in ["m0", "m1", "m2", "m3", "m4", "m5"] {
        say(
            &world,
            "alice",
            json!({"id": id, "to": "bob", "body": "needle"}),
        );
    }
    let text = world.text("log/00000001.ndjson");
    let text = text.replace("\"id\":\"m3\"", "\"id\":\"m3");
    world.write("log/00000001.ndjson", text);
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
