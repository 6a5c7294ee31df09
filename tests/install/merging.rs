//! Installation into settings of every kind, and removal.

use super::{Desk, backups, client, commands, fixtures, meaning, place, read_fixture};
use serde_json::Value;

const CLAUDE: [&str; 7] = [
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolBatch",
    "Stop",
    "StopFailure",
    "SessionEnd",
];
const CODEX: [&str; 5] = [
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "Stop",
];
const QWEN: [&str; 7] = [
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "Stop",
    "StopFailure",
    "SessionEnd",
];
const COPILOT: [&str; 6] = [
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "Stop",
    "SessionEnd",
];
const GEMINI: [&str; 6] = [
    "SessionStart",
    "BeforeAgent",
    "BeforeTool",
    "AfterTool",
    "AfterAgent",
    "SessionEnd",
];

/// The events of a client, and how it calls the hook.
fn called(client: &str, program: &str) -> (&'static [&'static str], String) {
    let events: &[&str] = match client {
        "claude" => &CLAUDE,
        "codex" => &CODEX,
        "qwen" => &QWEN,
        "copilot" => &COPILOT,
        _ => &GEMINI,
    };
    (
        events,
        super::line(client, program, &format!("hook {client}")),
    )
}

/// Checks that the person's settings are unchanged apart from mailbag's entries.
#[track_caller]
fn holds(now: &Value, before: &Value, of: &str) {
    match (before, now) {
        (Value::Object(before), Value::Object(now)) => {
            let kept: Vec<&String> = now.keys().filter(|key| before.contains_key(*key)).collect();
            assert_eq!(
                kept,
                before.keys().collect::<Vec<_>>(),
                "the order of names in {of}"
            );
            before
                .iter()
                .for_each(|(key, value)| holds(&now[key], value, &format!("{of}.{key}")));
        }
        (Value::Array(before), Value::Array(now)) => {
            let mut rest = now.iter();
            before
                .iter()
                .for_each(|one| assert!(rest.any(|other| other == one), "{of} lost {one}"));
        }
        _ => assert_eq!(now, before, "{of}"),
    }
}

#[test]
fn install_adds_every_hook_and_keeps_the_meaning_of_other_settings() {
    for fixture in fixtures("").iter().filter(|name| name.ends_with(".json")) {
        let desk = Desk::with(fixture);
        let before = meaning(&desk.text(place(fixture)));
        desk.ok(&["install", client(fixture)]);
        let now = meaning(&desk.text(place(fixture)));
        holds(&now, &before, fixture);
        let (events, call) = called(client(fixture), &desk.program);
        for event in events {
            let mine = commands(&before, event);
            let ours: Vec<String> = commands(&now, event)
                .into_iter()
                .filter(|one| !mine.contains(one))
                .collect();
            assert_eq!(ours[0], call, "{fixture} {event}");
            let wakes = client(fixture) == "claude"
                && !["PreToolUse", "PostToolBatch", "SessionEnd"].contains(event);
            assert_eq!(
                ours.len(),
                if wakes { 2 } else { 1 },
                "{fixture} {event}: {ours:?}"
            );
        }
    }
}

