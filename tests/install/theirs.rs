//! A person's earlier entry under mailbag's name: it stays, and is restored when mailbag's entry is
//! removed.

use super::{Desk, backups, meaning};
use serde_json::json;

/// A project with a manual setup of mailbag.
fn by_hand() -> Desk {
    let desk = Desk::new();
    desk.write(".mcp.json", SERVER);
    desk.write(
        ".codex/config.toml",
        "# Mine.\n[mcp_servers.mailbag]\ncommand = \"mailbag\"\nargs = [\"mcp\", \"-q\"]\n",
    );
    desk.write(".gemini/settings.json", SERVER);
    desk.write(".qwen/settings.json", SERVER);
    desk.write(".github/mcp.json", SERVER);
    desk.write("AGENTS.md", SECTION);
    desk
}

const SERVER: &str = r#"{ "mcpServers": { "mailbag": {
  "command": "mailbag", "args": ["mcp", "--quiet"], "env": {"MAILBAG_AGENT": "carol", "MINE": "1"} } } }
"#;
const SECTION: &str =
    "# Rules\n\n<!-- mailbag:begin -->\nWrite to carol only.\n<!-- mailbag:end -->\n";
const CLIENTS: [&str; 5] = ["claude", "codex", "gemini", "qwen", "copilot"];

#[test]
fn a_server_and_a_section_that_were_there_before_stay_and_are_there_afterwards() {
    let desk = by_hand();
    let before = desk.files();
    for client in CLIENTS {
        let ran = desk.run(&["install", client, "--agent", "bob"]);
        assert!(
            ran.code == 0 && ran.err.contains("already has a mailbag entry of your own"),
            "{ran:?}"
        );
        assert_eq!(
            desk.json(&["install", client, "--agent", "bob"])["files"],
            json!([]),
            "{client}"
        );
        assert_eq!(desk.text("AGENTS.md"), SECTION, "{client}");
    }
    assert_eq!(desk.text(".mcp.json"), SERVER);
    assert_contains!(desk.text(".codex/config.toml"), "args = [\"mcp\", \"-q\"]");
    let gemini = meaning(&desk.text(".gemini/settings.json"));
    assert_eq!(gemini["mcpServers"], meaning(SERVER)["mcpServers"]);
    assert!(gemini["hooks"]["BeforeAgent"].is_array());
    for client in CLIENTS {
        desk.ok(&["uninstall", client]);
    }
    let left: Vec<_> = desk
        .files()
        .into_iter()
        .filter(|file| !before.contains(file))
        .collect();
    assert!(desk.files() == before, "{left:?}");
}

#[test]
fn an_identical_earlier_server_entry_stays_the_person_s() {
    let desk = Desk::new();
    let text =
        json!({"mcpServers": {"mailbag": {"command": desk.program, "args": ["mcp"]}}}).to_string();
    desk.write(".mcp.json", &text);
    let said = desk.ok("install claude");
    assert!(
        said.contains("kept ") && backups(&desk.world).len() == 1,
        "{said}"
    );
    desk.ok("uninstall claude");
    assert_eq!(desk.text(".mcp.json"), text);
    assert!(backups(&desk.world).is_empty());
}

#[test]
fn uninstall_keeps_the_person_s_changes_of_an_earlier_entry() {
    let desk = by_hand();
    desk.ok("install claude");
    let changed = SERVER.replace("carol", "dora");
    desk.write(".mcp.json", &changed);
    desk.ok("uninstall claude");
    assert_eq!(desk.text(".mcp.json"), changed);
}
