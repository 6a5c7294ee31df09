//! A room that was deleted: commands say which room they use instead.

use crate::files;
use crate::world::World;
use std::fs;

/// A room, and a project below it with its own room.
fn nested() -> World {
    let world = World::with("alice");
    let inner = world.path().join("project");
    files::make_dir(&inner);
    let made = world.run_with("init", |command| drop_into(command, &inner));
    made.ok();
    world
}

fn drop_into(command: &mut assert_cmd::Command, place: &std::path::Path) {
    command.current_dir(place);
}

#[test]
fn a_command_says_that_a_room_of_a_parent_directory_is_used_instead_of_one_that_is_gone() {
    let world = nested();
    let below = world.path().join("project/src");
    files::make_dir(&below);
    let run = |args: &str| world.run_with(args, |command| drop_into(command, &below));
    assert!(!run("status").err.contains("is gone"));
    files::remove_dir(world.path().join("project/.mailbag"));
    let [gone, used] = ["project/.mailbag", ".mailbag"].map(|room| world.path().join(room));
    let gone = format!("the room {} is gone", gone.display());
    for args in [
        "status",
        "inbox alice",
        "send alice x --as alice",
        "run --once",
    ] {
        assert_contains!(run(args).err, &gone, &used.display().to_string(); "{args}");
    }
    assert_contains!(run("doctor --json").out, "room_gone");
    run("doctor --fix");
    assert!(!run("status").err.contains("is gone"), "it was forgotten");
}

#[test]
fn a_command_says_that_a_nearer_directory_is_not_a_room() {
    let world = World::with("alice");
    let inner = world.path().join("project");
    files::make_dir(&inner);
    let room = inner.join(".mailbag");
    let with_spool = |make: fn(&std::path::Path)| {
        let _ = fs::remove_dir_all(&room);
        files::make_dir(&room);
        make(&room.join("spool"));
    };
    let says_so = || {
        for args in [&["send", "alice", "x", "--as", "alice"][..], &["doctor"]] {
            let ran = world.run_with(args, |command| drop_into(command, &inner));
            let said = format!("{} is not a room", room.display());
            assert!(format!("{ran:?}").contains(&said), "{args:?}: {ran:?}");
        }
    };
    with_spool(|_| {});
    says_so();
    with_spool(|spool| files::write(spool, ""));
    says_so();
    with_spool(|spool| std::os::unix::fs::symlink("/tmp", spool).expect("a link"));
    says_so();
    files::remove_dir(&room);
    files::write(&room, "");
    says_so();
    files::remove_dir(world.room(""));
    let alone = world.run_with("status", |command| drop_into(command, &inner));
    assert_contains!(alone.err, "no room found", "is not a room"; "{alone:?}");
}

#[test]
fn a_room_that_is_made_again_or_that_was_taken_back_is_not_missed() {
    let world = nested();
    let inner = world.path().join("project");
    let run = |args: &[&str]| world.run_with(args, |command| drop_into(command, &inner));
    files::remove_dir(inner.join(".mailbag"));
    assert_contains!(run(&["status"]).err, "is gone");
    run(&["init"]).ok();
    assert!(!run(&["status"]).err.contains("is gone"));
}

#[test]
fn without_another_room_the_error_names_the_one_that_is_gone() {
    let world = World::with("alice");
    files::remove_dir(world.room(""));
    assert_contains!(world.fails(3, "status"), "is gone", "mailbag init");
}
