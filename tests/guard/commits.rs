//! Commits as activity: by the hook of git, and by an agent's name in the subject line.

use super::{executable, file, git, git_as, git_command_as, program, project, repository};
use crate::approvals::{run_at, time};
use crate::world::{Words, World, lossy};
use serde_json::{Value, json};

/// A repository with a room and with our hooks.
pub(super) fn hooked(agents: &(impl Words + ?Sized)) -> World {
    let world = project(agents);
    world.ok(&["install", "git", "--command", &program()]);
    world
}

/// Commits a file as an agent, and returns the output of git.
fn commit(world: &World, agent: &str, name: &str) -> String {
    file(world.path(), name, name);
    git(world.path(), &["add", name]);
    let output = git_as(world, world.path(), agent, &["commit", "-q", "-m", name]);
    assert!(output.status.success(), "{output:?}");
    lossy(&output.stderr)
}

fn head(world: &World) -> String {
    git(world.path(), "rev-parse HEAD").trim().to_owned()
}

/// The last commit of an agent, as `who` shows it.
fn shown(world: &World, agent: &str) -> Value {
    // The hook lets another process deliver its report.
    world.wait("every report is delivered", || {
        world.run("who");
        world.names(&format!("outbox/{agent}")).is_empty() && world.names("spool/claim").is_empty()
    });
    let who = world.json("who");
    let agents = who["agents"].as_array().expect("agents");
    agents
        .iter()
        .find(|one| one["id"] == agent)
        .expect("it is registered")["commit"]
        .clone()
}

#[test]
fn the_hook_records_a_commit_as_activity_without_sending_mail() {
    // P152
    let world = hooked("alice bob");
    world.ok("send bob later --type blocked --as alice");
    assert_eq!(commit(&world, "alice", "one.txt"), "");
    let commit = shown(&world, "alice");
    assert_fields!(commit, id: head(&world), branch: "main");
    assert_contains!(
        world.ok("who"),
        &format!(
            "blocked: later (just now)  commit {} on main (just now)",
            &head(&world)[..10]
        )
    );
    assert_eq!(
        (world.inbox("bob").len(), world.inbox("human").len()),
        (1, 0)
    );
    assert_contains!(
        world.ok("list --channel commits --json"),
        &format!("commit {} on main: one.txt", &head(&world)[..10])
    );
    world.verify();
    // It survives a lost checkpoint.
    let _ = std::fs::remove_file(world.room("spool/checkpoint"));
    assert_eq!(shown(&world, "alice"), commit);
}

#[test]
fn a_report_that_an_agent_drops_by_hand_counts_alike() {
    // P152
    let world = World::with("alice");
    let id = "0123456789abcdef0123456789abcdef01234567";
    let report = json!({"type": "status", "subject": "a commit", "metadata": {"commit": id, "branch": "main"}});
    world.mail("alice", "one.json", &report);
    let commit = shown(&world, "alice");
    assert_fields!(commit, id: id, branch: "main");
    for no_commit in ["abc", "g123456789abcdef0123456789abcdef01234567", ""] {
        let report =
            json!({"type": "status", "subject": no_commit, "metadata": {"commit": no_commit}});
        world.mail("alice", &format!("{}.json", no_commit.len()), &report);
    }
    assert_eq!(shown(&world, "alice")["id"], id);
}

#[test]
fn the_session_of_a_worktree_is_the_default_committer() {
    // P152
    let world = hooked("alice bob");
    let linked = world.path().join("linked");
    git(world.path(), "worktree add -q linked");
    for (agent, at) in [("alice", world.path()), ("bob", linked.as_path())] {
        let ran = world.run_with(
            &["join", agent, "--session", &format!("s-{agent}")],
            |command| {
                command.current_dir(at);
            },
        );
        ran.ok();
    }
    file(&linked, "two.txt", "");
    git(&linked, "add two.txt");
    let output = git_as(&world, &linked, "", "commit -q -m two");
    assert!(output.status.success(), "{output:?}");
    assert_eq!(
        (
            shown(&world, "bob")["branch"].clone(),
            shown(&world, "alice")
        ),
        (json!("linked"), Value::Null)
    );
    // A second session in the same worktree makes it ambiguous.
    let ran = world.run_with("join bob --session s-bob --take-over", |_| {});
    ran.ok();
    commit(&world, "", "three.txt");
    assert_eq!(shown(&world, "alice"), Value::Null);
}

