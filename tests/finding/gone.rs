//! A damaged room: commands say which room they use instead.

use crate::files;
use crate::world::World;
use std::fs;

fn drop_into(command: &mut assert_cmd::Command, place: &std::path::Path) {
    command.current_dir(place);
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
