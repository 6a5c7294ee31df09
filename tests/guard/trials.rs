//! The guard in bad surroundings: it never fails, and lets a commit pass if it cannot judge it.

use super::commits::hooked;
use super::{claim, file, git, git_command_as, project};
use crate::hooks::recorded;
use crate::town::{copy_environment, is_root};
use crate::world::{World, lossy};
use serde_json::json;
use std::process::{Command, Output};

/// A repository with hooks, with bob as the owner of `src`, and one of his files staged.
fn staged() -> World {
    let world = hooked("alice bob");
    claim(&world, "bob", json!({"claims": ["src"]}));
    file(world.path(), "src/a.rs", "x");
    git(world.path(), "add -A");
    world
}

/// Runs a shell script as alice's git and client would, with `$input` as what Claude Code writes before an edit.
fn script(world: &World, text: &str) -> Output {
    let at = world.path().to_str().expect("plain");
    let input = recorded("claude", "PreToolUse-Edit")
        .replace("/home/dev/project", at)
        .replace("a.txt", "a.rs");
    let mut git = git_command_as(world, world.path(), "alice", "");
    let mut shell = Command::new("unshare");
    shell
        .args(["-m", "sh", "-c", text])
        .current_dir(world.path());
    git.env("input", input).env("mailbag", super::program());
    copy_environment(&git, &mut shell);
    shell.output().expect("a shell")
}

const EDIT: &str = "printf %s \"$input\" | \"$mailbag\" hook claude";

#[test]
fn a_full_or_read_only_room_is_still_judged() {
    // P154, P157
    if !is_root("a full file system") {
        return;
    }
    for make in [
        "cat /dev/zero > .mailbag/fill 2> /dev/null",
        "mount -o remount,ro .mailbag",
    ] {
        let world = staged();
        let script_text = format!(
            "mkdir keep && cp -a .mailbag/. keep && mount -t tmpfs -o size=2m none .mailbag && cp -a keep/. .mailbag && {{ {make}; \
             {EDIT}; git commit -q -m work; echo \"status $?\"; }}"
        );
        let output = script(&world, &script_text);
        let (out, err) = (lossy(&output.stdout), lossy(&output.stderr));
        assert!(
            out.contains("\"permissionDecision\":\"deny\"") && out.contains("status 1"),
            "{make}: {out}{err}"
        );
        assert_contains!(err, "src/a.rs belongs to bob"; "{make}");
    }
}

#[test]
fn closed_outputs_and_a_missing_git_stop_nothing_wrongly() {
    // P151, P156
    if !is_root("a mount namespace") {
        return;
    }
    let world = staged();
    assert!(script(&world, &format!("{EDIT} >&-")).status.success());
    assert!(
        script(&world, &format!("{EDIT} > /dev/full"))
            .status
            .success()
    );
    // It cannot say why, and stops the commit all the same.
    assert_eq!(
        script(&world, "\"$mailbag\" hook git pre-commit 2>&-")
            .status
            .code(),
        Some(10)
    );
    let output = script(&world, "PATH=/nowhere \"$mailbag\" hook git pre-commit");
    let said = lossy(&output.stderr);
    assert!(
        output.status.success()
            && said.contains("may belong to other agents: git is not on the PATH"),
        "{said}"
    );
}

#[test]
fn in_a_sandbox_an_unknown_owner_is_reported_each_time() {
    // P156
    if !is_root("a namespace of processes") {
        return;
    }
    let world = staged();
    world.write("registry.json", "{");
    let twice = "unshare --pid --fork --mount-proc sh -c '\"$mailbag\" hook git pre-commit; \"$mailbag\" hook git pre-commit'";
    let output = script(&world, twice);
    let said = lossy(&output.stderr);
    assert!(
        output.status.success() && said.matches("the commit passes, but").count() == 2,
        "{said}"
    );
}

#[test]
fn a_thousand_claims_are_judged() {
    // P154, P157
    let world = project("alice bob");
    let batch = |n: usize| {
        (0..100)
            .map(move |k| format!("src/part{n}/module{k}/**"))
            .collect::<Vec<_>>()
    };
    let lines: Vec<String> = (0..10)
        .map(|n| json!({"type": "claim", "claims": batch(n)}).to_string())
        .collect();
    world.drop_file("bob", "claims.ndjson", lines.join("\n"));
    world.wait("all are granted", || {
        world.run("who");
        let claims = std::fs::read_to_string(world.room("claims.json")).unwrap_or_default();
        claims.matches("\"subject\"").count() == 1000
    });
    let at = world.path().to_str().expect("plain");
    let edit = |path: &str| {
        let input = recorded("claude", "PreToolUse-Edit")
            .replace("/home/dev/project", at)
            .replace("src/a.txt", path);
        let mut hook = world.program("hook claude");
        let output = hook
            .env("MAILBAG_AGENT", "alice")
            .write_stdin(input)
            .output()
            .expect("the program runs");
        lossy(&output.stdout)
    };
    assert_contains!(
        edit("src/part9/module99/deep/x.rs"),
        "belongs to bob (claim src/part9/module99/**"
    );
    assert_contains!(edit("src/part9/module99"), "belongs to bob");
    assert_eq!(
        (edit("src/part9/module999/x.rs"), edit("src/part9/x.rs")),
        (String::new(), String::new())
    );
}
