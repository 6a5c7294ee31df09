//! The check before an edit, in the hooks of the clients, by their recorded inputs.

use super::{UNREADABLE, claim, file, project, repository};
use crate::approvals::{run_at, time};
use crate::files;
use crate::hooks::recorded;
use crate::world::{World, lossy, parse_json};
use serde_json::{Value, json};
use std::path::Path;

/// The recorded edits: the client, the event with its tool, and the changed file in the project.
const EDITS: [(&str, &str, &str); 16] = [
    ("claude", "PreToolUse-Edit", "src/a.txt"),
    ("claude", "PreToolUse-Write", "src/a.txt"),
    ("claude", "PreToolUse-NotebookEdit", "b.ipynb"),
    ("codex", "PreToolUse-apply_patch", "src/a.txt"),
    ("gemini", "BeforeTool-write_file", "a.txt"),
    ("gemini", "BeforeTool-replace", "a.txt"),
    ("qwen", "PreToolUse-write_file", "a.txt"),
    ("qwen", "PreToolUse-edit", "a.txt"),
    ("opencode", "PreToolUse-write", "a.txt"),
    ("opencode", "PreToolUse-edit", "a.txt"),
    ("kimi", "PreToolUse-Write", "a.txt"),
    ("kimi", "PreToolUse-Edit", "a.txt"),
    ("copilot", "PreToolUse-Write", "a.txt"),
    ("copilot", "PreToolUse-Write-helper", "b.txt"),
    ("copilot", "PreToolUse-Edit", "a.txt"),
    ("copilot", "PreToolUse-Edit-patch", "src/a.txt"),
];

/// The hook's output for an agent at a recorded edit in this directory; without a name, for an
/// unidentified session.
fn edit_at(world: &World, at: &Path, agent: &str, client: &str, event: &str) -> String {
    let input = recorded(client, event).replace("/home/dev/project", at.to_str().expect("plain"));
    let mut hook = world.program(&["hook", client]);
    if !agent.is_empty() {
        hook.env("MAILBAG_AGENT", agent);
    }
    let output = hook.write_stdin(input).output().expect("the program runs");
    assert_eq!(output.status.code(), Some(0), "{client} {event}");
    lossy(&output.stdout)
}

fn edit(world: &World, agent: &str, client: &str, event: &str) -> String {
    edit_at(world, world.path(), agent, client, event)
}

/// The output of a client's hook without a message.
fn nothing(client: &str) -> &'static str {
    if matches!(client, "claude" | "qwen" | "opencode" | "copilot" | "kimi") {
        ""
    } else {
        "{}\n"
    }
}

/// The reason of a denial, in the client's own form.
#[track_caller]
fn reason(client: &str, event: &str, said: &str) -> String {
    let answer: Value =
        serde_json::from_str(said).unwrap_or_else(|e| panic!("{client} {event}: {e}: {said}"));
    let expected = |reason: &Value| match client {
        "gemini" => json!({"decision": "deny", "reason": reason}),
        "opencode" => json!({"text": reason, "deny": true}),
        "copilot" => json!({"permissionDecision": "deny", "permissionDecisionReason": reason}),
        _ => json!({"hookSpecificOutput": {
            "hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": reason
        }}),
    };
    let reason = answer
        .get("reason")
        .or(answer.get("text"))
        .or(answer.get("permissionDecisionReason"))
        .unwrap_or(&answer["hookSpecificOutput"]["permissionDecisionReason"])
        .clone();
    assert_eq!(answer, expected(&reason), "{client} {event}");
    reason.as_str().expect("a text").to_owned()
}

