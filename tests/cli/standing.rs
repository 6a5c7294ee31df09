//! Errors after the effect: they name the completed effect, so that a caller does not repeat it.

use crate::files;
use crate::sim::CallName;
use crate::world::{Ran, Words, World, lossy, parse_json};
use mailbag::commands::post::{SendResult, post};
use mailbag::commands::send::MessageDraft;
use mailbag::query::identity::{AgentIdentity, IdentitySource};
use mailbag::room::{LockAttempt, RouterLock};
use mailbag::{Result, Room};
use rustix::io::Errno;
use std::fs::File;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

/// Runs a command with a full disk as standard output.
fn to_a_full_disk(world: &World, args: &(impl Words + ?Sized)) -> (i32, String) {
    let full = File::options()
        .write(true)
        .open("/dev/full")
        .expect("a device that is full");
    let output = world
        .bare(args)
        .stdin(Stdio::null())
        .stdout(full)
        .output()
        .expect("the program runs");
    (output.status.code().unwrap_or(-1), lossy(&output.stderr))
}

#[test]
fn a_full_output_does_not_make_anybody_send_twice() {
    let world = World::alice_and_bob();
    let id = world.send("alice", "bob", "hello");
    world.route("alice", "bad.json", r#"{"to": "carol", "body": "hello"}"#);
    world.write("notes.md", "a text");
    for args in [
        "send bob hello --as alice",
        &format!("reply {id} hello --as bob"),
        &format!("ack {id} --as bob"),
        "ask bob well? --as alice --timeout 1ms",
        "share .mailbag/notes.md --as alice --category reports",
        "agent add dan",
        "agent set dan --role tester",
        "agent set dan --status retired",
        "agent remove dan",
        "backup copy",
        "init other",
        "join erin --role x --session s1 --client claude",
        "run --once",
    ] {
        let (code, said) = to_a_full_disk(&world, &format!("{args} --json"));
        assert_eq!(code, 1, "{args}: {said}");
        let error = parse_json(said.lines().last().expect("an error"));
        assert_fields!(error["error"], code: "done", exit: 1);
        let fix = error["error"]["fix"].as_str().unwrap_or_default();
        assert!(fix.starts_with("do not "), "{args}: {said}");
        assert!(!said.contains("try again"), "{args}: {said}");
    }
}

#[test]
fn an_error_after_sending_names_the_id_and_the_place_of_the_message() {
    let world = World::alice_and_bob();
    let (code, said) = to_a_full_disk(&world, "send bob hello --as alice");
    assert_eq!(code, 1, "{said}");
    assert_eq!(world.bodies("bob"), ["hello"]);
    let kept = world.names("sent/alice").pop().expect("the message");
    let name = kept.split_once('~').expect("a number and the name").1;
    let id = name.trim_end_matches(".json");
    let written = format!("message {id} was written to outbox/alice/{name}");
    assert_contains!(
        said,
        &format!("{written}, but cannot write to standard output")
    );
    assert!(said.ends_with("; do not send it again\n"), "{said}");
}

#[test]
fn a_command_that_has_done_nothing_yet_says_what_failed_alone() {
    let world = World::with("alice");
    let (code, said) = to_a_full_disk(&world, "status");
    assert_eq!((code, said.contains("do not send")), (75, false), "{said}");
}

/// Alice's message to bob in this process, while the N-th sync fails.
fn send_failing(world: &World, nth: usize) -> Result<SendResult> {
    let mut syncs = 0;
    let hook = move |call: CallName, _: &[PathBuf]| {
        syncs += usize::from(call.is_sync());
        if call.is_sync() && syncs == nth {
            return Err(Errno::IO.into());
        }
        Ok(())
    };
    let draft = MessageDraft {
        to: vec!["bob".into()],
        body: Some("hello".into()),
        ..MessageDraft::default()
    };
    let alice = AgentIdentity {
        name: "alice".into(),
        source: IdentitySource::Claimed("--as"),
    };
    world.watched(hook, |room| {
        post(room, &alice, draft, Duration::ZERO, |_| Ok(()))
    })
}

/// A room with the lock of a router, which does not route.
fn with_a_router() -> (World, RouterLock) {
    let world = World::alice_and_bob();
    let room = Room::open(&world.room("")).expect("a room");
    let LockAttempt::Ours(lock) = room.lock_to_run().expect("a lock") else {
        panic!("the room has no router");
    };
    (world, lock)
}

#[test]
fn a_sync_that_fails_behind_the_rename_does_not_make_anybody_send_twice() {
    let (world, router) = with_a_router();
    let said = send_failing(&world, 2)
        .expect_err("the sync failed")
        .to_string();
    let name = world.names("outbox/alice").pop().expect("the message");
    assert_contains!(
        said,
        &format!("was written to outbox/alice/{name}, but it could not be synced"),
        "do not send it again"
    );
    drop(router);
    world.pass();
    assert_eq!(world.bodies("bob"), ["hello"]);
}

#[test]
fn a_sync_that_fails_before_it_leaves_nothing() {
    let (world, _router) = with_a_router();
    let said = send_failing(&world, 1)
        .expect_err("the sync failed")
        .to_string();
    assert!(!said.contains("was written"), "{said}");
    let left: Vec<_> = std::fs::read_dir(world.room("outbox/alice"))
        .expect("an outbox")
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_pass_leaves_the_message_in_the_outbox_if_its_first_sync_fails() {
    let world = World::alice_and_bob();
    let sent = send_failing(&world, 1).expect("it is in the outbox");
    let name = world.names("outbox/alice").pop().expect("the message");
    assert_contains!(
        sent.sent.written(),
        &format!("was written to outbox/alice/{name}")
    );
    assert!(sent.seq.is_none() && sent.failure.is_some(), "{sent:?}");
    world.pass();
    assert_eq!(world.bodies("bob"), ["hello"]);
}

#[test]
fn a_pass_that_fails_for_good_names_the_message_once() {
    let world = World::alice_and_bob();
    world.send("alice", "bob", "first");
    files::write(world.room("spool/room"), "another\n");
    let Ran { code, out, err, .. } = world.run("send -q bob hello --as alice");
    assert_eq!(
        (code, err.matches("do not send it again").count()),
        (1, 1),
        "{err}"
    );
    assert!(err.contains(out.trim()), "{err}");
}

#[test]
fn only_a_failure_that_can_end_by_itself_says_to_try_again() {
    let world = World::empty();
    files::write(world.path().join(".mailbag"), "a file");
    assert_contains!(world.fails(1, "init"), ".mailbag");
    files::remove_file(world.path().join(".mailbag"));
    files::write(world.path().join("file"), "");
    world.fails(1, "init file/.mailbag");

    let world = World::alice_and_bob();
    files::write(world.path().join("file"), "");
    for place in ["/dev/null", "file", "file/copy"] {
        let said = world.fails(2, &format!("backup {place}"));
        assert_contains!(
            said,
            "is not a directory",
            "choose a new or empty directory"
        );
    }
    world.fails(3, "share file/notes.md --category a --as alice");
    world.write("context/a", "a file in place of a category");
    world.fails(1, "share file --category a --as alice");
    let (code, said) = to_a_full_disk(&world, "inbox bob --json");
    assert_eq!(code, 75, "{said}");
}

#[test]
fn help_and_version_to_a_full_disk_are_errors() {
    let world = World::alice_and_bob();
    for words in ["help", "--help", "send --help", "--version"] {
        let (code, said) = to_a_full_disk(&world, words);
        assert_eq!(code, 75, "{words}: {said}");
        assert_contains!(said, "cannot write to standard output");
    }
}
