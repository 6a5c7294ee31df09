//! A session gets its context at its start, if the settings say so.

use super::room;
use crate::files;
use crate::town::Town;
use serde_json::{Value, json};
use std::fs;

/// The hook's output for alice at an event of her session.
fn fire(town: &Town, client: &str, event: &str, source: &str) -> String {
    let mut hook = town.program(&format!("hook {client}"));
    let event = json!({"hook_event_name": event, "session_id": "s1", "source": source, "prompt": "x", "cwd": town.path()});
    let output = hook
        .env("MAILBAG_AGENT", "alice")
        .write_stdin(event.to_string())
        .output()
        .expect("the program runs");
    let Ok(told) = serde_json::from_slice::<Value>(&output.stdout) else {
        return String::new();
    };
    let context = told
        .get("additionalContext")
        .unwrap_or(&told["hookSpecificOutput"]["additionalContext"]);
    context.as_str().unwrap_or_default().to_owned()
}

fn settings(town: &Town, text: &str) {
    let before = fs::read_to_string(town.room("settings.toml")).unwrap_or_default();
    town.write("settings.toml", format!("{before}{text}"));
}

#[test]
fn each_client_gets_it_once_at_the_start_and_not_without_the_setting() {
    // P175
    for client in ["claude", "codex", "gemini", "qwen", "copilot"] {
        let told = fire(&room(), client, "SessionStart", "startup");
        assert!(
            told.contains("unread") && !told.contains("context of alice"),
            "{client}: {told}"
        );
        let town = room();
        settings(&town, "brief = \"context\"\n");
        let told = fire(&town, client, "SessionStart", "startup");
        let (mail, context) = told
            .split_once("mailbag: context of alice")
            .unwrap_or_else(|| panic!("{client}: {told}"));
        assert_contains!(mail, "you own src/web", "unread"; "mail and claims first: {told}");
        assert!(
            context.contains("Sign in with a passkey") && !context.contains("you own"),
            "{client}: {told}"
        );
        assert_eq!(fire(&town, client, "UserPromptSubmit", ""), "", "{client}");
        assert!(
            !fire(&town, client, "SessionStart", "resume").contains("context of alice"),
            "{client}"
        );
    }
}

#[test]
fn the_context_has_its_own_budget_beside_the_mail() {
    // P175
    let town = room();
    for n in 0..80 {
        town.write(&format!("context/{n}.md"), "word ".repeat(60));
        town.mail(
            "bob",
            &format!("x{n}.json"),
            json!({"to": "alice", "body": format!("{n} {}", "word ".repeat(60))}),
        );
    }
    town.pass_here();
    settings(&town, "brief = \"context\"\n");
    let told = fire(&town, "claude", "SessionStart", "startup");
    let at = told.find("mailbag: context of alice").expect("the context");
    assert!(told[at..].len().div_ceil(4) <= 1000, "{told}");
    assert!(
        told[..at].chars().count() <= 1500 && told.len() < 10_000,
        "{told}"
    );
}

#[test]
fn a_context_that_cannot_be_collected_hides_no_mail() {
    // P175
    let town = room();
    settings(&town, "brief = \"context\"\n");
    files::write(town.room("charter.md"), [0xff; 100]);
    files::remove_dir(town.room("context"));
    files::write(town.room("context"), "a file");
    assert_contains!(
        fire(&town, "claude", "SessionStart", "startup"),
        "unread",
        "Which port?"
    );
}