#[test]
fn an_edit_of_another_agents_file_is_stopped_in_every_client_and_the_model_gets_owner_and_reason() {
    // P157
    let world = project("alice bob");
    let claims = ["src/**", "*.ipynb", "a.txt", "b.txt"];
    claim(
        &world,
        "bob",
        json!({"claims": claims, "subject": "the \"login\""}),
    );
    for (client, event, path) in EDITS {
        let said = reason(client, event, &edit(&world, "alice", client, event));
        assert!(
            said.starts_with(&format!("mailbag: {path} belongs to bob (claim ")),
            "{said}"
        );
        assert_contains!(
            said,
            "“the \"login\"”). Do not change it; ask the owner with `mailbag send bob "
        );
        assert_eq!(
            edit(&world, "bob", client, event),
            nothing(client),
            "the owner"
        );
        // Each client has a session of its own.
        files::remove_dir(world.room("sessions"));
    }
    for (client, event) in [
        ("claude", "PreToolUse-Bash"),
        ("codex", "PreToolUse-Bash"),
        ("gemini", "BeforeTool-run_shell_command"),
    ] {
        assert_eq!(
            edit(&world, "alice", client, event),
            nothing(client),
            "no edit"
        );
    }
}

#[test]
fn a_free_file_and_a_file_outside_any_repository_pass_silently() {
    // P157
    let world = project("alice bob");
    claim(&world, "bob", json!({"claims": ["docs"]}));
    let outside = tempfile::tempdir().expect("a directory");
    for (client, event, _) in EDITS {
        assert_eq!(edit(&world, "alice", client, event), nothing(client));
        assert_eq!(
            edit_at(&world, outside.path(), "alice", client, event),
            nothing(client)
        );
    }
}

#[test]
fn a_sub_agent_edits_for_its_session() {
    // P157
    let world = project("alice bob");
    claim(&world, "bob", json!({"claims": ["src"]}));
    let at = world.path().to_str().expect("plain");
    let input = recorded("claude", "PreToolUse-Edit").replace("/home/dev/project", at);
    let input = input.replacen(
        "{",
        "{\"agent_id\":\"a1\",\"agent_type\":\"general-purpose\",",
        1,
    );
    let hook = world
        .program("hook claude")
        .env("MAILBAG_AGENT", "alice")
        .write_stdin(input)
        .output()
        .expect("it runs");
    assert_contains!(lossy(&hook.stdout), "\"deny\""; "{hook:?}");
}

#[test]
fn the_same_file_is_found_in_a_worktree_and_behind_a_link() {
    // P157
    let world = project("alice bob");
    file(world.path(), "real/a.txt", "");
    files::link("real", world.path().join("src"));
    claim(&world, "bob", json!({"claims": ["real/a.txt"]}));
    reason(
        "claude",
        "",
        &edit(&world, "alice", "claude", "PreToolUse-Edit"),
    );
    let world = project("alice bob");
    claim(&world, "bob", json!({"claims": ["src"]}));
    super::git(world.path(), "worktree add -q linked");
    reason(
        "claude",
        "",
        &edit_at(
            &world,
            &world.path().join("linked"),
            "alice",
            "claude",
            "PreToolUse-Write",
        ),
    );
}

#[test]
fn an_unidentified_session_is_warned_once_and_passes() {
    // P157
    let world = project("alice bob");
    claim(
        &world,
        "bob",
        json!({"claims": ["src", "a.txt", "b.ipynb"]}),
    );
    for client in ["claude", "codex", "gemini", "qwen", "copilot"] {
        let (_, event, _) = *EDITS
            .iter()
            .find(|(one, ..)| *one == client)
            .expect("it edits");
        let said = parse_json(edit(&world, "", client, event));
        let text = said
            .get("additionalContext")
            .unwrap_or(&said["hookSpecificOutput"]["additionalContext"]);
        assert_contains!(
            text.as_str().expect("a text"),
            "belongs to bob",
            "You are not stopped"
        );
        assert_eq!(edit(&world, "", client, event), nothing(client), "again");
    }
}

#[test]
fn a_second_session_under_one_name_is_nobody() {
    // P157
    let world = project("alice bob");
    claim(&world, "bob", json!({"claims": ["src"]}));
    // The recorded session differs from the session that holds bob.
    let joined = world.run_with("join bob --session other", |_| {});
    joined.ok();
    assert_contains!(
        edit(&world, "bob", "claude", "PreToolUse-Edit"),
        "belongs to bob",
        "additionalContext"
    );
}

