//! Paths that are not UTF-8: no command and no hook crashes, and no room is made there.

use crate::files;
use crate::world::{Ran, Words, World, parse_json};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Creates a directory of this name in the world's directory.
fn make_dir(world: &World, name: &[u8]) -> PathBuf {
    let path = world.path().join(OsStr::from_bytes(name));
    files::make_dir(&path);
    path
}

fn run_in(world: &World, directory: &Path, args: &(impl Words + ?Sized), input: &str) -> Ran {
    let mut command = world.program(args);
    Ran::of(command.current_dir(directory).write_stdin(input))
}

#[test]
fn no_room_is_made_at_a_path_that_is_not_utf_8() {
    let world = World::empty();
    let project = make_dir(&world, b"caf\xe9");
    for command in ["init", "init team", "up", "up --json", "init --json"] {
        let said = run_in(&world, &project, command, "").fails(2);
        assert_contains!(said, "is not UTF-8", "rename the directory");
    }
    let left = std::fs::read_dir(&project).expect("a directory").count();
    assert_eq!(left, 0, "nothing was made");
}

#[test]
fn a_room_that_was_moved_to_a_path_that_is_not_utf_8_is_rejected() {
    let world = World::empty();
    let project = make_dir(&world, b"project");
    run_in(&world, &project, "init", "").ok();
    run_in(&world, &project, "agent add alice", "").ok();
    let moved = world.path().join(OsStr::from_bytes(b"\xff"));
    files::rename(&project, &moved);
    for command in [
        "status",
        "run --once",
        "inbox alice --json",
        "doctor",
        "web",
    ] {
        let said = run_in(&world, &moved, command, "").fails(2);
        assert_contains!(said, "is not UTF-8");
    }
    let event = crate::hooks::recorded("claude", "UserPromptSubmit");
    let hook = run_in(&world, &moved, "hook claude --as alice", &event);
    assert_eq!((hook.code, &*hook.out), (0, ""), "{hook:?}");
}

#[test]
fn a_session_can_work_in_a_directory_that_is_not_utf_8() {
    let world = World::with("alice bob carol");
    let below = make_dir(&world, b"src-\xff");
    run_in(
        &world,
        &below,
        "join alice --session s1 --client claude",
        "",
    )
    .ok();
    assert!(world.read("sessions/alice.json")["directory"].is_null());
    let event = crate::hooks::recorded("claude", "UserPromptSubmit");
    let hook = run_in(&world, &below, "hook claude --as bob", &event);
    assert!(hook.code == 0 && !hook.err.contains("panicked"), "{hook:?}");
    run_in(&world, &below, "exec --id carol -- true", "").ok();
    run_in(&world, &below, "install claude --agent alice --json", "").ok();
}

#[test]
fn reports_show_a_path_that_is_not_utf_8() {
    let world = World::alice_and_bob();
    let copy = world.path().join(OsStr::from_bytes(b"copy-\xff"));
    let ran = world.run_with("backup --json", |command| {
        command.arg(&copy);
    });
    let report = parse_json(ran.ok());
    assert!(
        report["backup"]
            .as_str()
            .is_some_and(|path| path.ends_with("copy-\u{fffd}")),
        "{report}"
    );
    let name = OsStr::from_bytes(b"note-\xff.json");
    files::write(world.room("inbox/alice").join(name), "not a message");
    let shown = world.json("inbox alice");
    assert_eq!(
        shown["messages"][0]["file"],
        "inbox/alice/note-\u{fffd}.json"
    );
}
