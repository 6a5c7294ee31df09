//! `mailbag backup`: copies a room in use completely, and a copy is distinguished from its room.

use crate::files;
use crate::records::log_of;
use crate::world::{World, parse_json, wait};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;

fn backup(world: &World, name: &str) -> String {
    let to = world.path().join(name).display().to_string();
    world.ok(&["backup", &to]);
    to
}

/// Every message that a recipient has, read or not.
fn held(room: &Path, agent: &str) -> Vec<String> {
    let inbox = room.join("inbox").join(agent);
    let directories = [inbox.clone(), inbox.join("seen"), inbox.join("taken")];
    let entries = directories
        .iter()
        .filter_map(|directory| fs::read_dir(directory).ok())
        .flatten()
        .flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names
        .filter(|name| name.ends_with(".json") && !name.starts_with('.'))
        .collect();
    names.sort();
    names
}

#[test]
fn a_room_is_copied_and_can_be_used() {
    let world = World::alice_and_bob();
    world.send("alice", "bob", "read");
    world.ok("read --as bob");
    world.send("alice", "bob", "unread");
    let to = world.path().join("copy");
    let report = world.json(&["backup", &to.display().to_string()]);
    let files = walkdir::WalkDir::new(&to)
        .into_iter()
        .flatten()
        .filter(|entry| entry.file_type().is_file());
    let made: Vec<_> = files
        .filter(|entry| entry.file_name() != "turn.lock")
        .collect();
    assert_eq!(report["files"], made.len(), "{made:#?}");
    assert_eq!(
        (&report["skipped"], held(&to, "bob").len()),
        (&serde_json::json!([]), 2)
    );
    let room = to.display().to_string();
    world.ok(&format!("--room {room} log verify"));
    world.ok(&format!("--room {room} send bob further --as alice"));
    assert_eq!(
        (held(&to, "bob").len(), held(&world.room(""), "bob").len()),
        (3, 2)
    );
}

// P92
#[test]
fn a_copy_of_a_room_in_use_lacks_nothing_and_repeats_nothing() {
    let world = World::alice_and_bob();
    let _router = world.router("");
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let _end = Over(&over);
        scope.spawn(|| {
            for n in 0.. {
                // Without a bound the copies grow with the time that each of them takes.
                wait("the router", || {
                    over.load(Relaxed) || world.names("outbox/alice").len() < 20
                });
                if over.load(Relaxed) {
                    break;
                }
                let hidden = world.drop_file(
                    "alice",
                    &format!(".{n}"),
                    format!(r#"{{"to": "bob", "body": "{n}"}}"#),
                );
                files::rename(&hidden, hidden.with_file_name(format!("{n}.json")));
                // A recipient reads every other.
                if let Some(name) = world.names("inbox/bob").first().filter(|_| n % 2 == 0) {
                    files::make_dir(world.room("inbox/bob/seen"));
                    let _ = fs::rename(
                        world.room("inbox/bob").join(name),
                        world.room("inbox/bob/seen").join(name),
                    );
                }
            }
        });
        for copy in 0..4 {
            wait("more mail", || {
                held(&world.room(""), "bob").len() > 20 * copy
            });
            let to = backup(&world, &format!("copy-{copy}"));
            check(&world, Path::new(&to));
        }
    });
}

/// Ends the sender even if a check fails. Otherwise the check would wait for it.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