#[test]
fn the_setting_and_the_variable_switch_it_off() {
    // P157
    let world = project("alice bob").settings("guard = \"warn\"\n");
    claim(&world, "bob", json!({"claims": ["src"]}));
    assert_contains!(
        edit(&world, "alice", "claude", "PreToolUse-Edit"),
        "You are not stopped"
    );
    let world = world.settings("guard = \"off\"\n");
    assert_eq!(edit(&world, "alice", "claude", "PreToolUse-Write"), "");
    let world = world.settings("");
    let path = world.path().join("src/a.txt");
    let said = edit_with(&world, "alice", &path, &[("MAILBAG_GUARD", "off")]);
    assert_eq!(said, "");
}

#[test]
fn an_unknown_owner_passes_and_is_reported_each_time() {
    // P156
    let world = project("alice bob").settings("");
    claim(&world, "bob", json!({"claims": ["src"]}));
    for (name, damage) in UNREADABLE {
        let whole = world.text(name);
        world.write(name, damage);
        for _ in 0..2 {
            let said = edit(&world, "alice", "claude", "PreToolUse-Edit");
            assert_contains!(said, "additionalContext", "cannot check who owns the files"; "{damage}");
        }
        world.write(name, whole);
    }
    assert_contains!(
        edit(&world, "alice", "claude", "PreToolUse-Edit"),
        "belongs to bob"
    );
    let world = World::empty();
    repository(world.path());
    assert_eq!(
        edit(&world, "alice", "claude", "PreToolUse-Edit"),
        "",
        "no room"
    );
}

/// The output of Claude Code's hook for an agent in its own session that edits a file at this time
/// of one day.
fn edit_file(world: &World, agent: &str, time: &str, path: &str) -> String {
    let at = world.path().to_str().expect("plain");
    let input = recorded("claude", "PreToolUse-Edit")
        .replace("/home/dev/project", at)
        .replace("src/a.txt", path);
    let mut event: Value = serde_json::from_str(&input).expect("JSON");
    event["session_id"] = json!(format!("session-{agent}"));
    let mut hook = world.program("hook claude");
    hook.env("MAILBAG_AGENT", agent)
        .env("MAILBAG_TEST_NOW", format!("2026-01-05T{time}Z"));
    let output = hook
        .write_stdin(event.to_string())
        .output()
        .expect("the program runs");
    lossy(&output.stdout)
}

/// As [`edit_file`] for this path and an agent, with more variables, in the recorded session.
fn edit_with(world: &World, agent: &str, path: &Path, variables: &[(&str, &str)]) -> String {
    let input = recorded("claude", "PreToolUse-Edit")
        .replace("/home/dev/project/src/a.txt", path.to_str().expect("plain"));
    let mut hook = world.program("hook claude");
    hook.env("MAILBAG_AGENT", agent)
        .envs(variables.iter().copied());
    let output = hook.write_stdin(input).output();
    lossy(output.expect("the program runs").stdout)
}

/// The notice that an agent got, once it is there.
#[track_caller]
fn notice(world: &World, agent: &str) -> String {
    let mut body = None;
    world.wait("it arrives", || {
        let mail = world
            .inbox(agent)
            .into_iter()
            .find(|mail| mail["type"] == "notification");
        body = mail.and_then(|mail| Some(mail["body"].as_str()?.to_owned()));
        body.is_some()
    });
    body.expect("it was awaited")
}

#[test]
fn two_agents_that_edit_one_file_within_30_seconds_are_notified_once_an_hour() {
    // P158
    let world = project("alice bob carol");
    assert_eq!(edit_file(&world, "alice", "10:00:00", "src/a.rs"), "");
    assert_eq!(
        edit_file(&world, "bob", "10:00:05", "src/b.rs"),
        "",
        "another file"
    );
    let said = edit_file(&world, "bob", "10:00:20", "src/a.rs");
    let text = "you and alice edited src/a.rs within 30 seconds, and no agent has claimed it. Agree with alice, or run \
                `mailbag claim src/a.rs`";
    assert_contains!(said, &format!("\"additionalContext\":\"mailbag: {text}.\""));
    assert_eq!(notice(&world, "alice"), text.replace("alice", "bob"));
    assert_eq!(
        edit_file(&world, "alice", "10:00:30", "src/a.rs"),
        "",
        "the pair was told"
    );
    assert_contains!(edit_file(&world, "carol", "10:00:40", "src/a.rs"), "you and alice edited"; "another pair");
    assert_eq!(edit_file(&world, "bob", "10:02:00", "src/c.rs"), "");
    assert_eq!(
        edit_file(&world, "alice", "10:02:31", "src/c.rs"),
        "",
        "31 seconds later"
    );
    assert_eq!(edit_file(&world, "alice", "11:05:00", "src/a.rs"), "");
    assert_contains!(edit_file(&world, "bob", "11:05:01", "src/a.rs"), "you and alice edited"; "an hour later");
}

