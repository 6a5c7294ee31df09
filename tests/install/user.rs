//! For a user, in every project; and which directory the project is.

use super::{Desk, meaning};
use crate::files;
use std::fs;

/// A client, the variable that names its directory, that directory in a home, and its files there.
type UserFiles = (
    &'static str,
    &'static str,
    &'static str,
    &'static [&'static str],
);

const USER_FILES: [UserFiles; 7] = [
    (
        "claude",
        "CLAUDE_CONFIG_DIR",
        ".claude",
        &["settings.json", ".claude.json", "CLAUDE.md"],
    ),
    (
        "codex",
        "CODEX_HOME",
        ".codex",
        &["hooks.json", "config.toml", "AGENTS.md"],
    ),
    (
        "gemini",
        "GEMINI_CLI_HOME",
        "",
        &[".gemini/settings.json", ".gemini/GEMINI.md"],
    ),
    ("qwen", "QWEN_HOME", ".qwen", &["settings.json", "QWEN.md"]),
    (
        "kimi",
        "KIMI_CODE_HOME",
        ".kimi-code",
        &["config.toml", "mcp.json", "AGENTS.md"],
    ),
    (
        "copilot",
        "COPILOT_HOME",
        ".copilot",
        &[
            "hooks/mailbag.json",
            "mcp-config.json",
            "copilot-instructions.md",
        ],
    ),
    (
        "opencode",
        "XDG_CONFIG_HOME",
        ".config",
        &[
            "opencode/plugins/mailbag.js",
            "opencode/opencode.json",
            "opencode/AGENTS.md",
        ],
    ),
];

#[test]
fn install_user_changes_only_the_user_s_files() {
    let desk = Desk::new();
    desk.write(
        "home/.claude.json",
        "{\n  \"numStartups\": 7,\n  \"projects\": {}\n}\n",
    );
    desk.write("home/.codex/AGENTS.md", "# Me\n");
    let before = desk.files();
    for (client, _, directory, files) in USER_FILES {
        let report = desk.json(&["install", client, "--user"]);
        for file in files {
            // Without the variable, this file is beside the directory.
            let directory = if *file == ".claude.json" {
                ""
            } else {
                directory
            };
            let text = desk.text(&format!("home/{directory}/{file}"));
            assert_contains!(text, "mailbag"; "{file}");
        }
        assert_eq!(
            report["files"].as_array().map(Vec::len),
            Some(files.len()),
            "{report:#}"
        );
        let status = desk.json(&["install", client, "--status", "--user"])["clients"][0].clone();
        assert_fields!(status, hooks: "installed", section: true);
    }
    for file in [
        "AGENTS.md",
        "CLAUDE.md",
        "GEMINI.md",
        ".mcp.json",
        ".claude",
        ".codex",
        ".gemini",
    ] {
        assert!(!desk.is_there(file), "{file}");
    }
    assert_eq!(meaning(&desk.text("home/.claude.json"))["numStartups"], 7);
    for (client, ..) in USER_FILES {
        desk.ok(&["uninstall", client, "--user"]);
    }
    let mut left = desk.files();
    left.retain(|file| !before.contains(file));
    assert!(desk.files() == before, "{left:?}");
}

#[test]
fn variables_that_name_other_directories_are_respected() {
    let desk = Desk::new();
    for (client, variable, _, files) in USER_FILES {
        let other = desk.path("elsewhere").join(client);
        let install = ["install", client, "--user", "--command", &desk.program];
        let ran = desk.world.run_with(&install, |command| {
            super::at_home(&desk.world)(command);
            command.env(variable, &other);
        });
        ran.ok();
        for file in files {
            assert!(other.join(file).exists(), "{client}: {file}");
        }
    }
    let mut home = fs::read_dir(desk.path("home")).expect("a home");
    assert!(home.next().is_none());
}

#[test]
fn the_project_is_where_the_repository_or_the_room_begins() {
    let desk = Desk::new();
    files::make_dir(desk.path("src/deep"));
    let install_in = |directory: &str| {
        let ran = desk.world.run_with(
            &["install", "codex", "--command", &desk.program],
            |command| {
                super::at_home(&desk.world)(command);
                command.current_dir(desk.path(directory));
            },
        );
        assert_eq!(ran.code, 0, "{ran:?}");
    };
    install_in("src/deep");
    assert!(desk.is_there(".codex/hooks.json") && !desk.is_there("src/deep/.codex"));
    // A home under version control does not count as the project of its directories.
    files::make_dir(desk.path("home/.git"));
    files::make_dir(desk.path("home/notes"));
    install_in("home/notes");
    assert!(desk.is_there("home/notes/.codex/hooks.json") && !desk.is_there("home/.codex"));
}

#[test]
fn install_prints_the_remaining_steps_of_the_person() {
    let desk = Desk::new();
    let notes = |args: &[&str]| desk.run(args).err;
    assert_contains!(notes(&["install", "codex", "--dry-run"]), "`/hooks`");
    assert!(!notes(&["install", "codex", "--dry-run"]).contains("writable_roots"));
    assert_contains!(
        notes(&["install", "codex", "--user", "--dry-run"]),
        "writable_roots"
    );
    assert_contains!(
        notes(&["install", "claude"]),
        "Use this MCP server (the highlighted"
    );
    assert_contains!(
        notes(&["install", "claude", "--user", "--dry-run"]),
        "the hooks are also installed with --project, which is unnecessary"
    );
    assert_contains!(
        notes(&["install", "gemini", "--dry-run"]),
        "Do you trust the files in this folder?”; answer: Trust folder"
    );
    let room = desk.path("far");
    desk.world
        .ok(&["init", room.to_str().expect("a plain path")]);
    assert_contains!(
        notes(&[
            "install",
            "codex",
            "--dry-run",
            "--room",
            room.to_str().expect("a plain path"),
        ]),
        "MAILBAG_ROOM="
    );
    files::remove_dir(desk.path(".mailbag"));
    assert_contains!(
        notes(&["install", "gemini", "--dry-run"]),
        "no room here yet"
    );
}
