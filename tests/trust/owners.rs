//! A room belongs to one user. A room of another user, or behind a link, is not used.

use crate::files;
use crate::town::{Town, is_root};
use crate::world::{Ran, World};
use serde_json::json;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;

/// The result of a command of another user in the world's directory.
fn by_other(town: &Town, args: &[&str], input: &str) -> Ran {
    let mut command = town.bare(args);
    command.uid(65534).gid(65534);
    let mut command = assert_cmd::Command::from_std(command);
    Ran::of(command.write_stdin(input))
}

#[test]
fn a_room_of_another_user_is_rejected_and_hooks_are_silent_in_it() {
    // P106
    if !is_root("another user's process") {
        return;
    }
    let town = Town::alice_and_bob().quick();
    town.mail("alice", "one.json", json!({"to": "bob", "body": "come in"}));
    let open = fs::Permissions::from_mode(0o755);
    fs::set_permissions(town.path(), open.clone()).expect("its own directory");
    symlink(town.room(""), town.path().join("link")).expect("a link");
    for is_private in [true, false] {
        if !is_private {
            fs::set_permissions(town.room(""), open.clone()).expect("its own directory");
        }
        let before = town.everything();
        let commands: [&[&str]; 12] = [
            &["send", "bob", "hello", "--as", "alice"],
            &["inbox", "bob"],
            &["run", "--once"],
            &["run"],
            &["join", "bob", "--session", "s1"],
            &["agent", "add", "mallory"],
            &["exec", "--id", "alice", "--", "true"],
            &["archive", "--older-than", "1d"],
            &["status"],
            &["init"],
            &["up"],
            &["--room", "link", "list"],
        ];
        for command in commands {
            let said = by_other(&town, command, "").fails(1);
            assert_contains!(said, "belongs to user 0 (root)", "runs as user 65534"; "{command:?}");
        }
        let input = json!({"hook_event_name": "SessionStart", "session_id": "s1", "source": "startup", "cwd": town.path()});
        for client in ["claude", "codex", "gemini"] {
            let ran = by_other(&town, &["hook", client], &input.to_string());
            let nowhere = World::empty().pipe(&["hook", client], r#"{"hook_event_name": "SessionStart", "session_id": "s1", "source": "startup", "cwd": "/"}"#);
            assert_eq!(
                (ran.code, ran.err.as_str(), ran.out),
                (0, "", nowhere.out),
                "{client}"
            );
        }
        assert_eq!(town.everything(), before, "nothing was touched");
    }
}

#[test]
fn a_room_is_not_found_by_a_symbolic_link() {
    // P300
    let (other, cloned) = (World::with("alice"), World::empty());
    symlink(other.room(""), cloned.path().join(".mailbag")).expect("a link");
    for args in [
        &["status"][..],
        &["send", "alice", "x", "--as", "human"],
        &["init"],
        &["up"],
    ] {
        let ran = cloned.run(args);
        assert!(
            ran.code != 0 && ran.err.contains("is a symbolic link to"),
            "{args:?}: {ran:?}"
        );
    }
    let beside = World::empty();
    symlink(
        beside.path().join("not-yet"),
        beside.path().join(".mailbag"),
    )
    .expect("a link");
    for args in [&["init"][..], &["up"]] {
        assert!(
            beside.run(args).code != 0 && !beside.path().join("not-yet").exists(),
            "{args:?}"
        );
    }
    assert_eq!(other.inbox("alice").len(), 0);
    cloned.ok(&["--room", other.room("").to_str().expect("plain"), "status"]);
}

#[test]
fn a_session_attaches_nothing_through_a_link_in_the_place_of_the_context() {
    // P300
    let outside = tempfile::tempdir().expect("a directory");
    let secret = outside.path().join("secret.txt");
    files::write(&secret, "secret");
    let world = World::alice_and_bob();
    fs::remove_dir(world.room("context")).expect("the empty context");
    symlink(outside.path(), world.room("context")).expect("a link");
    let args = [
        "send",
        "bob",
        "x",
        "--as",
        "alice",
        "--attach",
        secret.to_str().expect("plain"),
    ];
    let ran = world.run_env(&args, "CLAUDE_CODE_SESSION_ID", "s1");
    assert!(ran.code != 0 && world.inbox("bob").is_empty(), "{ran:?}");
}