#[test]
fn a_claimed_file_needs_no_notice() {
    // P158
    let world = project("alice bob");
    claim(&world, "bob", json!({"claims": ["src"]}));
    assert_eq!(edit_file(&world, "bob", "10:00:00", "src/a.rs"), "");
    let said = edit_file(&world, "alice", "10:00:05", "src/a.rs");
    assert!(
        said.contains("belongs to bob") && !said.contains("no agent has claimed"),
        "{said}"
    );
}

#[test]
fn other_spellings_of_a_path_are_the_same_file() {
    // P157
    let world = project("alice bob");
    file(world.path(), "src/a.txt", "x");
    file(world.path(), "docs/b.txt", "x");
    files::link(world.path(), world.path().join("docs/top"));
    claim(&world, "bob", json!({"claims": ["src"]}));
    for path in [
        "docs/../src/a.txt",
        "./src//a.txt",
        "SRC/A.txt",
        "docs/top/src/a.txt",
        "not/there/../../src/a.txt",
    ] {
        let said = edit_with(&world, "alice", &world.path().join(path), &[]);
        assert_contains!(said, "belongs to bob"; "{path}");
    }
}

#[test]
fn a_bind_mount_of_another_agents_directory_is_that_directory() {
    // P157
    let may = std::process::Command::new("unshare")
        .args(["--mount", "true"])
        .output();
    if !may.is_ok_and(|output| output.status.success()) {
        return;
    }
    let world = project("alice bob");
    file(world.path(), "src/deep/a.txt", "x");
    let outside = tempfile::tempdir().expect("a directory");
    claim(&world, "bob", json!({"claims": ["src/**"]}));
    for part in ["src", "src/deep", ""] {
        let below = Path::new("src/deep/a.txt")
            .strip_prefix(part)
            .expect("below");
        let path = outside.path().join(below);
        let input = recorded("claude", "PreToolUse-Edit")
            .replace("/home/dev/project/src/a.txt", path.to_str().expect("plain"))
            .replace("/home/dev/project", world.path().to_str().expect("plain"));
        let script = "mount --bind \"$1\" \"$2\" && exec \"$3\" hook claude";
        let mut command = std::process::Command::new("unshare");
        command
            .args(["--mount", "sh", "-c", script, "sh"])
            .arg(world.path().join(part))
            .arg(outside.path());
        command
            .arg(super::program())
            .current_dir(world.path())
            .envs(world.bare("").get_envs().filter_map(|(k, v)| Some((k, v?))));
        let input = std::fs::File::open(world.write("../input.json", input)).expect("a file");
        let command = command.env("MAILBAG_AGENT", "alice").stdin(input);
        let output = command.output().expect("it ends");
        let said = lossy(&output.stdout);
        assert!(
            said.contains("belongs to bob"),
            "{part:?}: {said} {}",
            lossy(&output.stderr)
        );
    }
}

#[test]
fn a_claim_that_lapsed_without_a_router_stops_no_edit() {
    // P157
    let world = project("alice bob");
    run_at(&world, 0, "claim src/a.txt --lease 1m --as alice");
    let path = world.path().join("src/a.txt");
    let edit = |minutes| {
        let now = time(minutes);
        edit_with(&world, "bob", &path, &[("MAILBAG_TEST_NOW", &*now)])
    };
    assert_contains!(edit(0), "src/a.txt belongs to alice");
    assert_eq!(edit(10), "");
}