#[test]
fn a_diff_touches_only_our_lines() {
    // Settings or lists in one line are changed there, and Codex counts hooks, so that ours go behind, after a comma.
    let others = [
        "claude-minified.json",
        "claude-odd.json",
        "codex-hooks.json",
        "codex-hooks-at-stop.json",
        "copilot-own-hooks.json",
        "codex-config-inline.toml",
    ];
    let unended = ["codex-config-dotted.toml"];
    let empty = |name: &String| {
        name.contains("empty") || name.contains("blank") || name.contains("no-last")
    };
    let plain = |name: &&String| {
        !others.contains(&name.as_str()) && !unended.contains(&name.as_str()) && !empty(name)
    };
    let all = fixtures("");
    let plain: Vec<&String> = all.iter().filter(plain).collect();
    assert!(plain.len() >= 10, "{plain:?}");
    for fixture in plain {
        let desk = Desk::with(fixture);
        let before = desk.text(place(fixture));
        desk.ok(&["install", client(fixture)]);
        let after = desk.text(place(fixture));
        let mut lines = after.split_inclusive('\n');
        // A list of rules in one line gets ours in this line.
        let is_list = |line: &&str| line.trim_start().starts_with("\"allow\": [\"");
        for line in before.split_inclusive('\n').filter(|line| !is_list(line)) {
            assert!(
                lines.any(|other| other == line),
                "{fixture}: {line:?} is not as it was in\n{after}"
            );
        }
        let ends = |text: &str| (text.matches("\r\n").count(), text.matches('\n').count());
        let (crlf, all) = ends(&after);
        assert!(
            crlf == 0 || crlf == all,
            "{fixture}: {crlf} of {all} lines end with CRLF"
        );
        assert_eq!(crlf > 0, before.contains("\r\n"), "{fixture}");
    }
}

#[test]
fn a_hook_of_codex_keeps_its_number_and_one_comma_is_all_that_changes() {
    let desk = Desk::with("codex-hooks-at-stop.json");
    let before = desk.text(".codex/hooks.json");
    desk.ok(&["install", "codex"]);
    let after = desk.text(".codex/hooks.json");
    let now = meaning(&after);
    assert_eq!(
        now["hooks"]["Stop"][0],
        meaning(&before)["hooks"]["Stop"][0]
    );
    let lines: Vec<&str> = after.lines().collect();
    let changed: Vec<&str> = before
        .lines()
        .filter(|line| !lines.contains(line))
        .collect();
    assert!(changed.is_empty(), "{changed:?} in\n{after}");
    assert!(
        after.contains("      },\n      {\n        \"hooks\": ["),
        "{after}"
    );
}

#[test]
fn uninstall_restores_settings_to_the_byte_and_a_new_install_gives_the_same_text() {
    for fixture in fixtures("") {
        let desk = Desk::with(&fixture);
        let before = desk.files();
        desk.ok(&["install", client(&fixture), "--agent", "bob"]);
        let installed = desk.text(place(&fixture));
        desk.ok(&["uninstall", client(&fixture)]);
        let after = desk.files();
        assert_eq!(names(&after), names(&before), "{fixture}");
        assert!(after == before, "{fixture}: {}", desk.text(place(&fixture)));
        desk.ok(&["install", client(&fixture), "--agent", "bob"]);
        assert_eq!(desk.text(place(&fixture)), installed, "{fixture}");
    }
}

#[test]
fn a_second_run_says_that_there_is_nothing_to_do_and_writes_nothing() {
    for fixture in fixtures("") {
        let desk = Desk::with(&fixture);
        desk.ok(&["install", client(&fixture)]);
        let before = desk.files();
        let said = desk.ok(&["install", client(&fixture)]);
        assert!(said.starts_with("no changes for "), "{fixture}: {said}");
        assert!(desk.files() == before, "{fixture}");
        assert_eq!(
            desk.json(&["install", client(&fixture)])["files"],
            serde_json::json!([])
        );
    }
}

#[test]
fn a_project_without_settings_gets_them_and_is_left_without_them() {
    for client in [
        "claude", "codex", "gemini", "qwen", "opencode", "copilot", "kimi",
    ] {
        let desk = Desk::new();
        let before = desk.files();
        let said = desk.ok(&["install", client]);
        assert!(
            said.contains("created ") && !said.contains("changed "),
            "{said}"
        );
        assert!(backups(&desk.world).is_empty());
        let said = desk.ok(&["uninstall", client]);
        assert!(said.contains("removed "), "{said}");
        assert_eq!(names(&desk.files()), names(&before), "{client}");
    }
}

