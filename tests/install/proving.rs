//! The hook is run once when it is installed, and judged.

use super::{Desk, script};
use crate::files;
use crate::world::parse_json;
use serde_json::Value;

const CLIENTS: [&str; 5] = ["claude", "codex", "gemini", "qwen", "copilot"];

#[test]
fn install_runs_the_hook_with_a_session_start_and_marks_the_run_as_a_test() {
    let desk = Desk::new();
    let text = "cat > heard.json\necho \"$*|$MAILBAG_HOOK_TRIED\" > called.txt\n";
    script(desk.world.path(), text);
    for client in CLIENTS {
        let report = desk.json(&["install", client, "--agent", "bob"]);
        assert_eq!(report["hook_test"]["ok"], true, "{report:#}");
        assert_eq!(
            report["hook_test"]["command"],
            format!("{} hook {client} --as bob", desk.program)
        );
        assert_eq!(
            desk.text("called.txt"),
            format!("hook {client} --as bob|1\n")
        );
        let heard = parse_json(desk.text("heard.json"));
        assert_fields!(heard, hook_event_name: "SessionStart", source: "startup");
        assert!(heard["session_id"].is_string() && heard["cwd"].is_string());
        files::remove_file(desk.path("heard.json"));
    }
}

#[test]
fn a_path_with_blanks_and_quotes_is_called_all_the_same() {
    let mut desk = Desk::new();
    desk.program = super::stand_in(&desk.path("it's a place"));
    for client in CLIENTS {
        assert_eq!(desk.json(&["install", client])["hook_test"]["ok"], true);
        assert_eq!(
            desk.json(&["install", client])["files"],
            serde_json::json!([]),
            "{client} knows its own"
        );
        let status = desk.json(&["install", client, "--status", "--project"]);
        assert_eq!(status["clients"][0]["executable"], desk.program.as_str());
    }
    desk.ok("uninstall codex");
    assert!(!desk.is_there(".codex"));
}

#[test]
fn install_reports_a_hook_that_fails_or_prints_invalid_output() {
    let desk = Desk::new();
    for (does, trouble) in [
        (
            "echo broken >&2; exit 3",
            "the hook failed with exit status: 3: broken",
        ),
        ("echo hello", "did not print JSON"),
        ("echo '[]'", "not an object"),
        ("echo '{\"note\": 1}'", "the unknown field \"note\""),
        (
            "echo '{\"hookSpecificOutput\":{\"hookEventName\":\"Stop\"}}'",
            "is for the event \"Stop\"",
        ),
        (
            "echo '{\"hookSpecificOutput\":{\"hookEventName\":\"SessionStart\",\"additionalContext\":1}}'",
            "not a string",
        ),
    ] {
        script(desk.world.path(), does);
        for client in CLIENTS {
            let ran = desk.run(&["install", client, "--json"]);
            assert_eq!(ran.code, 1, "{ran:?}");
            let report = parse_json(&ran.out);
            let test = &report["hook_test"];
            assert_contains!(test["problem"].as_str().expect("a text"), trouble; "{client} {does}");
            assert_eq!(test["ok"], false);
        }
    }
}

#[test]
fn a_hook_that_hangs_is_ended() {
    let mut desk = Desk::new();
    desk.program = script(desk.world.path(), "exec tail -f /dev/null");
    let ran = desk.run("install claude");
    assert!(
        ran.code == 1 && ran.out.contains("the hook took longer than 5 seconds"),
        "{ran:?}"
    );
}

#[test]
fn install_reports_a_missing_program() {
    let mut desk = Desk::new();
    desk.program = desk.path("nowhere/mailbag").display().to_string();
    let ran = desk.run("install claude");
    assert!(
        ran.code == 1 && ran.out.contains("does not exist or is not executable"),
        "{ran:?}"
    );
    let status = desk.json("install --status");
    assert_fields!(status["clients"][0], executable: Value::Null, hooks: "installed");
}

#[test]
fn hooks_are_silent_and_succeed_if_the_program_is_missing() {
    let desk = Desk::new();
    for client in CLIENTS {
        let tried = desk.ok(&["install", client]);
        assert_contains!(tried, &format!("hook {client}`: passed in "), "2 unread");
        let of_client = if client == "codex" {
            "codex-hooks.json"
        } else {
            client
        };
        let settings = super::meaning(&desk.text(super::place(of_client)));
        let events = settings["hooks"].as_object().expect("hooks").values();
        for hook in events.flat_map(|groups| groups[0]["hooks"].as_array().expect("hooks")) {
            let line = hook["command"]
                .as_str()
                .expect("a command")
                .replace(&desk.program, "/nowhere/mailbag");
            for shell in ["sh", "bash"] {
                let ran = std::process::Command::new(shell)
                    .args(["-c", &line])
                    .output()
                    .expect("a shell");
                assert_eq!(
                    (ran.status.code(), ran.stdout.len(), ran.stderr.len()),
                    (Some(0), 0, 0),
                    "{line}"
                );
            }
        }
    }
}

#[test]
fn the_real_hook_passes_the_test_run_and_changes_nothing() {
    let desk = Desk::new();
    desk.world.send("human", "bob", "are you there?");
    let before = desk.world.everything();
    for client in CLIENTS {
        let ran = super::run_at_home(
            &desk.world,
            &["install", client, "--agent", "bob", "--json"],
        );
        let report: Value =
            serde_json::from_str(&ran.out).unwrap_or_else(|e| panic!("{e}: {ran:?}"));
        assert_eq!(
            (ran.code, &report["hook_test"]["ok"]),
            (0, &Value::Bool(true)),
            "{report:#}"
        );
        let said = parse_json(report["hook_test"]["output"].as_str().expect("a text"));
        let text = said
            .get("additionalContext")
            .unwrap_or(&said["hookSpecificOutput"]["additionalContext"]);
        let text = text.as_str().expect("a text");
        assert!(text.starts_with("mailbag: found the room "), "{text}");
        super::run_at_home(&desk.world, &["uninstall", client]).ok();
        assert!(
            desk.world.everything() == before,
            "{client}: a session was bound, or mail announced"
        );
    }
}

#[test]
fn a_hook_that_is_tried_tells_why_it_would_be_silent() {
    let desk = Desk::new();
    desk.write(".mailbag/registry.json", "{");
    let report = super::run_at_home(&desk.world, &["install", "claude", "--json"]);
    let report = parse_json(&report.out);
    assert_contains!(report["hook_test"]["problem"].as_str().expect("a text"), "registry.json"; "{report:#}");
}

#[test]
fn hooks_call_the_program_by_name_if_the_path_finds_it() {
    let desk = Desk::new();
    let program = assert_cmd::cargo::cargo_bin!("mailbag")
        .canonicalize()
        .expect("it is built");
    let path = std::env::var("PATH").expect("a PATH");
    let own = format!(
        "{}:{path}",
        program.parent().expect("a directory").display()
    );
    for (path, called) in [
        (own.as_str(), "mailbag"),
        ("/usr/bin:/bin", program.to_str().expect("a plain path")),
    ] {
        let ran = desk.world.run_with("install codex --dry-run", |command| {
            super::at_home(&desk.world)(command);
            command.env("PATH", path);
        });
        assert_contains!(ran.out, &format!(
                "\"command\": \"{}\"",
                super::line("codex", called, "hook codex")
            ); "{ran:?}");
        assert_eq!(
            ran.err.contains("the PATH does not lead to this mailbag"),
            called != "mailbag",
            "{ran:?}"
        );
    }
}
