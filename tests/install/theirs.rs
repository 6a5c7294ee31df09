//! A person's earlier entry under mailbag's name: it stays, and is restored when mailbag's entry is
//! removed.

use super::up::Fresh;
use super::up_all::ALL;
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
    let mut left = desk.files();
    left.retain(|file| !before.contains(file));
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

/// Files that mailbag writes as a whole, with a person's text.
const WHOLE: [(&str, &str); 5] = [
    (".agents/skills/mailbag/SKILL.md", SKILL),
    (".claude/skills/mailbag/SKILL.md", SKILL),
    (".claude/skills/mailbag/skills/mailbag/SKILL.md", SKILL),
    (
        ".claude/skills/mailbag/.claude-plugin/plugin.json",
        "{\"name\": \"mailbag\", \"version\": \"9\"}\n",
    ),
    (
        PLUGIN,
        "// mailbag:begin\nexport const Mine = 1\n// mailbag:end\n",
    ),
];
const SKILL: &str = "---\nname: mailbag\ndescription: Mine.\n---\nMine.\n";
const PLUGIN: &str = ".opencode/plugins/mailbag.js";

/// A project with all clients, in their new or their old form.
fn all_clients(is_new: bool) -> Fresh {
    let fresh = Fresh::with(&ALL);
    if is_new {
        fresh.install("claude", "2.1.332 (Claude Code)");
        fresh.install("opencode", "1.18.33");
    }
    fresh
}

#[test]
fn a_whole_file_of_a_person_is_neither_replaced_nor_deleted() {
    let clients: Vec<&str> = ALL.iter().flat_map(|name| ["--client", name]).collect();
    for is_new in [false, true] {
        let fresh = all_clients(is_new);
        WHOLE
            .iter()
            .for_each(|(file, text)| fresh.write(file, text));
        let before = fresh.files();
        for args in [&clients[..], &[]] {
            let ran = fresh.run(&[&["up"], args].concat());
            let note = ".agents/skills/mailbag/SKILL.md is your own";
            assert!(
                args.is_empty() || format!("{}{}", ran.out, ran.err).contains(note),
                "{ran:?}"
            );
            for (file, text) in WHOLE {
                assert_eq!(fresh.text(file), text, "{file}");
            }
        }
        fresh.ok("up --undo");
        assert!(fresh.files() == before, "{is_new}");
        for client in ALL {
            fresh.ok(&["install", client, "--command", &fresh.program]);
            fresh.ok(&["uninstall", client]);
        }
        for (file, text) in WHOLE {
            assert_eq!(fresh.text(file), text, "{file}");
        }
    }
    let desk = Desk::new();
    let (plugin, text) = ("home/.config/opencode/plugins/mailbag.js", WHOLE[4].1);
    desk.write(plugin, text);
    desk.ok("install opencode --user");
    desk.ok("uninstall opencode --user");
    assert_eq!(desk.text(plugin), text);
}

#[test]
fn a_whole_file_that_was_edited_after_the_installation_stays() {
    for is_new in [false, true] {
        let fresh = all_clients(is_new);
        fresh.ok("up");
        let whole: Vec<_> = WHOLE.map(|(file, _)| file).into_iter().collect();
        let mut edited = Vec::new();
        for file in whole.into_iter().filter(|file| fresh.at(file).exists()) {
            let text = fresh.text(file).replace("mailbag.", "mailbag!");
            let text = text.replace("coding agents", "my agents");
            let text = text.replace("OPENCODE_SESSION_ID", "MY_SESSION_ID");
            fresh.write(file, &text);
            edited.push((file, text));
        }
        assert!(edited.len() >= 3, "{edited:?}");
        fresh.run("up");
        fresh.ok("up --undo");
        for (file, text) in edited {
            assert_eq!(fresh.text(file), text, "{file}");
        }
    }
}

#[test]
fn sections_of_a_person_are_decided_before_the_first_client() {
    let fresh = all_clients(false);
    for file in ["AGENTS.md", "CLAUDE.md", "GEMINI.md"] {
        fresh.write(file, SECTION);
    }
    let before = fresh.files();
    fresh.ok("up");
    fresh.ok("up");
    for file in ["AGENTS.md", "CLAUDE.md", "GEMINI.md"] {
        assert_eq!(fresh.text(file), SECTION, "{file}");
    }
    fresh.ok("up --undo");
    assert!(fresh.files() == before);

    // A killed run may have made the first change only.
    let desk = Desk::new();
    desk.write("AGENTS.md", SECTION);
    let planned = desk.json("install codex --dry-run");
    assert_eq!(planned["files"][0]["change"], "kept", "{planned:#}");
}

#[test]
fn a_file_with_only_an_edited_section_is_not_deleted() {
    let desk = Desk::new();
    desk.ok("install codex");
    let edited = desk.text("AGENTS.md").replace("do not poll", "poll");
    desk.write("AGENTS.md", &edited);
    assert_contains!(
        desk.run("uninstall codex").err,
        "AGENTS.md is your own, or was edited"
    );
    assert_eq!(desk.text("AGENTS.md"), edited);
}
