//! Installation into settings of every kind, and removal. `src/clients/install/tests.rs` checks the added entries.

use super::{Desk, backups, client, fixtures, meaning, place};

#[test]
fn uninstall_restores_settings_to_the_byte_after_any_number_of_installations() {
    for fixture in fixtures("") {
        let desk = Desk::with(&fixture);
        let install = ["install", client(&fixture), "--agent", "bob"];
        let before = desk.files();
        desk.ok(&install);
        let installed = desk.files();
        let said = desk.ok(&install);
        assert!(said.starts_with("no changes for "), "{fixture}: {said}");
        assert!(desk.files() == installed, "{fixture}");
        if fixture.ends_with(".json") && ["claude", "codex"].contains(&client(&fixture)) {
            desk.ok(&[&install[..], &["--approvals"]].concat());
            assert_contains!(desk.text(place(&fixture)), "PermissionRequest"; "{fixture}");
        }
        desk.ok(&["uninstall", client(&fixture)]);
        let after = desk.files();
        assert_eq!(names(&after), names(&before), "{fixture}");
        assert!(after == before, "{fixture}: {}", desk.text(place(&fixture)));
        desk.ok(&install);
        assert!(desk.files() == installed, "{fixture}");
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
        assert_contains!(desk.ok(&["uninstall", client]), "removed ");
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
        assert_contains!(dry, "--- /dev/null\n+++ ", "@@ -0,0 +1,");
        let real = desk.ok(&["install", client]);
        assert!(real.starts_with(dry.trim_end()), "{real}");
        assert_contains!(
            desk.ok(&["uninstall", client, "--dry-run"]),
            "+++ /dev/null"
        );
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
    desk.ok("install codex");
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

fn names(files: &[(std::path::PathBuf, Vec<u8>)]) -> Vec<&std::path::PathBuf> {
    files.iter().map(|(path, _)| path).collect()
}
