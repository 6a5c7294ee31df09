//! The forms of an installation: a plugin in the project for clients that load one, else edits of the settings.

use super::up::Fresh;
use super::{backups, meaning, read_fixture};
use crate::files;
use crate::world::{Words, parse_json};
use serde_json::json;

const NEW: &str = "2.1.332 (Claude Code)";
const OLD: &str = "2.1.197 (Claude Code)";
const HOOKS: &str = ".claude/skills/mailbag/hooks/hooks.json";

fn with_claude(version: &str) -> Fresh {
    let fresh = Fresh::new();
    fresh.install("claude", version);
    fresh
}

fn has_hooks(fresh: &Fresh, file: &str) -> bool {
    fresh.at(file).exists() && fresh.text(file).contains("hook claude")
}

#[test]
fn a_claude_code_that_loads_plugins_gets_a_folder_and_only_rules_in_its_settings() {
    // P522
    let fresh = with_claude(NEW);
    fresh.write(
        ".claude/settings.json",
        read_fixture("claude-own-hooks.json"),
    );
    fresh.write(
        ".mcp.json",
        "{\"mcpServers\":{\"own\":{\"command\":\"own\"}}}",
    );
    let before = fresh.files();
    fresh.ok("up");
    assert!(has_hooks(&fresh, HOOKS) && !has_hooks(&fresh, ".claude/settings.json"));
    assert!(!fresh.text(".mcp.json").contains("mailbag"));
    let folder = ".claude/skills/mailbag";
    for (file, text) in [
        (".mcp.json", "\"mcp\""),
        (".claude-plugin/plugin.json", "\"name\": \"mailbag\""),
        ("skills/mailbag/SKILL.md", "name: mailbag"),
    ] {
        let written = fresh.text(&format!("{folder}/{file}"));
        assert!(written.contains(text), "{file}: {written}");
    }
    let rules = meaning(&fresh.text(".claude/settings.json"))["permissions"]["allow"].to_string();
    assert_contains!(rules, "mcp__mailbag__fetch_inbox");
    assert_contains!(rules, "mcp__plugin_mailbag_mailbag__fetch_inbox");
    assert!(fresh.ok("up").starts_with("nothing to do"));
    fresh.ok("up --undo");
    assert!(fresh.files() == before, "{:?}", fresh.files());
}

#[test]
fn undoing_the_plugin_restores_the_bytes_of_the_settings_without_a_note() {
    // P522
    let fresh = with_claude(NEW);
    for settings in [
        "{\"permissions\": {\"allow\": [\"Bash(ls:*)\"]}}",
        "{ \"permissions\": { \"allow\": [ ] } }",
        "{\"permissions\": {}}\n",
        "{\n}\n",
        "{}",
        "{\r\n\t\"model\": \"alpha\"\r\n}",
    ] {
        fresh.write(".claude/settings.json", settings);
        let before = fresh.files();
        fresh.ok("up");
        assert_eq!(backups(&fresh.world).len(), 1, "{settings:?}");
        let said = fresh.run("up --undo").err;
        assert!(!said.contains("was edited"), "{settings:?}: {said}");
        assert_eq!(fresh.text(".claude/settings.json"), settings);
        assert!(fresh.files() == before, "{settings:?}");
        assert!(backups(&fresh.world).is_empty(), "{settings:?}");
    }
}

#[test]
fn undoing_names_the_file_that_was_edited() {
    // P522
    let fresh = with_claude(NEW);
    fresh.write(".claude/settings.json", "{\"model\": \"alpha\"}\n");
    fresh.ok("up");
    let edited = fresh.text(".claude/settings.json").replace(',', " ,");
    fresh.write(".claude/settings.json", edited);
    assert_contains!(
        fresh.run("up --undo").err,
        ".claude/settings.json was edited after the installation"
    );
}

#[test]
fn an_older_or_unknown_claude_code_gets_edits_of_its_settings() {
    // P522
    for version in [OLD, ""] {
        let fresh = with_claude(version);
        let before = fresh.files();
        fresh.ok("up");
        assert!(has_hooks(&fresh, ".claude/settings.json"), "{version}");
        assert!(fresh.text(".mcp.json").contains("mailbag") && !fresh.at(HOOKS).exists());
        assert!(fresh.at(".claude/skills/mailbag/SKILL.md").is_file());
        fresh.ok("up --undo");
        assert!(fresh.files() == before);
    }
}

#[test]
fn each_form_replaces_the_other_and_undoing_restores_the_bytes() {
    // P522
    for (first, second) in [(OLD, NEW), (NEW, OLD)] {
        let fresh = with_claude(first);
        fresh.write(
            ".claude/settings.json",
            read_fixture("claude-own-hooks.json"),
        );
        fresh.write(
            ".mcp.json",
            "{\"mcpServers\":{\"own\":{\"command\":\"own\"}}}",
        );
        let before = fresh.files();
        fresh.ok("up");
        fresh.install("claude", second);
        fresh.ok("up");
        let is_plugin = second == NEW;
        assert_eq!(has_hooks(&fresh, HOOKS), is_plugin, "{second}");
        assert_eq!(has_hooks(&fresh, ".claude/settings.json"), !is_plugin);
        assert_eq!(fresh.text(".mcp.json").contains("mailbag"), !is_plugin);
        assert!(fresh.ok("up").starts_with("nothing to do"));
        fresh.ok("up --undo");
        let mut left = fresh.files();
        left.retain(|file| !before.contains(file));
        assert!(fresh.files() == before, "{second}: {left:?}");
    }
}

