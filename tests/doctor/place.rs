//! Where the commands look: rooms near by, and directories that can't be reached.

use super::{codes, examined, finding, paste, report, says};
use crate::world::World;
use std::fs;
use std::os::unix::fs::PermissionsExt;

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