#[test]
fn the_change_is_shown_and_with_dry_run_it_is_all_that_happens() {
    for client in ["claude", "codex", "gemini", "qwen", "opencode", "copilot"] {
        let desk = Desk::new();
        let before = desk.files();
        let dry = desk.ok(&["install", client, "--dry-run"]);
        assert!(desk.files() == before, "{client}");
        assert!(!desk.is_there("heard.json"), "the hook was run");
        assert!(
            dry.contains("--- /dev/null\n+++ ") && dry.contains("@@ -0,0 +1,"),
            "{dry}"
        );
        let real = desk.ok(&["install", client]);
        assert!(real.starts_with(dry.trim_end()), "{real}");
        let dry = desk.ok(&["uninstall", client, "--dry-run"]);
        assert!(dry.contains("+++ /dev/null"), "{dry}");
        assert!(desk.is_there("AGENTS.md"));
    }
}

#[test]
fn the_servers_are_what_the_clients_want() {
    let desk = Desk::new();
    for client in ["claude", "codex", "gemini", "qwen", "opencode", "copilot"] {
        desk.ok(&["install", client, "--agent", "bob"]);
    }
    let program = desk.program.as_str();
    let wanted =
        serde_json::json!({"command": program, "args": ["mcp"], "env": {"MAILBAG_AGENT": "bob"}});
    assert_eq!(
        meaning(&desk.text(".mcp.json"))["mcpServers"]["mailbag"],
        wanted
    );
    assert_eq!(
        meaning(&desk.text(".gemini/settings.json"))["mcpServers"]["mailbag"],
        wanted
    );
    assert_eq!(
        meaning(&desk.text(".qwen/settings.json"))["mcpServers"]["mailbag"],
        wanted
    );
    assert_eq!(
        meaning(&desk.text(".github/mcp.json"))["mcpServers"]["mailbag"],
        wanted
    );
    let words = serde_json::json!({
        "type": "local", "command": [program, "mcp"], "environment": {"MAILBAG_AGENT": "bob"}
    });
    assert_eq!(
        meaning(&desk.text("opencode.json"))["mcp"]["mailbag"],
        words
    );
    let config: toml::Table = desk.text(".codex/config.toml").parse().expect("TOML");
    let mut server = serde_json::to_value(&config["mcp_servers"]["mailbag"]).expect("JSON");
    assert_eq!(
        server.as_object_mut().expect("a table").remove("env_vars"),
        Some(serde_json::json!(["MAILBAG_ROOM", "MAOS_MESSAGE_DIR"]))
    );
    assert_eq!(server, wanted);
    desk.ok(&["install", "codex"]);
    let config: toml::Table = desk.text(".codex/config.toml").parse().expect("TOML");
    let passed = config["mcp_servers"]["mailbag"]["env_vars"]
        .as_array()
        .map(Vec::len);
    assert_eq!(
        passed,
        Some(4),
        "the room and the agent, each under both names"
    );
}

#[test]
fn toml_keeps_its_comments_and_each_kind_of_table_takes_the_server() {
    for fixture in fixtures("").iter().filter(|name| name.ends_with(".toml")) {
        let desk = Desk::with(fixture);
        desk.ok(&["install", "codex"]);
        let text = desk.text(".codex/config.toml");
        let before = String::from_utf8(read_fixture(fixture)).expect("text");
        for comment in before
            .lines()
            .filter_map(|line| line.split_once('#'))
            .map(|(_, comment)| comment)
        {
            assert!(
                text.contains(comment),
                "{fixture} lost {comment:?}:\n{text}"
            );
        }
        let config: toml::Table = text
            .parse()
            .unwrap_or_else(|e| panic!("{fixture}: {e}\n{text}"));
        assert_eq!(
            config["mcp_servers"]["mailbag"]["args"][0].as_str(),
            Some("mcp"),
            "{fixture}"
        );
        let servers = before
            .parse::<toml::Table>()
            .expect("TOML")
            .get("mcp_servers")
            .cloned();
        if let Some(docs) = servers.and_then(|servers| servers.get("docs").cloned()) {
            assert_eq!(config["mcp_servers"]["docs"], docs, "{fixture}");
        }
    }
}

fn names(files: &[(std::path::PathBuf, Vec<u8>)]) -> Vec<&std::path::PathBuf> {
    files.iter().map(|(path, _)| path).collect()
}
