//! A room is private to its user, and root works in it as this user.

use crate::town::is_root;
use crate::world::World;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

const ALICE: u32 = 65_501;

/// Every file and directory below the room, with its permissions, except the files that a sender
/// dropped.
fn permissions(room: &Path) -> Vec<(PathBuf, u32)> {
    let entries = walkdir::WalkDir::new(room)
        .into_iter()
        .map(|entry| entry.expect("an entry"));
    let kept = |path: &Path| {
        path.parent()
            .is_some_and(|parent| parent.ends_with("sent/alice"))
    };
    let own = entries.filter(|entry| !entry.file_type().is_symlink() && !kept(entry.path()));
    own.map(|entry| {
        (
            entry.path().to_owned(),
            entry.metadata().expect("it stands").mode() & 0o7777,
        )
    })
    .collect()
}

fn used(world: &World, umask: &str) {
    let program = assert_cmd::cargo::cargo_bin!("mailbag")
        .display()
        .to_string();
    let script = format!(
        r#"set -e; umask {umask}; {program} init; {program} agent add alice bob
        {program} send bob hello --as alice; {program} read --all --as bob; {program} send nobody x --as alice || true
        echo '{{"to": "nobody"}}' > .mailbag/outbox/alice/x.json; {program} run --once; {program} archive --older-than 0s"#
    );
    let ran = Command::new("sh")
        .args(["-c", &script])
        .current_dir(world.path())
        .env_remove("MAILBAG_ROOM")
        .output();
    let ran = ran.expect("a shell");
    assert!(ran.status.success(), "{ran:?}");
}

#[test]
fn a_room_is_private_to_its_owner_under_every_umask() {
    for umask in ["000", "022", "077"] {
        let world = World::empty();
        // A directory that is made below this one gets its group and its set-group-ID bit.
        fs::set_permissions(world.path(), fs::Permissions::from_mode(0o2775))
            .expect("its own directory");
        used(&world, umask);
        for (path, mode) in permissions(&world.room("")) {
            assert_eq!(mode & 0o2077, 0, "{umask}: {} has {mode:o}", path.display());
        }
    }
}

/// Gives everything of the world to alice's user, who can reach it.
fn give_to_alice(world: &World) {
    for entry in walkdir::WalkDir::new(world.path()) {
        let path = entry.expect("an entry").into_path();
        std::os::unix::fs::chown(path, Some(ALICE), Some(ALICE)).expect("root may");
    }
    std::os::unix::fs::chown(world.trust(), Some(ALICE), Some(ALICE)).expect("root may");
}

#[test]
fn root_takes_the_user_of_the_room_s_owner_before_it_opens_anything() {
    // P116
    if !is_root("a room of another user") {
        return;
    }
    let world = World::alice_and_bob();
    give_to_alice(&world);
    world.ok("send bob hello --as alice");
    world.drop_file(
        "alice",
        "x.json",
        r#"{"to": ["bob", "nobody"], "body": "hi"}"#,
    );
    world.ok("run --once");
    world.ok("backup copy");
    // A command that it starts runs without root's groups.
    for words in ["id -u", "id -G"] {
        let user = world.ok(format!("exec --id alice -- {words}").as_str());
        assert_eq!(user.trim(), ALICE.to_string(), "{words}");
    }
    // The dropped file keeps its owner, here the tester.
    let rejected = world.room("rejected");
    for entry in walkdir::WalkDir::new(world.path()) {
        let entry = entry.expect("an entry");
        let is_own = entry.metadata().expect("it stands").uid() == ALICE;
        assert!(is_own || entry.path().starts_with(&rejected), "{entry:?}");
    }
}

#[test]
fn root_makes_a_room_for_the_owner_of_the_directory() {
    if !is_root("a directory of another user") {
        return;
    }
    let world = World::empty();
    give_to_alice(&world);
    world.ok("init");
    for (path, _) in permissions(&world.room("")) {
        assert_eq!(
            fs::metadata(&path).expect("it stands").uid(),
            ALICE,
            "{}",
            path.display()
        );
    }
}

#[test]
fn doctor_reports_a_room_that_is_not_private_and_closes_it() {
    // P106
    let world = World::alice_and_bob();
    let room = world.room("");
    let permissions = fs::Permissions::from_mode;
    for mode in [0o750, 0o705, 0o701] {
        fs::set_permissions(&room, permissions(mode)).expect("its own directory");
        let ran = world.run("doctor");
        assert_eq!(ran.code, 1);
        assert_contains!(ran.out, "is not private", "chmod -R go= ");
        assert_contains!(world.ok("doctor --fix"), "is not private"; "{mode:o}");
        assert_eq!(
            fs::metadata(&room).expect("it stands").mode() & 0o7777,
            0o700
        );
    }
    assert!(!world.ok("doctor").contains("is not private"));
}