#[test]
fn the_commits_of_a_rebase_are_not_new() {
    // P152
    let world = hooked("alice");
    git(world.path(), "checkout -q -b feature");
    commit(&world, "alice", "one.txt");
    git(world.path(), "checkout -q main");
    commit(&world, "alice", "two.txt");
    git(world.path(), "checkout -q feature");
    let recorded = || {
        world
            .items("list --type status")
            .as_array()
            .map_or(0, Vec::len)
    };
    // The hook lets another process deliver its report.
    let both_are_there = || world.run("who").code == 0 && recorded() == 2;
    world.wait("both commits are recorded", both_are_there);
    let output = git_as(&world, world.path(), "alice", "rebase -q main");
    assert!(output.status.success(), "{output:?}");
    assert!(both_are_there());
    assert_eq!(world.names("outbox/alice"), [""; 0], "no report waits");
}

#[test]
fn a_name_in_the_subject_line_informs_who_without_any_hook() {
    // P153
    let world = project("alice bob");
    file(world.path(), "one.txt", "");
    git(world.path(), "add .");
    git(world.path(), "commit -q -m '[alice] one'");
    let first = head(&world);
    git(world.path(), "checkout -q -b other");
    git(
        world.path(),
        "commit -q --allow-empty -m '[carol] by nobody registered'",
    );
    git(
        world.path(),
        "commit -q --allow-empty -m 'alice: no brackets'",
    );
    git(world.path(), "checkout -q main");
    assert_eq!(
        (shown(&world, "alice")["id"].clone(), shown(&world, "bob")),
        (json!(first), Value::Null)
    );
    let who = world.json("who");
    let alice = who["agents"]
        .as_array()
        .expect("agents")
        .iter()
        .find(|one| one["id"] == "alice")
        .expect("alice");
    assert_eq!(
        (&alice["presence"], alice.get("last_seen")),
        (&json!("offline"), None),
        "it is no sign of life"
    );
}

#[test]
fn who_ignores_a_missing_failing_or_hanging_git() {
    // P153
    let world = project("alice");
    git(world.path(), "commit -q --allow-empty -m '[alice] one'");
    for git in [
        "",
        "exit 1",
        "exec sleep 60",
        "yes",
        "printf 'x\\0\\n\\n[alice]'",
    ] {
        let bin = tempfile::tempdir().expect("a directory");
        if !git.is_empty() {
            executable(
                &bin.path().join("git"),
                &format!("#!/bin/sh\nPATH=/bin:/usr/bin\n{git}\n"),
            );
        }
        let ran = world.run_env("who", "PATH", bin.path());
        let said = ran.ok();
        assert!(
            said.contains("alice") && !said.contains("commit"),
            "{git}: {said}"
        );
    }
}

#[test]
fn a_commit_in_another_repository_names_it() {
    // P152
    let world = World::with("alice");
    let web = world.path().join("web");
    repository(&web);
    world
        .run_with(&["install", "git", "--command", &program()], |command| {
            command.current_dir(&web);
        })
        .ok();
    file(&web, "one.txt", "");
    git(&web, "add .");
    assert!(
        git_as(&world, &web, "alice", "commit -q -m one")
            .status
            .success()
    );
    world.json("who");
    assert_contains!(world.ok("list --type status --json"), "commit ");
    assert_eq!(shown(&world, "alice")["branch"], "main");
}

#[test]
fn a_claim_that_lapsed_without_a_router_stops_no_commit() {
    // P154
    let world = hooked("alice bob");
    run_at(&world, 0, "claim a.txt --lease 1m --as alice");
    file(world.path(), "a.txt", "a");
    git(world.path(), "add a.txt");
    let commit = |minutes| {
        git_command_as(&world, world.path(), "bob", "commit -q -m Change")
            .env("MAILBAG_TEST_NOW", time(minutes))
            .output()
            .expect("git runs")
    };
    let stopped = commit(0);
    assert_contains!(lossy(&stopped.stderr), "a.txt belongs to alice");
    assert!(!stopped.status.success(), "{stopped:?}");
    let passed = commit(10);
    assert!(passed.status.success(), "{passed:?}");
    assert_eq!(run_at(&world, 10, "claims a.txt --as bob"), "a.txt: free\n");
}
