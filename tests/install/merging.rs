//! Installation into settings of every kind, and removal. `src/clients/install/tests.rs` checks the added entries.

use super::{Desk, backups, client, fixtures, meaning, place, read_fixture};
use crate::files;
use serde_json::json;

#[test]
fn uninstall_and_undo_restore_settings_to_the_byte_after_any_number_of_installations() {
    let desk = Desk::new();
    for fixture in fixtures("") {
        let (place, client) = (place(&fixture), client(&fixture));
        desk.write(place, read_fixture(&fixture));
        let install = ["install", client, "--agent", "bob"];
        let before = desk.files();
        let is_restored = || {
            let after = desk.files();
            assert_eq!(names(&after), names(&before), "{fixture}");
            assert!(after == before, "{fixture}: {}", desk.text(place));
        };
        desk.ok(&install);
        let installed = desk.files();
        let said = desk.ok(&install);
        assert!(said.starts_with("no changes for "), "{fixture}: {said}");
        assert!(desk.files() == installed, "{fixture}");
        if fixture.ends_with(".json") && ["claude", "codex"].contains(&client) {
            desk.ok(&[&install[..], &["--approvals"]].concat());
            assert_contains!(desk.text(place), "PermissionRequest"; "{fixture}");
        }
        desk.ok(&["uninstall", client]);
        is_restored();
        desk.ok(&install);
        assert!(desk.files() == installed, "{fixture}");
        desk.ok(&["uninstall", client]);
        desk.ok(&["up", "--client", client, "--command", &desk.program]);
        assert_contains!(desk.text(place), "mailbag"; "{fixture}");
        desk.ok("up --undo");
        is_restored();
        let top = place.split('/').next().expect("a directory");
        files::remove_dir(desk.path(top));
    }
}

#[test]
fn a_project_without_settings_gets_what_the_preview_shows_and_is_left_without_them() {
    for client in [
        "claude", "codex", "gemini", "qwen", "opencode", "copilot", "kimi",
    ] {
        let desk = Desk::new();
        let before = desk.files();
        let dry = desk.ok(&["install", client, "--dry-run"]);
        assert!(desk.files() == before, "{client}");
        assert!(!desk.is_there("heard.json"), "the hook was run");
        assert_contains!(dry, "--- /dev/null\n+++ ", "@@ -0,0 +1,");
        let real = desk.ok(&["install", client]);
        assert!(real.starts_with(dry.trim_end()), "{real}");
        assert!(
            real.contains("created ") && !real.contains("changed "),
            "{real}"
        );
        assert!(backups(&desk.world).is_empty());
        let dry = desk.ok(&["uninstall", client, "--dry-run"]);
        assert_contains!(dry, "+++ /dev/null");
        assert!(desk.is_there("AGENTS.md"));
        assert_contains!(desk.ok(&["uninstall", client]), "removed ");
        assert_eq!(names(&desk.files()), names(&before), "{client}");
    }
}

#[test]
fn the_servers_are_what_the_clients_want() {
    let desk = Desk::new();
    for client in ["claude", "codex", "gemini", "qwen", "opencode", "copilot"] {
        desk.ok(&["install", client, "--agent", "bob"]);
    }
    let program = desk.program.as_str();
    let wanted = json!({"command": program, "args": ["mcp"], "env": {"MAILBAG_AGENT": "bob"}});
    for file in [
        ".mcp.json",
        ".gemini/settings.json",
        ".qwen/settings.json",
        ".github/mcp.json",
    ] {
        let servers = &meaning(&desk.text(file))["mcpServers"];
        assert_eq!(servers["mailbag"], wanted, "{file}");
    }
    let words = json!({
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
        Some(json!(["MAILBAG_ROOM", "MAOS_MESSAGE_DIR"]))
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