#[test]
fn with_both_forms_mail_is_announced_once_and_doctor_reports_it() {
    // P523
    let fresh = with_claude(NEW);
    fresh.ok("up");
    let plugin = fresh.text(HOOKS);
    fresh.install("claude", OLD);
    fresh.ok("up");
    fresh.write(HOOKS, plugin);
    fresh.ok("agent add alice bob");
    fresh.ok("send alice one --as bob");
    trust(&fresh, "claude");
    let start = |more: &[&str]| {
        start(
            &fresh,
            &[&["hook", "claude", "--as", "alice"], more].concat(),
        )
    };
    let (of_plugin, of_settings) = (start(&["--plugin"]), start(&[]));
    assert_contains!(of_settings, "1 unread");
    assert_eq!(of_plugin, "");
    let found = parse_json(&fresh.run("doctor --json").out);
    let twice = found["findings"]
        .as_array()
        .expect("findings")
        .iter()
        .find(|one| one["code"] == "hooks_twice");
    assert_contains!(
        twice.expect("a finding").to_string(),
        "hooks.json and in",
        "mailbag install claude"
    );
    fresh.install("claude", NEW);
    fresh.ok(&["install", "claude", "--command", &fresh.program]);
    assert!(!fresh.run("doctor --json").out.contains("hooks_twice"));
    fresh.ok("send alice two --as bob");
    assert_contains!(start(&["--plugin"]), "“two”");
}

#[test]
fn a_plugin_of_the_user_leaves_the_session_to_trusted_hooks_of_the_project() {
    // P550
    for client in ["codex", "copilot", "gemini", "qwen"] {
        let fresh = Fresh::with(&[client]);
        fresh.ok("up");
        fresh.ok("agent add alice bob");
        fresh.ok(&[
            "install",
            client,
            "--agent",
            "alice",
            "--command",
            &fresh.program,
        ]);
        fresh.ok("send alice one --as bob");
        let is_trusted = trust(&fresh, client);
        let of_plugin = start(&fresh, &["hook", client, "--plugin"]);
        if !is_trusted {
            assert_contains!(of_plugin, "this session is"; "{client}");
            continue;
        }
        assert!(!of_plugin.contains("mailbag"), "{client}: {of_plugin}");
        assert_contains!(start(&fresh, &["hook", client, "--as", "alice"]), "1 unread"; "{client}");
    }
}

/// Stores the answer of a person who trusts the project. Returns false if the client asks about each hook.
fn trust(fresh: &Fresh, client: &str) -> bool {
    let project = fresh.at("").canonicalize().expect("the project");
    let (file, text) = match client {
        "claude" => (
            ".claude.json",
            json!({"projects": {project.to_str().expect("UTF-8"): {"hasTrustDialogAccepted": true}}}),
        ),
        "copilot" => (".copilot/config.json", json!({"trustedFolders": [project]})),
        "gemini" => (
            ".gemini/trustedFolders.json",
            json!({project.to_str().expect("UTF-8"): "TRUST_FOLDER"}),
        ),
        _ => return client != "codex",
    };
    fresh.write(&format!("../home/{file}"), text.to_string());
    true
}

/// The answer of a hook at the start of a session.
fn start(fresh: &Fresh, args: &(impl Words + ?Sized)) -> String {
    let input = r#"{"hook_event_name": "SessionStart", "session_id": "s1", "source": "startup"}"#;
    let mut hook = fresh.world.program(args);
    hook.current_dir(fresh.at("")).write_stdin(input);
    fresh.surround(|name, value| {
        hook.env(name, value);
    });
    let output = hook.output().expect("the hook runs");
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn the_plugin_of_opencode_brings_the_server_and_its_settings_stay() {
    // P522
    let fresh = Fresh::new();
    fresh.install("opencode", "1.18.33");
    fresh.write("opencode.json", "{}\n");
    let before = fresh.files();
    fresh.ok("up");
    assert_eq!(fresh.text("opencode.json"), "{}\n");
    assert_contains!(
        fresh.text(".opencode/plugins/mailbag.js"),
        "config.mcp.mailbag ??="
    );
    let status = fresh.ok("install --status opencode --project --json");
    assert!(
        status.contains("\"mcp\": true") || status.contains("\"mcp\":true"),
        "{status}"
    );
    fresh.ok("up --undo");
    assert!(fresh.files() == before);
}

#[test]
fn the_skill_stays_while_another_client_reads_it_or_a_person_edited_it() {
    const SKILL: &str = ".agents/skills/mailbag/SKILL.md";
    let fresh = Fresh::with(&["codex", "gemini", "qwen", "kimi"]);
    fresh.ok("up");
    fresh.ok("uninstall codex");
    fresh.ok("uninstall gemini");
    assert!(fresh.at(SKILL).is_file());
    fresh.ok("uninstall qwen");
    assert!(!fresh.at(".agents").exists(), "Kimi CLI reads no skill");

    let fresh = Fresh::with(&["codex"]);
    fresh.ok("up");
    let edited = files::read_text(fresh.at(SKILL)) + "Mine.\n";
    fresh.write(SKILL, &edited);
    fresh.ok("up");
    for args in ["up --undo", "uninstall codex"] {
        assert_contains!(fresh.run(args).err, "was edited after", "it is kept");
        assert_eq!(files::read_text(fresh.at(SKILL)), edited);
    }
}
