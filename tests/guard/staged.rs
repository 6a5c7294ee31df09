//! The check before a commit: it stops other agents' files and lets the rest pass.

use super::commits::hooked;
use super::{UNREADABLE, claim, executable, file, git, git_as, git_command_as, program};
use crate::files;
use crate::world::{World, lossy};
use serde_json::json;
use std::path::Path;

/// Commits the staged files as an agent. Returns the success of git, and the output.
fn commit(world: &World, at: &Path, agent: &str) -> (bool, String) {
    let output = git_as(world, at, agent, "commit -q -m work");
    (output.status.success(), lossy(&output.stderr))
}

/// Stages a new file and commits it, as an agent.
fn change(world: &World, agent: &str, name: &str) -> (bool, String) {
    file(
        world.path(),
        name,
        &format!("{agent} {}", uuid::Uuid::now_v7()),
    );
    git(world.path(), "add -A");
    commit(world, world.path(), agent)
}

fn unstage(world: &World) {
    git(world.path(), "reset -q --hard");
}

#[test]
fn a_commit_of_another_agents_file_is_stopped_with_owner_reason_time_and_what_to_do() {
    // P154
    let world = hooked("alice bob");
    claim(
        &world,
        "bob",
        json!({"claims": ["src/auth/**"], "subject": "the login"}),
    );
    let (done, said) = change(&world, "alice", "src/auth/login.rs");
    assert!(!done);
    let since = said
        .split("since ")
        .nth(1)
        .and_then(|rest| rest.split(", ").next())
        .expect("a time");
    assert!(since.starts_with("20") && since.ends_with('Z'), "{since}");
    let wanted = format!(
        "mailbag: the commit was stopped: it changes files of other agents\n  src/auth/login.rs belongs to bob (claim src/auth/**, \
         since {since}, “the login”)\nAsk the owner with `mailbag send bob 'May I change src/auth/login.rs?'`, or wait for it with \
         `mailbag claim --wait 'src/auth/**'`. To commit anyway, and tell the owner: MAILBAG_GUARD=off git commit …\n"
    );
    assert_eq!(said, wanted);
    unstage(&world);
    assert_eq!(
        change(&world, "bob", "src/auth/login.rs"),
        (true, String::new()),
        "the owner"
    );
    assert_eq!(
        change(&world, "alice", "src/other.rs"),
        (true, String::new()),
        "a free file"
    );
}

#[test]
fn both_sides_of_a_rename_and_a_deletion_count() {
    // P154
    let world = hooked("alice bob");
    for name in ["old/a.txt", "old/b.txt", "free.txt"] {
        assert!(change(&world, "", name).0);
    }
    claim(&world, "bob", json!({"claims": ["old", "new"]}));
    for args in [
        &["mv", "old/a.txt", "moved.txt"][..],
        &["rm", "-q", "old/b.txt"],
        &["mv", "free.txt", "new"],
    ] {
        git(world.path(), args);
        assert!(!commit(&world, world.path(), "alice").0, "{args:?}");
        unstage(&world);
    }
}

#[test]
fn the_person_and_an_unidentified_committer_are_warned_and_pass() {
    // P154
    let world = hooked("alice bob");
    claim(&world, "bob", json!({"claims": ["src"]}));
    for who in ["", "human", "carol"] {
        let (done, said) = change(&world, who, "src/a.rs");
        assert!(
            done && said.contains("src/a.rs belongs to bob (claim src, since "),
            "{who}: {said}"
        );
        assert!(
            said.starts_with("mailbag: this commit changes files of other agents:"),
            "{said}"
        );
        assert_eq!(
            change(&world, who, "free.rs"),
            (true, String::new()),
            "{who}"
        );
    }
}

#[test]
fn an_agent_that_gives_a_name_of_the_person_is_the_agent_of_the_worktree() {
    // P152, P135
    let world = hooked("alice bob");
    world.ok("agent set human --name Ann");
    claim(&world, "bob", json!({"claims": ["src"]}));
    world.ok("join alice --session s-alice");
    for name in ["human", "Ann"] {
        file(world.path(), "src/a.rs", name);
        git(world.path(), "add src/a.rs");
        let mut commit = git_command_as(&world, world.path(), name, "commit -q -m edit");
        let output = commit.env("MAILBAG_TEST_ANCESTRY", "agent").output();
        let output = output.expect("git runs");
        let said = lossy(&output.stderr);
        assert!(!output.status.success(), "{name}: {said}");
        assert_contains!(said, "the commit was stopped", "src/a.rs"; "{name}");
        unstage(&world);
    }
}

