//! Findings about hooks that silently do not run.

use super::{codes, finding, says};
use crate::files;
use crate::world::World;
use serde_json::{Value, json};

/// The doctor's report in a separate home.
fn examined(world: &World) -> Value {
    let ran = world.run_with("doctor --json", |doctor| at_home(world, doctor));
    serde_json::from_str(&ran.out).expect("JSON")
}

fn at_home(world: &World, command: &mut assert_cmd::Command) {
    command.env("HOME", world.path().join("home"));
}

fn install(world: &World, client: &str) {
    world
        .run_with(&["install", client, "--agent", "alice"], |install| {
            at_home(world, install)
        })
        .ok();
}

fn project() -> World {
    let world = World::with("alice");
    files::make_dir(world.path().join("home"));
    files::make_dir(world.path().join(".git"));
    world
}

#[test]
fn doctor_reports_hooks_that_never_ran_and_the_last_run_of_each() {
    let world = project();
    assert!(codes(&examined(&world)).is_empty(), "{}", examined(&world));
    install(&world, "claude");
    says(
        &finding(&examined(&world), "hooks_never_ran"),
        "note",
        &["Claude Code", "have not run in this room yet"],
    );
    let input = json!({"hook_event_name": "Stop", "session_id": "s1"}).to_string();
    world.pipe("hook claude --as alice", input).ok();
    let found = finding(&examined(&world), "hooks_ran");
    says(
        &found,
        "note",
        &["hooks of Claude Code last ran in this room: Stop at 20"],
    );
    assert!(!codes(&examined(&world)).contains(&"hooks_never_ran".into()));
}

#[test]
fn doctor_reports_hooks_that_the_client_skips() {
    let world = project();
    install(&world, "codex");
    let found = finding(&examined(&world), "hooks_not_trusted");
    says(
        &found,
        "warning",
        &["Codex silently skips our hooks", "/hooks"],
    );
}

#[test]
fn doctor_reports_the_error_of_a_hook() {
    let world = project();
    let input = json!({"hook_event_name": "SessionStart", "session_id": "s1", "source": "startup"})
        .to_string();
    world.pipe("hook claude --as alise", input).ok();
    let found = finding(&examined(&world), "hook_complained");
    says(
        &found,
        "warning",
        &[
            "the Claude Code hook SessionStart failed",
            "no agent is called \"alise\"",
        ],
    );
}

#[test]
fn an_unreadable_input_of_a_hook_is_reported_until_a_later_one_is_readable() {
    let world = project();
    world.pipe("hook claude --as alice", "no JSON").ok();
    says(
        &finding(&examined(&world), "hook_complained"),
        "warning",
        &["the Claude Code hook unknown failed"],
    );
    let input = json!({"hook_event_name": "Stop", "session_id": "s1"}).to_string();
    world.pipe("hook claude --as alice", input).ok();
    let report = examined(&world);
    assert!(!codes(&report).contains(&"hook_complained".to_owned()));
}

#[test]
fn hooks_that_call_a_program_that_is_gone_are_a_problem() {
    let world = project();
    install(&world, "gemini");
    let settings = world.path().join(".gemini/settings.json");
    let text = files::read_text(&settings);
    let program = assert_cmd::cargo::cargo_bin!("mailbag")
        .to_string_lossy()
        .into_owned();
    assert!(text.contains(&program), "{text}");
    files::write(&settings, text.replace(&program, "/gone/mailbag"));
    says(
        &finding(&examined(&world), "hook_without_program"),
        "problem",
        &["the hooks of Gemini CLI call /gone/mailbag"],
    );
}

#[test]
fn doctor_reports_a_failed_wake() {
    let world = project();
    let trouble = json!({"client": "wake", "event": "alice", "at": "2026-01-05T10:00:00Z", "problem": "codex queue failed"});
    world.write("sessions/fired/wake.alice.json", trouble.to_string());
    says(
        &finding(&examined(&world), "waking_failed"),
        "warning",
        &["waking alice failed", "codex queue failed"],
    );
}
