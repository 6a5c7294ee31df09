//! A room that belongs to another user is used only once the person agreed. Needs root, who can be other users.

use crate::files;
use crate::town::{Town, copy_program, is_root, tool};
use crate::world::{World, lossy, parse_json};
use serde_json::json;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;

const NOBODY: &str = "65534:65534";

/// A room with mail and a program, owned by another user. Without root it is `None`, and the
/// test is skipped.
fn foreign(test: &str) -> Option<Town> {
    if !is_root(test) {
        return None;
    }
    let town = Town::alice_and_bob().quick();
    town.mail("alice", "one.json", json!({"to": "bob", "body": "come in"}));
    give(&town, NOBODY);
    Some(town)
}

fn give(town: &Town, owner: &str) {
    tool(
        "chown",
        ["-R".as_ref(), owner.as_ref(), town.room("").as_os_str()],
    );
}

#[test]
fn root_uses_no_room_of_another_user_before_it_is_trusted() {
    // P106
    let Some(town) = foreign("rooms of other users") else {
        return;
    };
    let before = town.everything();
    let commands: [&[&str]; 12] = [
        &["send", "bob", "hello", "--as", "alice"],
        &["inbox", "bob"],
        &["read", "--as", "bob"],
        &["run", "--once"],
        &["run"],
        &["join", "bob", "--session", "s1"],
        &["agent", "add", "mallory"],
        &["exec", "--id", "alice", "--", "true"],
        &["archive", "--older-than", "1d"],
        &["status"],
        &["init"],
        &["list"],
    ];
    for command in commands {
        let said = town.fails(1, command);
        for word in ["belongs to user 65534", "not to you", "mailbag trust /"] {
            assert!(said.contains(word), "{command:?}: {said}");
        }
    }
    assert_eq!(town.everything(), before, "nothing was touched");
}

#[test]
fn trust_of_a_foreign_room_can_be_given_and_revoked() {
    // P106, P109
    let Some(town) = foreign("rooms of other users") else {
        return;
    };
    assert_contains!(town.ok("trust --yes"), "user 65534", "not you");
    town.send("alice", "bob", "hello");
    town.ok("trust --revoke");
    town.fails(1, "send bob hello --as alice");
}

#[test]
fn hooks_are_silent_in_it_and_invite_nobody() {
    // P106
    let Some(town) = foreign("rooms of other users") else {
        return;
    };
    let before = town.everything();
    for (client, event) in [
        ("claude", "SessionStart"),
        ("codex", "SessionStart"),
        ("gemini", "SessionStart"),
    ] {
        let input = json!({"hook_event_name": event, "session_id": "s1", "source": "startup", "cwd": town.path()});
        for as_whom in [vec!["hook", client], vec!["hook", client, "--as", "bob"]] {
            let ran = town.pipe(&as_whom, input.to_string());
            let nowhere = World::empty().pipe(
                &as_whom,
                input
                    .to_string()
                    .replace(&*town.path().to_string_lossy(), "/"),
            );
            assert_eq!(
                (ran.code, ran.err.as_str(), ran.out),
                (0, "", nowhere.out),
                "{as_whom:?}"
            );
        }
    }
    let stop =
        json!({"hook_event_name": "Stop", "session_id": "s1", "cwd": town.path()}).to_string();
    let ran = town.pipe("wait --rewake --as bob", stop);
    assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (0, "", ""));
    assert_eq!(town.everything(), before, "nothing was touched");
}

#[test]
fn the_doctor_and_the_tools_of_a_model_say_what_it_is() {
    let Some(town) = foreign("rooms of other users") else {
        return;
    };
    let ran = town.pipe("doctor --json", "");
    let report = parse_json(&ran.out);
    assert!(
        ran.code == 1 && report["findings"][0]["code"] == "untrusted_room",
        "{report:#}"
    );
    assert!(
        report["findings"][0]["fix"]
            .as_str()
            .is_some_and(|fix| fix.starts_with("mailbag trust /"))
    );
    let calls = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18",
            "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call",
            "params": {"name": "register_agent", "arguments": {"name": "bob", "role": "tester"}}}),
    ];
    let input: String = calls.iter().map(|call| format!("{call}\n")).collect();
    assert_contains!(
        town.pipe("mcp", input).out,
        "belongs to user 65534",
        "a person can run"
    );
}

#[test]
fn a_link_to_a_foreign_room_is_rejected_like_its_path() {
    // P106
    let Some(town) = foreign("rooms of other users") else {
        return;
    };
    symlink(town.room(""), town.path().join("link")).expect("a link");
    assert_contains!(
        town.fails(1, "--room link inbox bob"),
        "belongs to user 65534"
    );
}

#[test]
fn another_room_in_the_place_of_a_trusted_one_is_not_trusted() {
    // P109
    let Some(town) = foreign("rooms of other users") else {
        return;
    };
    town.ok("trust --yes");
    files::write(town.room("spool/room"), "another-room\n");
    town.fails(1, "inbox bob");
    town.ok("trust --yes");
    give(&town, "65533:65533");
    town.fails(1, "inbox bob");
}

#[test]
fn another_user_below_a_room_of_root_is_rejected_and_may_trust_it() {
    // P106
    if !is_root("another user's process") {
        return;
    }
    let town = Town::alice_and_bob().quick();
    fs::set_permissions(town.path(), fs::Permissions::from_mode(0o755)).expect("its own directory");
    tool(
        "chmod",
        ["-R".as_ref(), "a+rX".as_ref(), town.room("").as_os_str()],
    );
    let program = town.path().join("mailbag");
    copy_program(town.bare("").get_program(), &program);
    let home = town.path().join("home");
    files::make_dir(&home);
    tool("chown", [NOBODY.as_ref(), home.as_os_str()]);
    let as_nobody = |args: &[&str]| {
        let mut command = Command::new("setpriv");
        command
            .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
            .arg(&program)
            .args(args);
        command
            .current_dir(town.path())
            .env("HOME", &home)
            .env("NO_COLOR", "1")
            .env_remove("XDG_DATA_HOME");
        let output = command
            .env_remove("MAILBAG_TRUST_DIR")
            .env("MAILBAG_TEST_ANCESTRY", "person")
            .output()
            .expect("setpriv");
        (output.status.code(), lossy(&output.stderr))
    };
    let (code, said) = as_nobody(&["agent", "list"]);
    assert!(
        code == Some(1) && said.contains("belongs to user 0 (root), not to you"),
        "{said}"
    );
    assert_eq!(as_nobody(&["trust", "--yes"]), (Some(0), String::new()));
    assert_eq!(as_nobody(&["agent", "list"]), (Some(0), String::new()));
    assert!(home.join(".local/share/mailbag/trust.json").exists());
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
