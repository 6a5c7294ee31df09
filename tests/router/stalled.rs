//! A router that holds the lock and makes no progress: commands and `doctor` say so, and what to do.

use crate::world::{World, wait};
use rustix::process::Signal;
use serde_json::json;
use std::time::{Duration, SystemTime};

#[test]
fn a_stopped_router_is_reported_by_every_command_that_relies_on_it() {
    // P343
    let world = World::alice_and_bob();
    let router = world.router("");
    world.drop_file("alice", "one.json", r#"{"to": "bob", "body": "one"}"#);
    wait("the mail", || {
        world.inbox("bob").len() == 1 && world.names("spool/claim").is_empty()
    });
    router.signal(Signal::STOP);
    wait("the stop", || {
        world.json("status")["stalled"]["stopped"] == true
    });
    let fix = format!("kill -CONT {}", world.json("status")["stalled"]["pid"]);
    assert_contains!(world.ok("status"), "0 files wait");
    world.drop_file("alice", "two.json", r#"{"to": "bob", "body": "two"}"#);
    assert_contains!(world.ok("status"), "1 file waits");
    for args in [
        &["status"][..],
        &["doctor"],
        &["inbox", "bob"],
        &["read", "--as", "bob"],
        &["wait", "--as", "bob", "--timeout", "1s"],
        &["send", "bob", "three", "--as", "alice"],
        &["run"],
        &["run", "--once"],
    ] {
        let ran = world.run(args);
        let said = ran.out + &ran.err;
        assert!(
            said.contains("is stopped") && said.contains(&fix),
            "{args:?}: {said}"
        );
    }
    router.signal(Signal::CONT);
    wait("all mail", || world.inbox("bob").len() >= 2);
    wait("the end of the report", || {
        world.json("status")["stalled"].is_null()
    });
    assert_eq!(router.end(), 0);
}

#[test]
fn a_router_that_hangs_is_reported_after_a_minute_without_a_step() {
    // P343
    let world = World::alice_and_bob();
    let holder = json!({"pid": 1, "mode": "run", "since": "2026-01-01T00:00:00Z"});
    let lock = world.write("spool/lock", holder.to_string());
    let lock = std::fs::File::options()
        .append(true)
        .open(lock)
        .expect("the lock");
    lock.lock().expect("no process holds it");
    world.drop_file("alice", "one.json", r#"{"to": "bob", "body": "one"}"#);
    let step = |seconds| {
        lock.set_modified(SystemTime::now() - Duration::from_secs(seconds))
            .expect("a time")
    };
    step(30);
    assert!(world.json("status")["stalled"].is_null());
    step(90);
    assert_contains!(world.ok("status"), "does not respond", "1 file waits");
    assert_contains!(world.run("inbox bob").err, "does not respond");
    // A backup makes a router wait on purpose.
    let paused =
        std::fs::File::create(world.room("spool/turn.wanted")).expect("the lock of a backup");
    paused.lock().expect("no process holds it");
    assert!(world.json("status")["stalled"].is_null());
}

#[test]
fn a_router_that_runs_marks_its_steps() {
    // P343
    let world = World::alice_and_bob();
    let _router = world.router("");
    let step = || {
        std::fs::metadata(world.room("spool/lock"))
            .and_then(|meta| meta.modified())
            .expect("a time")
    };
    let before = step();
    wait("a step", || {
        world.drop_file("alice", "one.json", r#"{"to": "bob", "body": "one"}"#);
        step() > before
    });
}