#[test]
fn the_setting_warns_or_is_silent() {
    // P154
    let mut world = hooked("alice bob");
    claim(&world, "bob", json!({"claims": ["src"]}));
    for (guard, warns) in [("warn", true), ("off", false)] {
        world = world.settings(&format!("guard = \"{guard}\"\n"));
        let (done, said) = change(&world, "alice", "src/a.rs");
        assert_eq!(
            (done, said.contains("belongs to bob")),
            (true, warns),
            "{guard}: {said}"
        );
    }
    let world = world.settings("guard = \"no\"\n");
    assert_contains!(world.fails(65, "settings"), "guard has an invalid value");
}

#[test]
fn a_bypass_passes_and_the_owner_is_notified() {
    // P155
    let world = hooked("alice bob");
    claim(&world, "bob", json!({"claims": ["src"]}));
    file(world.path(), "src/a.rs", "x");
    git(world.path(), "add -A");
    let output = git_as(
        &world,
        world.path(),
        "alice",
        "commit -q --no-verify -m work",
    );
    assert!(output.status.success(), "{output:?}");
    world.wait("bob hears of it", || {
        world.run("who");
        world
            .inbox("bob")
            .iter()
            .any(|mail| mail["type"] == "status")
    });
    let mail = world.inbox("bob").pop().expect("mail");
    assert_contains!(mail["body"].to_string(), "src/a.rs belongs to bob");
    assert_eq!(
        mail["metadata"]["guard_bypassed"][0]["claim"]["subject"],
        "src"
    );
    // The variable passes this check only.
    executable(
        &world.path().join(".git/hooks/commit-msg"),
        "#!/bin/sh\necho own >&2\n",
    );
    file(world.path(), "src/b.rs", "x");
    git(world.path(), "add -A");
    let mut output = git_command_as(&world, world.path(), "alice", "commit -q -m work");
    let output = output
        .env("MAILBAG_GUARD", "off")
        .output()
        .expect("git runs");
    assert!(
        output.status.success() && output.stderr == b"own\n",
        "{output:?}"
    );
    world.wait("bob hears of it", || {
        world.run("who");
        world
            .inbox("bob")
            .iter()
            .filter(|mail| mail["type"] == "status")
            .count()
            == 2
    });
}

#[test]
fn a_claim_counts_in_every_worktree_and_in_a_submodule() {
    // P154
    let world = hooked("alice bob");
    let library = tempfile::tempdir().expect("a directory");
    super::repository(library.path());
    let url = library.path().to_str().expect("plain");
    git(
        world.path(),
        &[
            "-c",
            "protocol.file.allow=always",
            "submodule",
            "add",
            "-q",
            url,
            "vendor/lib",
        ],
    );
    let elsewhere = tempfile::tempdir().expect("a directory");
    let linked = elsewhere.path().join("linked");
    git(
        world.path(),
        &["worktree", "add", "-q", linked.to_str().expect("plain")],
    );
    claim(&world, "bob", json!({"claims": ["src", "vendor/**"]}));
    file(&linked, "src/a.rs", "x");
    git(&linked, "add -A");
    assert!(!commit(&world, &linked, "alice").0, "a linked worktree");
    let module = world.path().join("vendor/lib");
    let ran = world.run_with(&["install", "git", "--command", &program()], |command| {
        command.current_dir(&module);
    });
    ran.ok();
    file(&module, "new file", "x");
    git(&module, "add -A");
    let (done, said) = commit(&world, &module, "alice");
    assert!(
        !done && said.contains("vendor/lib/new file belongs to bob (claim vendor/**"),
        "{said}"
    );
}

#[test]
fn an_unknown_owner_passes_and_is_reported_each_time() {
    // P156
    let world = hooked("alice bob").settings("");
    claim(&world, "bob", json!({"claims": ["src"]}));
    for (name, damage) in UNREADABLE {
        let whole = world.text(name);
        world.write(name, damage);
        for file in ["src/a.rs", "src/b.rs"] {
            let (done, said) = change(&world, "alice", file);
            let report = "cannot check who owns the files of this commit: the commit passes, but";
            assert!(done && said.contains(report), "{damage}: {said}");
        }
        world.write(name, whole);
    }
    assert!(!change(&world, "alice", "src/a.rs").0);
    files::remove_dir(world.room(""));
    let passed = change(&world, "alice", "src/a.rs");
    assert_eq!(passed, (true, String::new()), "no room");
}

#[test]
fn a_damaged_claims_file_does_not_matter_and_a_log_that_cannot_be_read_passes() {
    // P156
    let world = hooked("alice bob");
    claim(&world, "bob", json!({"claims": ["src"]}));
    let claims = world.text("claims.json");
    world.write("claims.json", "{\"claims\": 7}");
    assert!(!change(&world, "alice", "src/a.rs").0, "the log says it");
    world.write("claims.json", claims);
    for name in std::fs::read_dir(world.room("log"))
        .expect("the log")
        .flatten()
    {
        files::write(name.path(), "no log\n");
    }
    assert!(change(&world, "alice", "src/b.rs").0);
    world.write("claims.json", "{\"claims\": 7}");
    assert!(change(&world, "alice", "src/c.rs").0);
}
