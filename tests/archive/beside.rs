//! The archiver beside a router that routes, and beside readers that read.

use super::packs::{self, files};
use super::{log, room_with_segments};
use crate::town::Town;
use crate::world::World;
use serde_json::{Value, json};
use std::fs;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

const LETTERS: usize = 400;

/// Runs the archiver until the stop flag is set; counts the runs that packed a segment.
fn archive_until(world: &World, stop: &AtomicBool, packed: &AtomicUsize) {
    while !stop.load(Relaxed) {
        let some = world.json("archive --older-than 0s")["packed"] != json!([]);
        packed.fetch_add(usize::from(some), Relaxed);
    }
}

/// A router that starts a new segment every few batches.
fn start_router(town: &mut Town) {
    let mut command = town.bare("run");
    command.env("MAILBAG_TEST_SEGMENT_BYTES", "4000");
    town.start_by(command);
}

#[test]
fn a_router_continues_while_the_archiver_packs_its_old_segments() {
    // P72
    let mut town = Town::of("alice bob carol").quick();
    start_router(&mut town);
    let (stop, packed) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        let archiver = scope.spawn(|| archive_until(&town, &stop, &packed));
        let mut before = 0;
        for n in 0..LETTERS {
            town.mail(
                "alice",
                &format!("{n}.json"),
                json!({"to": ["bob", "carol"], "body": n.to_string()}),
            );
            if n % 50 == 49 {
                // A wave at a time, so that the log has many batches.
                town.wait_for_mail("bob", n + 1);
                town.wait("some of it is packed", || packed.load(Relaxed) > before);
                before = packed.load(Relaxed);
            }
            if n % 100 == 99 {
                town.ok("read --all --as carol");
            }
        }
        town.wait("all is routed and settled", || {
            town.names("outbox/alice").is_empty() && town.count("bob") == LETTERS
        });
        stop.store(true, Relaxed);
        archiver.join().expect("the archiver does not panic");
    });
    town.stop();
    let mut bodies: Vec<usize> = town
        .bodies("bob")
        .iter()
        .map(|body| body.parse().expect("a number"))
        .collect();
    bodies.sort_unstable();
    assert_eq!(bodies, (0..LETTERS).collect::<Vec<_>>());
    town.json("archive --older-than 0s");
    assert!(town.names("sent/alice").is_empty());
    let sent = files(&town.room(""), "sent");
    assert_eq!(
        (sent.len(), sent.values().map(Vec::len).sum::<usize>()),
        (LETTERS, LETTERS)
    );
    assert!(
        files(&town.room(""), "seen")
            .values()
            .all(|contents| contents.len() == 1)
    );
    // The archiver never packs the last batch, and this batch may be alone in its segment.
    let live = crate::town::listing(&town.room("log"));
    assert!(live.len() <= 2, "{live:?}");
    assert!(
        town.json("log verify")["archived"]
            .as_u64()
            .is_some_and(|archived| archived > 2)
    );
}

#[test]
fn readers_see_the_whole_log_while_it_moves_to_the_archive() {
    // P72
    for _ in 0..4 {
        let world = room_with_segments();
        let before = log(&world);
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let reader = scope.spawn(|| {
                let mut times = 0;
                while !stop.load(Relaxed) || times == 0 {
                    assert_eq!(log(&world), before);
                    world.verify();
                    times += 1;
                }
            });
            world.ok("archive --older-than 0s");
            stop.store(true, Relaxed);
            reader.join().expect("every reading was whole");
        });
        assert_eq!(log(&world), before);
    }
}

#[test]
fn a_router_that_runs_knows_archived_ids_and_forgets_those_that_were_moved_away() {
    // P71
    let mut town = Town::alice_and_bob().quick();
    start_router(&mut town);
    let body = "x".repeat(5000);
    let mail = |id: &str, name: &str| {
        town.mail("alice", name, json!({"id": id, "to": "bob", "body": body}))
    };
    mail("m-1", "a.json");
    town.wait_for_mail("bob", 1);
    mail("m-1", "b.json");
    town.wait("it came again", || {
        town.names("outbox/alice").is_empty() && duplicates(&town) == 1
    });
    mail("m-2", "c.json");
    town.wait_for_mail("bob", 2);
    mail("m-3", "d.json");
    town.wait_for_mail("bob", 3);
    // The router settles records after it has been idle for a second.
    town.wait("the first segment is archived", || {
        town.json("archive --older-than 0s");
        !town.room("log/00000001.ndjson").exists()
    });
    mail("m-1", "e.json");
    town.wait("the archived message is known", || duplicates(&town) == 2);
    fs::rename(town.room("archive"), town.path().join("away")).expect("it is moved");
    mail("m-1", "f.json");
    town.wait_for_mail("bob", 4);
    town.stop();
    fs::rename(town.path().join("away"), town.room("archive")).expect("it is moved back");
    town.verify();
    assert!(!packs::log(&town.room("")).is_empty());
}

fn duplicates(town: &Town) -> u64 {
    let counts: Value = town.status();
    counts["counts"]["duplicates"].as_u64().unwrap_or_default()
}
