//! Where the commands look: rooms near by, and directories that can't be reached.

use super::{codes, examined, finding, paste, report, says};
use crate::files;
use crate::world::World;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

fn mail_in(world: &World, place: &Path) {
    files::make_dir(place);
    let room = place.join(".mailbag").display().to_string();
    world.ok(&["init", &room]);
    world.ok(&["--room", &room, "agent", "add", "bob"]);
    world.ok(&["--room", &room, "send", "bob", "hi", "--as", "human"]);
    world.ok(&["--room", &room, "send", "bob", "again", "--as", "human"]);
}

fn from(world: &World, directory: &Path, args: &[&str]) -> Value {
    let mut command = world.program(&[&["doctor", "--json"], args].concat());
    command.current_dir(directory);
    report(command)
}

#[test]
fn doctor_reports_mail_in_a_room_above_the_current_room() {
    let world = World::with("bob");
    world.send("human", "bob", "hi");
    let below = world.path().join("a/b");
    files::make_dir(&below);
    world.ok(&["init", &below.join(".mailbag").display().to_string()]);
    says(
        &finding(&from(&world, &below, &[]), "other_room"),
        "warning",
        &["1 unread in ", "in a parent directory"],
    );
}

#[test]
fn doctor_compares_the_room_of_the_environment_with_the_local_room() {
    let world = World::with("bob");
    world.send("human", "bob", "hi");
    let other = World::new();
    let mut command = world.program("doctor --json");
    command.env("MAILBAG_ROOM", other.room(""));
    says(
        &finding(&report(command), "other_room"),
        "warning",
        &["1 unread in ", "unset MAILBAG_ROOM"],
    );
    let fix = |named: &dyn Fn(&mut assert_cmd::Command)| {
        let mut command = world.program("doctor --json");
        named(&mut command);
        finding(&report(command), "other_room")["fix"].clone()
    };
    let room = other.room("");
    assert_eq!(
        fix(&|command| {
            command.env("MAOS_MESSAGE_DIR", &room);
        }),
        "unset MAOS_MESSAGE_DIR"
    );
    let advice = fix(&|command| {
        command.arg("--room").arg(&room);
    });
    assert_contains!(advice.to_string(), "mailbag status --room"; "no variable is set");
}

#[test]
fn the_rooms_of_all_worktrees_of_a_repository_are_looked_at() {
    let world = World::empty();
    // As git writes them: a main worktree, and a linked one elsewhere.
    let (main, linked) = (
        world.path().join("main"),
        world.path().join("elsewhere/linked"),
    );
    let own = main.join(".git/worktrees/linked");
    files::make_dir(&own);
    files::make_dir(&linked);
    files::write(own.join("commondir"), "../..\n");
    files::write(
        own.join("gitdir"),
        format!("{}\n", linked.join(".git").display()),
    );
    files::write(linked.join(".git"), format!("gitdir: {}\n", own.display()));
    world.ok(&["init", &main.join(".mailbag").display().to_string()]);
    mail_in(&world, &linked);
    let by = [
        (&main, "in a worktree of the same repository"),
        (&linked, "in the working directory"),
    ];
    for (directory, by) in by {
        let found = finding(&from(&world, directory, &[]), "other_room");
        says(&found, "warning", &["elsewhere/linked/.mailbag", by]);
    }
}

#[test]
fn another_room_nearby_is_only_a_note_if_this_room_has_mail() {
    let world = World::with("bob");
    world.send("human", "bob", "above");
    let below = world.path().join("project");
    mail_in(&world, &below);
    let report = from(&world, &below, &[]);
    assert_eq!(report["healthy"], true, "{report:#}");
    says(
        &finding(&report, "other_room"),
        "note",
        &["2 unread here, 1 unread in "],
    );
}

#[test]
fn doctor_reports_a_link_in_place_of_an_inbox() {
    let world = World::with("bob");
    fs::remove_dir_all(world.room("inbox/bob")).ok();
    std::os::unix::fs::symlink("/tmp", world.room("inbox/bob")).expect("a link");
    says(
        &finding(&examined(&world, ""), "unreachable_directory"),
        "problem",
        &["inbox/bob", "ls -lad "],
    );
}

#[test]
fn doctor_reports_an_unwritable_directory_with_the_command_that_fixes_it() {
    let world = World::with("alice");
    world.leave_root();
    let examined = || {
        report(assert_cmd::Command::from_std(
            world.by_owner("doctor --json"),
        ))
    };
    let stage = world.room("spool/stage");
    fs::set_permissions(&stage, fs::Permissions::from_mode(0o555)).expect("it is there");
    let found = finding(&examined(), "unwritable_directory");
    says(&found, "problem", &["spool/stage", "chmod u+rwx "]);
    paste(&world, &found);
    assert_eq!(codes(&examined()), [""; 0]);
}
