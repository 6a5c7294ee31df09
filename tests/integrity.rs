//! The log is the log that the router wrote: a router, `log verify` and a person after an accident of the log.

use crate::files;
use crate::town::exchange;
use crate::world::{Ran, Words, World};
use serde_json::Value;
use std::fs;

/// Something that another program does to the log.
type Accident = fn(&World);

/// A room with a message in bob's inbox, a copy of its log, and then a second message.
fn restored() -> World {
    let world = World::with("alice bob carol");
    world.send("alice", "bob", "one");
    copy_log(&world, "old");
    world.route("alice", "x.json", r#"{"id":"t2","to":"bob","body":"two"}"#);
    files::rename(world.room("log"), world.path().join("lost"));
    files::rename(world.path().join("old"), world.room("log"));
    world
}

fn copy_log(world: &World, name: &str) {
    let to = world.path().join(name);
    files::make_dir(&to);
    files::copy(
        world.room("log/00000001.ndjson"),
        to.join("00000001.ndjson"),
    );
}

fn as_person(world: &World, args: &(impl Words + ?Sized)) -> Ran {
    run_as(world, args, "person")
}

fn run_as(world: &World, args: &(impl Words + ?Sized), ancestry: &str) -> Ran {
    world.run_env(args, "MAILBAG_TEST_ANCESTRY", ancestry)
}

fn accept(world: &World) -> Value {
    let out = as_person(world, "log accept-gap --yes --json").ok();
    serde_json::from_str(&out).expect("JSON")
}

#[test]
fn status_reports_a_log_without_its_end() {
    let world = World::alice_and_bob();
    world.send("alice", "bob", "one");
    let log = world.text("log/00000001.ndjson");
    let end = log.trim_end().rfind('\n').expect("two lines");
    for rest in [&log[..=end], ""] {
        world.write("log/00000001.ndjson", rest);
        let status = world.run("status");
        assert_contains!(status.out, "`mailbag log verify` shows how to restore it");
    }
}

#[test]
fn a_restored_log_stops_every_pass_and_shows_the_evidence() {
    // P90 P272
    let world = restored();
    let tip = files::read(world.room("spool/tip"));
    for args in [
        &["run", "--once"][..],
        &["send", "bob", "three", "--as", "alice"],
    ] {
        let said = world.fails(1, args);
        for evidence in [
            "spool/tip shows record 3",
            "sent/alice/3~x.json",
            "nothing was changed",
        ] {
            assert!(said.contains(evidence), "{args:?}: {said}");
        }
    }
    assert_eq!(files::read(world.room("spool/tip")), tip);
    assert_contains!(
        world.fails(65, "log verify"),
        "sent/alice/3~x.json",
        "accept-gap"
    );
    let doctor = world.run("doctor");
    assert_contains!(doctor.out, "sent/alice/3~x.json"; "{doctor:?}");
    // After the lost log is put back, the waiting message arrives, and nothing is missing.
    files::remove_dir(world.room("log"));
    files::rename(world.path().join("lost"), world.room("log"));
    world.pass();
    assert_eq!(world.bodies("bob"), ["one", "two", "three"]);
    assert_contains!(world.verify(), "intact");
}

#[test]
fn each_file_alone_is_evidence_of_a_lost_record() {
    // P272
    let kinds = ["spool/tip", "sent"];
    for left in kinds {
        let world = restored();
        for gone in kinds.iter().filter(|kind| **kind != left) {
            let path = world.room(gone);
            fs::remove_dir_all(&path)
                .or_else(|_| fs::remove_file(&path))
                .expect("removed");
        }
        assert!(world.fails(1, "run --once").contains(left), "{left}");
    }
}

#[test]
fn an_accepted_gap_gives_no_number_twice() {
    // P273 P274
    let world = restored();
    let loss = accept(&world);
    assert_fields!(loss, last: 2, from: 3, to: 3);
    world.send("alice", "bob", "three");
    assert_eq!(world.bodies("bob"), ["one", "two", "three"]);
    let seqs: Vec<u64> = world
        .inbox("bob")
        .iter()
        .filter_map(|mail| mail["delivery"]["seq"].as_u64())
        .collect();
    assert!(seqs.is_sorted_by(|a, b| a < b), "{seqs:?}");
    assert!(
        world.inbox("human").is_empty(),
        "{:?}",
        world.inbox("human")
    );
    let verified = world.json("log verify");
    assert_fields!(verified["gaps"][0], from: 3, to: 3);
    let said = world.verify();
    assert!(
        !said.contains("intact") && said.contains("lost records 3 to 3"),
        "{said}"
    );
    assert_contains!(world.log("gap"), r#""by":"human""#);
    // Nothing is left to accept.
    let said = as_person(&world, "log accept-gap --yes");
    assert_contains!(said.fails(3), "has lost no record");
}

#[test]
fn only_a_person_accepts_a_gap() {
    // P273
    let world = restored();
    for (ancestry, says) in [
        ("agent", "the caller is an agent"),
        ("unknown", "the caller is unknown"),
    ] {
        let ran = run_as(&world, "log accept-gap --yes", ancestry);
        assert!(ran.fails(2).contains(says));
    }
    assert_contains!(world.fails(1, "run --once"), "spool/tip");
}

#[test]
fn a_live_router_writes_to_no_other_log_than_its_own() {
    // P344
    let accidents: [(&str, Accident); 7] = [
        ("replaced by a copy", |world| {
            files::rename(
                world.path().join("kept/00000001.ndjson"),
                world.room("log/00000001.ndjson"),
            );
        }),
        ("shortened", |world| {
            let log = fs::OpenOptions::new()
                .write(true)
                .open(world.room("log/00000001.ndjson"))
                .expect("the log");
            log.set_len(300).expect("cut");
        }),
        ("extended", |world| {
            let log = world.room("log/00000001.ndjson");
            files::write(&log, files::read_text(&log) + "{}\n");
        }),
        ("one byte of the last line", |world| {
            let log = world.room("log/00000001.ndjson");
            let mut bytes = files::read(&log);
            let at = bytes.len() - 4;
            bytes[at] ^= 1;
            files::write(&log, bytes);
        }),
        ("rotated", |world| {
            files::rename(
                world.room("log/00000001.ndjson"),
                world.room("log/00000001.ndjson.1"),
            );
        }),
        ("a newer segment", |world| {
            files::copy(
                world.path().join("kept/00000001.ndjson"),
                world.room("log/00000002.ndjson"),
            );
        }),
        ("the directory exchanged", |world| {
            exchange(&world.room("log"), &world.path().join("kept"))
        }),
    ];
    for (what, happen) in accidents {
        let world = World::alice_and_bob();
        world.send("alice", "bob", "one");
        let mut router = world.router("");
        copy_log(&world, "kept");
        happen(&world);
        world.drop_file("alice", "x.json", r#"{"id":"t2","to":"bob","body":"two"}"#);
        assert_eq!(router.ended(), 1, "{what}");
        assert_contains!(router.log(), "the room changed while the router was running"; "{what}");
        assert_eq!(world.bodies("bob"), ["one"], "{what}");
    }
}

#[test]
fn a_segment_that_was_replaced_by_its_copy_loses_nothing() {
    // P344
    let world = World::alice_and_bob();
    world.send("alice", "bob", "one");
    let mut router = world.router("");
    copy_log(&world, "kept");
    files::rename(
        world.path().join("kept/00000001.ndjson"),
        world.room("log/00000001.ndjson"),
    );
    world.drop_file("alice", "x.json", r#"{"id":"t2","to":"bob","body":"two"}"#);
    assert_eq!(router.ended(), 1);
    world.pass();
    world.route(
        "alice",
        "again.json",
        r#"{"id":"t2","to":"bob","body":"two"}"#,
    );
    assert_eq!(world.bodies("bob"), ["one", "two"]);
    assert_contains!(world.verify(), "intact");
}

#[test]
fn the_same_content_is_the_same_log() {
    // P344
    let world = World::alice_and_bob();
    world.send("alice", "bob", "one");
    let router = world.router("");
    // A backup by hard links and a new time change nothing that counts.
    let log = world.room("log/00000001.ndjson");
    fs::hard_link(&log, world.path().join("backup")).expect("linked");
    fs::OpenOptions::new()
        .append(true)
        .open(&log)
        .expect("the log")
        .set_modified(std::time::SystemTime::now())
        .expect("a time");
    world.drop_file("alice", "x.json", r#"{"to":"bob","body":"two"}"#);
    world.wait("the second message", || {
        world.bodies("bob") == ["one", "two"]
    });
    assert_eq!(router.end(), 0);
}

#[test]
fn without_stable_inodes_length_and_last_line_decide() {
    // P344
    let world = World::alice_and_bob();
    world.send("alice", "bob", "one");
    let start = || {
        let mut command = world.bare("run");
        command.env("MAILBAG_TEST_INODES", "unstable");
        world.router_by(command)
    };
    let mut router = start();
    world.drop_file("alice", "x.json", r#"{"to":"bob","body":"two"}"#);
    world.wait("the second message", || {
        world.bodies("bob") == ["one", "two"]
    });
    copy_log(&world, "kept");
    let log = world.room("log/00000001.ndjson");
    // The router's own file still has a name.
    fs::hard_link(&log, world.path().join("own")).expect("linked");
    files::rename(world.path().join("kept/00000001.ndjson"), &log);
    world.drop_file("alice", "y.json", r#"{"to":"bob","body":"three"}"#);
    assert_eq!(router.ended(), 1);
    assert_eq!(world.bodies("bob"), ["one", "two"]);
    let next = start();
    world.wait("the third message", || {
        world.bodies("bob") == ["one", "two", "three"]
    });
    assert_eq!(next.end(), 0);
}

#[test]
fn a_router_ends_when_another_file_or_room_has_the_place_of_its_own() {
    // P271
    for is_room in [false, true] {
        let world = World::alice_and_bob();
        world.send("alice", "bob", "one");
        let mut first = world.router("--poll");
        let place = world.room(if is_room { "" } else { "spool/lock" });
        let aside = world.path().join("aside");
        if is_room {
            let copied = std::process::Command::new("cp")
                .arg("-a")
                .args([&place, &aside])
                .status();
            assert!(copied.expect("cp").success());
        } else {
            files::copy(&place, &aside);
        }
        exchange(&place, &aside);
        // Without any mail.
        assert_eq!(first.ended(), 1, "{is_room}");
        assert_contains!(first.log(), "was re");
        world.send("alice", "bob", "two");
        assert_eq!(world.bodies("bob"), ["one", "two"]);
    }
}

#[test]
fn a_line_of_a_delivered_message_is_not_reported_as_lost() {
    let world = World::alice_and_bob();
    world.send("alice", "bob", "one");
    let conversation = world.room("channels/main/messages.ndjson");
    let text = files::read_text(&conversation);
    files::write(&conversation, text.repeat(2));
    world.pass();
    let told = world.inbox("human").pop().expect("a notice");
    let body = told["body"].as_str().unwrap_or_default();
    assert_contains!(body, "was delivered before, and need not be sent again");
    assert!(!body.contains("To send"), "{body}");
}