/// Routes the waiting mail of the copy, and compares the copy with its own log.
fn check(world: &World, copy: &Path) {
    let room = copy.display().to_string();
    world.ok(&format!("--room {room} run --once"));
    world.ok(&format!("--room {room} log verify"));
    let log = log_of(copy, "");
    let accepted = log
        .lines()
        .filter(|line| line.contains(r#""event":{"accepted":"#))
        .count();
    let names = held(copy, "bob");
    let distinct: BTreeSet<&String> = names.iter().collect();
    assert_eq!(
        (names.len(), distinct.len()),
        (accepted, accepted),
        "{room}"
    );
    let bodies: BTreeSet<String> = names.iter().map(|name| body(copy, name)).collect();
    assert_eq!(
        bodies.len(),
        accepted,
        "a message came twice to the copy {room}"
    );
}

fn body(room: &Path, name: &str) -> String {
    let places = ["inbox/bob", "inbox/bob/seen"].map(|below| room.join(below).join(name));
    let bytes = places
        .iter()
        .find_map(|path| fs::read(path).ok())
        .expect("the message");
    let mail = parse_json(&bytes);
    mail["body"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_directory_with_something_in_it_and_one_in_the_room_are_refused() {
    let world = World::with("alice");
    files::make_dir(world.path().join("used"));
    files::write(world.path().join("used/file"), "mine");
    assert_contains!(world.fails(2, "backup used"), "it is not empty");
    assert_contains!(
        world.fails(2, "backup .mailbag/context/copy"),
        "inside the room"
    );
    assert_eq!(files::read_text(world.path().join("used/file")), "mine");
}

// P93
#[test]
fn a_copied_room_is_marked_as_a_copy_until_it_is_adopted() {
    let world = World::with("alice");
    world.route("alice", "x.json", r#"{"to": "nobody", "body": "hi"}"#);
    let room = backup(&world, "copy");
    let says = |words: &str| {
        world
            .run(&format!("--room {room} doctor --json"))
            .out
            .contains(words)
    };
    assert!(says("room_copied") && says("is a copy of") && says("--adopt"));
    let router = world.router(&["--room", &room]);
    assert_contains!(router.log(), "this room is a copy of");
    drop(router);
    assert!(!world.run("doctor").out.contains("copy of"));
    for command in [
        "send alice hello --as human",
        "inbox alice",
        "read --as alice",
        "join carol --session s1",
    ] {
        let said = world.run_env(command, "MAILBAG_ROOM", &room);
        assert_eq!(
            said.err.matches("this room is a copy of").count(),
            1,
            "{said:?}"
        );
        assert_contains!(said.err, "mailbag init --adopt");
    }
    world.ok(&format!("init --adopt {room}"));
    assert!(!says("room_copied"));
}

// P340
#[test]
fn an_incomplete_copy_is_rejected_with_the_reason() {
    let world = World::alice_and_bob();
    world.send("alice", "bob", "hello");
    let part = world.path().join("part");
    let parts = [
        "registry.json",
        "inbox",
        "log",
        "outbox",
        "rejected",
        "sent",
        "spool",
        "context",
    ];
    for kept in [&parts[1..2], &parts[5..6], &parts[3..6]] {
        let _ = fs::remove_dir_all(&part);
        for name in kept {
            files::make_dir(part.join(name).parent().expect("a directory"));
            let (from, to) = (world.room(name), part.join(name));
            assert!(
                std::process::Command::new("cp")
                    .arg("-a")
                    .args([from, to])
                    .status()
                    .expect("cp")
                    .success()
            );
        }
        assert_contains!(world.fails(1, "init part"), "is missing, but", "use a complete copy"; "{kept:?}");
        assert_contains!(world.fails(3, "run --once --room part"), "no room at"; "{kept:?}");
        assert!(!part.join("spool/room").exists(), "{kept:?}");
    }
}

// P340
#[test]
fn a_copy_with_the_log_of_another_room_or_without_records_is_not_adopted() {
    let world = World::alice_and_bob();
    world.send("alice", "bob", "hello");
    for wrong in ["spool/room", "log/0000000001.ndjson", "registry.json"] {
        let to = backup(&world, &format!("copy of {}", wrong.replace('/', "-")));
        let segment = fs::read_dir(Path::new(&to).join("log"))
            .expect("a log")
            .flatten()
            .next()
            .expect("a segment");
        match wrong {
            "spool/room" => files::write(Path::new(&to).join(wrong), "01a\n"),
            "registry.json" => files::remove_file(Path::new(&to).join(wrong)),
            _ => files::remove_file(segment.path()),
        }
        let said = world.fails(1, &["init", "--adopt", &to]);
        assert!(said.contains(&to), "{said}");
        assert_eq!(
            fs::read(Path::new(&to).join("spool/place")).ok(),
            fs::read(world.room("spool/place")).ok()
        );
    }
}

// P93
#[test]
fn a_moved_room_does_not_count_as_a_copy() {
    let world = World::with("alice");
    let (from, to) = (world.room(""), world.path().join("moved"));
    files::rename(from, &to);
    let room = to.display().to_string();
    world.ok(&format!("--room {room} run --once"));
    assert!(
        !world
            .run(&format!("--room {room} doctor"))
            .out
            .contains("copy of")
    );
}

#[test]
fn a_backup_omits_and_lists_open_files_and_links() {
    let world = World::with("alice");
    let half = world.drop_file("alice", "half.json", r#"{"to": "hu"#);
    let _writer = fs::File::options()
        .append(true)
        .open(half)
        .expect("a writer");
    std::os::unix::fs::symlink("/etc/hostname", world.room("context/link")).expect("a link");
    let report = world.json("backup copy");
    let left: Vec<&str> = report["skipped"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|one| one["path"].as_str())
        .collect();
    assert_eq!(
        left.iter().collect::<BTreeSet<_>>(),
        ["context/link", "outbox/alice/half.json"].iter().collect()
    );
}

// P92
#[test]
fn a_room_that_is_held_still_is_not_changed_and_its_router_can_be_ended() {
    let world = World::alice_and_bob();
    let mut router = world.router("");
    let held = ["spool/turn.wanted", "spool/turn.lock"].map(|name| {
        let lock = fs::File::options()
            .append(true)
            .open(world.room(name))
            .expect("a lock");
        lock.lock().expect("the router gives it up between batches");
        lock
    });
    let log = fs::read_dir(world.room("log")).expect("a log").count();
    world.drop_file("alice", "late.json", r#"{"to": "bob", "body": "late"}"#);
    router.signal(rustix::process::Signal::TERM);
    assert_eq!(router.ended(), 75);
    assert_contains!(router.log(), "a backup has paused the room");
    assert_eq!(
        (
            world.names("outbox/alice").len(),
            world.names("inbox/bob").len()
        ),
        (1, 0)
    );
    assert_eq!(fs::read_dir(world.room("log")).expect("a log").count(), log);
    drop(held);
    world.pass();
    assert_eq!(world.bodies("bob"), ["late"]);
}

#[test]
fn a_copy_can_be_read_by_its_owner_alone() {
    let world = World::alice_and_bob();
    world.send("alice", "bob", "hello");
    let to = world.path().join("copy");
    files::make_dir(&to);
    fs::set_permissions(&to, fs::Permissions::from_mode(0o755)).expect("permissions");
    backup(&world, "copy");
    for entry in walkdir::WalkDir::new(&to) {
        let meta = entry
            .as_ref()
            .expect("an entry")
            .metadata()
            .expect("its permissions");
        let mode = if meta.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(meta.mode() & 0o7777, mode, "{entry:?}");
    }
}

#[test]
fn a_room_without_its_spool_is_restored_from_its_log() {
    for lost in ["spool", "spool/room"] {
        let world = World::alice_and_bob();
        world.send("alice", "bob", "one");
        let id = world.text("spool/room");
        let lost = world.room(lost);
        if lost.is_dir() {
            fs::remove_dir_all(&lost).expect("removed");
        } else {
            files::remove_file(&lost);
        }
        assert_contains!(world.ok("inbox --as bob"), "one");
        world.send("alice", "bob", "two");
        assert_eq!(world.bodies("bob"), ["one", "two"]);
        assert_eq!(world.text("spool/room"), id);
        world.ok("log verify");
    }
}

#[test]
fn delivery_continues_while_a_backup_copies_old_mail() {
    let world = World::alice_and_bob();
    let lines: String = (0..900)
        .map(|n| format!("{{\"to\": \"bob\", \"body\": \"{n}\"}}\n"))
        .collect();
    world.drop_file("alice", "many.ndjson", &lines);
    let room = mailbag::Room::open(&world.room("")).expect("a room");
    let router = world.router("");
    world.wait("the old mail", || world.names("inbox/bob").len() == 900);
    let to = world.path().join("copy");
    let mut delivered = 0;
    let report = mailbag::commands::backup::backup(&room, &to, &mut |files| {
        if files == 450 {
            world.drop_file("alice", "new.json", r#"{"to": "bob", "body": "new"}"#);
            world.wait("the new message", || world.names("inbox/bob").len() == 901);
            delivered = files;
        }
    });
    let files = report.expect("a backup").files;
    assert!(delivered == 450 && files > 901, "{files}");
    drop(router);
    check(&world, &to);
}
