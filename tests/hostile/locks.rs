//! Locks that a foreign process holds: each wait ends, and the error names the process.

use crate::files;
use crate::town::is_root;
use crate::world::{Ran, World, lossy};
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// The time limit for a command that waits for a lock: its deadline, and the delay of a busy
/// machine.
const BOUND: Duration = Duration::from_secs(30);

#[test]
fn a_lock_cannot_be_held_by_another_user() {
    // P98
    if !is_root("another user") {
        return;
    }
    let world = World::alice_and_bob();
    world.ok("join alice --session s1");
    world.ok("archive --older-than 1d");
    drop(world.router(""));
    std::fs::set_permissions(world.path(), std::fs::Permissions::from_mode(0o755))
        .expect("its own directory");
    let locks = [
        "spool/lock",
        "spool/wanted",
        "spool/registry.lock",
        "spool/archive.lock",
        "sessions/.lock",
    ];
    for lock in locks {
        let path = world.room(lock);
        assert_eq!(
            path.metadata().expect(lock).permissions().mode() & 0o777,
            0o600,
            "{lock}"
        );
        let mut other = Command::new("setpriv");
        other.args([
            "--reuid=65534",
            "--regid=65534",
            "--clear-groups",
            "flock",
            "--nonblock",
        ]);
        let held = other
            .arg(&path)
            .arg("true")
            .output()
            .expect("setpriv and flock");
        assert!(!held.status.success(), "{lock}");
    }
}

/// Runs the program while this process holds a lock, as another of the same user may.
#[track_caller]
fn while_held(world: &World, lock: &str, run: impl FnOnce() -> Ran) -> Ran {
    let held = File::open(world.room(lock)).expect(lock);
    held.lock().expect("nobody holds it");
    let begun = Instant::now();
    let ran = run();
    assert!(begun.elapsed() < BOUND, "{lock}: {:?}", begun.elapsed());
    ran
}

#[test]
fn a_command_that_finds_a_lock_held_gives_up_in_time_and_names_the_holder() {
    // P98
    let world = World::alice_and_bob();
    world.ok("join alice --session s1");
    drop(world.router(""));
    let pid = format!("process {} holds", std::process::id());
    let cases: [(&str, &[&str]); 3] = [
        ("spool/registry.lock", &["agent", "add", "carol"]),
        ("sessions/.lock", &["join", "alice", "--session", "s1"]),
        ("spool/archive.lock", &["archive", "--older-than", "1d"]),
    ];
    world.ok("archive --older-than 1d");
    for (lock, args) in cases {
        let complaint = while_held(&world, lock, || world.run(args)).fails(75);
        assert!(complaint.contains(lock), "{lock}: {complaint}");
        assert!(
            !cfg!(target_os = "linux") || complaint.contains(&pid),
            "{lock}: {complaint}"
        );
    }
    let input = r#"{"hook_event_name": "UserPromptSubmit", "session_id": "s1"}"#;
    while_held(&world, "sessions/.lock", || {
        world.pipe("hook claude", input)
    })
    .ok();
    let waits = ["wait", "--as", "alice", "--timeout", "100ms"];
    while_held(&world, "spool/lock", || world.run(&waits)).fails(4);
}

#[test]
fn a_directory_that_cannot_be_read_is_not_reported_as_empty() {
    if !is_root("a command of another user") {
        return;
    }
    let world = World::alice_and_bob();
    world.drop_file("bob", "x.json", "{}");
    world.leave_root();
    let hidden = fs::Permissions::from_mode(0o000);
    fs::set_permissions(world.room("outbox/bob"), hidden).expect("root may");
    let removal = world
        .by_owner("agent remove bob")
        .output()
        .expect("it runs");
    assert_contains!(lossy(&removal.stderr), "outbox/bob: Permission denied"; "{removal:?}");
}

#[test]
fn a_lock_that_is_not_a_regular_file_is_a_problem() {
    let world = World::alice_and_bob();
    world.pass();
    let lock = world.room("spool/lock");
    for make in [
        &(|path: &Path| files::make_dir(path)) as &dyn Fn(&Path),
        &|path| files::make_fifo(path),
        &|path| std::os::unix::fs::symlink("nowhere", path).expect("a link"),
    ] {
        files::remove_file(&lock);
        make(&lock);
        let problems = world.json("status")["problems"].to_string();
        assert_contains!(problems, "spool/lock");
        let report = world.run("doctor --json").out;
        assert_contains!(report, "router_lock");
        fs::remove_file(&lock)
            .or_else(|_| fs::remove_dir(&lock))
            .expect("it can be removed");
        files::write(&lock, "");
    }
}
