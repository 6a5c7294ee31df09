//! A room that was deleted: commands say which room they use instead.

use crate::world::World;
use std::fs;

/// A room, and a project below it with its own room.
fn nested() -> World {
    let world = World::with(&["alice"]);
    let inner = world.path().join("project");
    fs::create_dir(&inner).expect("a directory");
    let made = world.run_with(&["init"], |command| drop_into(command, &inner));
    made.ok(&["init"]);
    world
}

fn drop_into(command: &mut assert_cmd::Command, place: &std::path::Path) {
    command.current_dir(place);
}

#[test]
fn a_command_says_that_a_room_of_a_parent_directory_is_used_instead_of_one_that_is_gone() {
    let world = nested();
    let below = world.path().join("project/src");
    fs::create_dir(&below).expect("a directory");
    let run = |args: &[&str]| world.run_with(args, |command| drop_into(command, &below));
    assert!(!run(&["status"]).err.contains("is gone"));
    fs::remove_dir_all(world.path().join("project/.mailbag")).expect("the room");
    for args in [
        &["status"][..],
        &["inbox", "alice"],
        &["send", "alice", "x", "--as", "alice"],
        &["run", "--once"],
    ] {
        let said = run(args).err;
        let (gone, used) = (world.path().join("project/.mailbag"), world.room(""));
        assert!(
            said.contains(&format!("the room {} is gone", gone.display())),
            "{args:?}: {said}"
        );
        assert!(
            said.contains(used.to_str().expect("plain").trim_end_matches('/')),
            "{args:?}: {said}"
        );
    }
    let doctor = run(&["doctor", "--json"]).out;
    assert!(doctor.contains("room_gone"), "{doctor}");
    run(&["doctor", "--fix"]);
    assert!(
        !run(&["status"]).err.contains("is gone"),
        "it was forgotten"
    );
}

#[test]
fn a_command_says_that_a_nearer_directory_is_not_a_room() {
    let world = World::with(&["alice"]);
    let inner = world.path().join("project");
    fs::create_dir(&inner).expect("a directory");
    let room = inner.join(".mailbag");
    let with_spool = |make: fn(&std::path::Path)| {
        let _ = fs::remove_dir_all(&room);
        fs::create_dir(&room).expect("a directory");
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
    with_spool(|spool| fs::write(spool, "").expect("a file"));
    says_so();
    with_spool(|spool| std::os::unix::fs::symlink("/tmp", spool).expect("a link"));
    says_so();
    fs::remove_dir_all(&room).expect("the directory");
    fs::write(&room, "").expect("a file");
    says_so();
    fs::remove_dir_all(world.room("")).expect("the other room");
    let alone = world.run_with(&["status"], |command| drop_into(command, &inner));
    assert!(
        alone.err.contains("no room found") && alone.err.contains("is not a room"),
        "{alone:?}"
    );
}

#[test]
fn a_room_that_is_made_again_or_that_was_taken_back_is_not_missed() {
    let world = nested();
    let inner = world.path().join("project");
    let run = |args: &[&str]| world.run_with(args, |command| drop_into(command, &inner));
    fs::remove_dir_all(inner.join(".mailbag")).expect("the room");
    assert!(run(&["status"]).err.contains("is gone"));
    run(&["init"]).ok(&["init"]);
    assert!(!run(&["status"]).err.contains("is gone"));
}

#[test]
fn without_another_room_the_error_names_the_one_that_is_gone() {
    let world = World::with(&["alice"]);
    fs::remove_dir_all(world.room("")).expect("the room");
    let said = world.fails(3, &["status"]);
    assert!(
        said.contains("is gone") && said.contains("mailbag init"),
        "{said}"
    );
}
