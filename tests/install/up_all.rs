//! `mailbag up` beside settings of all clients together.

use super::up::Fresh;
use super::{backups, read_fixture};
use crate::files;
use std::path::PathBuf;

/// Clients, by their programs.
pub(super) const ALL: [&str; 7] = [
    "claude", "codex", "gemini", "qwen", "opencode", "copilot", "kimi",
];

/// Settings with a word that the person changes later.
const OWN: [(&str, &str); 10] = [
    (
        ".mcp.json",
        "{\n\t\"mcpServers\": {\n\t\t\"issues\": { \"command\": \"npx\", \"args\": [\"alpha\"] }\n\t}\n}\n",
    ),
    (
        ".qwen/settings.json",
        "{\n  // Mine.\n  \"permissions\": { \"allow\": [\"Bash(npm test)\"] },\n  \"model\": {\"name\": \"alpha\"}\n}\n",
    ),
    (
        "opencode.json",
        "{\n  \"$schema\": \"https://opencode.ai/config.json\",\n  \"model\": \"alpha\",\n  \"permission\": { \"bash\": \"ask\" },\n  \"mcp\": { \"issues\": { \"type\": \"local\", \"command\": [\"npx\"] } }\n}",
    ),
    (
        ".opencode/plugins/mine.js",
        "export const Mine = async () => ({}) // alpha\n",
    ),
    ("AGENTS.md", "# Rules\r\n\r\nBe brief, alpha.\r\n"),
    ("CLAUDE.md", "@AGENTS.md\n\nalpha\n"),
    // Its last line has no end.
    ("GEMINI.md", "Mine: alpha"),
    (
        ".kimi-code/mcp.json",
        "{\r\n\t\"mcpServers\": {\"issues\": {\"command\": \"npx\", \"args\": [\"alpha\"]}}\r\n}",
    ),
    (
        ".github/mcp.json",
        "{\"servers\": {\"alpha\": {\"command\": \"own\"}}}",
    ),
    (".gitignore", "/alpha\n"),
];

/// A project with settings of all clients.
pub(crate) fn lived_in() -> Fresh {
    let fresh = Fresh::with(&ALL);
    OWN.iter().for_each(|(file, text)| fresh.write(file, text));
    for (file, fixture) in [
        (".claude/settings.json", "claude-own-hooks.json"),
        (".codex/hooks.json", "codex-hooks.json"),
        (".codex/config.toml", "codex-config.toml"),
        (".gemini/settings.json", "gemini-comments.json"),
        (".github/hooks/own.json", "copilot-own-hooks.json"),
    ] {
        fresh.write(file, read_fixture(fixture));
    }
    fresh
}

#[test]
fn up_and_undo_of_all_clients_restore_every_byte() {
    // P426
    let fresh = lived_in();
    let before = fresh.files();
    let said = fresh.ok("up");
    for client in ALL {
        assert!(
            said.lines().any(|line| line.starts_with(client)),
            "{client}: {said}"
        );
    }
    for file in [
        ".claude/settings.json",
        ".codex/config.toml",
        ".gemini/settings.json",
        ".qwen/settings.json",
        "opencode.json",
    ] {
        assert_contains!(fresh.text(file), "mailbag"; "{file}");
    }
    assert!(fresh.ok("up").starts_with("nothing to do"));
    assert!(backups(&fresh.world).len() > OWN.len());
    fresh.ok("up --undo");
    assert!(backups(&fresh.world).is_empty());
    assert!(fresh.files() == before);
}

/// Changes a word in each file that a person may edit.
pub(crate) fn changed_by_somebody(fresh: &Fresh) {
    for (path, bytes) in fresh.files() {
        if path.is_file() && !path.starts_with(fresh.at(".mailbag")) {
            files::write(&path, changed(&bytes));
        }
    }
}

fn changed(bytes: &[u8]) -> Vec<u8> {
    String::from_utf8_lossy(bytes)
        .replace("alpha", "beta")
        .into_bytes()
}

#[test]
fn after_up_and_undo_only_the_person_s_changes_remain() {
    let fresh = lived_in();
    let wanted: Vec<(PathBuf, Vec<u8>)> = fresh
        .files()
        .into_iter()
        .map(|(path, bytes)| (path, changed(&bytes)))
        .collect();
    fresh.ok("up");
    changed_by_somebody(&fresh);
    fresh.ok("up --undo");
    let now = fresh.files();
    let other: Vec<_> = now
        .iter()
        .filter(|file| !wanted.contains(file))
        .map(|(path, bytes)| (path, String::from_utf8_lossy(bytes)))
        .collect();
    assert!(now == wanted, "{other:?}");
}
