//! `mailbag install --status`

use super::{Desk, meaning};
use mailbag::clients::kind::Client;
use serde_json::json;

#[test]
fn install_status_shows_every_part_before_and_after_install_and_uninstall() {
    let desk = Desk::new();
    let all = desk.json("install --status")["clients"].clone();
    assert_eq!(all.as_array().map(Vec::len), Some(2 * Client::ALL.len()));
    for stands in all.as_array().expect("a list") {
        assert_fields!(stands, hooks: "absent", mcp: false, section: false);
    }
    for client in ["claude", "codex", "gemini", "qwen", "opencode", "copilot"] {
        desk.ok(&["install", client, "--agent", "bob"]);
        let stands = desk.status(client);
        assert_fields!(stands, hooks: "installed", mcp: true, section: true);
        assert_fields!(stands, command: desk.program, executable: desk.program);
        assert_fields!(stands, agent: "bob", problems: json!([]));
        desk.ok(&["uninstall", client]);
        assert_eq!(desk.status(client)["hooks"], "absent");
    }
    let table = desk.ok("install --status");
    assert!(
        table.starts_with("CLIENT") && table.lines().count() == 1 + 2 * Client::ALL.len(),
        "{table}"
    );
}

#[test]
fn a_missing_event_and_an_unreadable_file_are_named() {
    let desk = Desk::new();
    desk.ok("install claude");
    let mut settings = meaning(&desk.text(".claude/settings.json"));
    settings["hooks"]
        .as_object_mut()
        .expect("hooks")
        .remove("PostToolBatch");
    desk.write(".claude/settings.json", settings.to_string());
    let before = desk.world.everything();
    let stands = desk.status("claude");
    assert_fields!(stands, hooks: "partly", missing: ["PostToolBatch"]);
    assert_contains!(
        desk.ok("install --status"),
        "partly: Claude Code has no hook at PostToolBatch"
    );
    assert!(desk.world.everything() == before, "a look changes nothing");
    desk.write(".claude/settings.json", "{");
    let stands = desk.status("claude");
    assert_eq!(stands["hooks"], "absent");
    assert_contains!(stands["problems"][0].as_str().expect("a text"), "settings.json line 1"; "{stands:#}");
    assert_contains!(desk.ok("install --status"), "problem: ");
}

/// Codex's notes about our hook with five seconds, and three at the end, by event.
const TRUSTED: [(&str, &str); 7] = [
    (
        "session_start",
        "8db9258e23b554c5533a0d54dcdd2cb11fc5e1f3e90e2f5e1b06cfb778de505d",
    ),
    (
        "user_prompt_submit",
        "441bdcc61153b614943481f81f73b79933ebb4a3a9f49c1b921c7083ced3c9f2",
    ),
    (
        "pre_tool_use",
        "e2557c864a30e1bf165ba6adb234e673b7c7e18a286e6eb0fe9d014b055c7e6a",
    ),
    (
        "post_tool_use",
        "a378e760fcc259d0841a86de57cc6cec1ec46a581b602eb482932ba046466b9a",
    ),
    (
        "stop",
        "90e4aef3e40579fa48e6ca9892a9445e1c8fc1adad620fc2fdbea49a7f3a4f80",
    ),
    (
        "session_end",
        "f3f6a812c94804759a14cf76533a16b17ca2cd2aeaa272d3a3238fb27033a470",
    ),
    (
        "interrupt",
        "c5d0bce5bf436cdf7870d0a5ac0fcbc8e09dec4fb6e3ec3cbcf3c744dcf8829f",
    ),
];

#[test]
fn whether_codex_trusts_the_hooks_is_read_from_its_notes() {
    let desk = Desk::new();
    desk.ok("install codex");
    let is_trusted = |notes: &str| {
        desk.write("home/.codex/config.toml", notes);
        desk.status("codex")["trusted"].clone()
    };
    assert_eq!(is_trusted(""), "no");
    let settings = ".codex/hooks.json";
    let hooks = desk.text(settings).replace(&desk.program, "mailbag");
    let file = desk
        .write(settings, &hooks)
        .canonicalize()
        .expect("it is there");
    let note = |(event, digest): &(&str, &str)| {
        format!(
            "[hooks.state.\"{}:{event}:0:0\"]\ntrusted_hash = \"sha256:{digest}\"\n",
            file.display()
        )
    };
    let all: String = TRUSTED.iter().map(note).collect();
    assert_eq!(is_trusted(&all), "unknown", "the project isn't trusted");
    let project = desk.world.path().canonicalize().expect("a directory");
    let place = project.display();
    let all = format!("{all}[projects.\"{place}\"]\ntrust_level = \"trusted\"\n");
    assert_eq!(is_trusted(&all), "yes");
    let off = all.replacen("trusted_hash", "enabled = false\ntrusted_hash", 1);
    assert_eq!(is_trusted(&off), "no", "one is switched off");
    assert_eq!(
        is_trusted(&all.replace("\"trusted\"", "\"untrusted\"")),
        "no"
    );
    desk.write(settings, hooks.replace("\"timeout\": 5", "\"timeout\": 6"));
    assert_eq!(is_trusted(&all), "unknown", "it was changed since");
    desk.write(settings, &hooks);
    let fewer: String = TRUSTED[1..].iter().map(note).collect();
    assert_eq!(is_trusted(&fewer), "no", "one is missing");
}

#[test]
fn whether_the_others_trust_the_project_is_read_from_theirs() {
    let desk = Desk::new();
    for client in ["claude", "gemini"] {
        desk.ok(&["install", client]);
        assert_eq!(desk.status(client)["trusted"], "unknown");
    }
    let project = desk.world.path().canonicalize().expect("a directory");
    let here = project.to_str().expect("a plain path");
    desk.write(
        "home/.claude.json",
        json!({"projects": {here: {"hasTrustDialogAccepted": true}}}).to_string(),
    );
    assert_eq!(desk.status("claude")["trusted"], "yes");
    for (word, trusted) in [
        ("TRUST_FOLDER", "yes"),
        ("DO_NOT_TRUST", "no"),
        ("TRUST_PARENT", "unknown"),
    ] {
        desk.write(
            "home/.gemini/trustedFolders.json",
            json!({ here: word }).to_string(),
        );
        assert_eq!(desk.status("gemini")["trusted"], trusted);
    }
    desk.ok("install copilot");
    assert_eq!(desk.status("copilot")["trusted"], "unknown");
    let config = json!({"trustedFolders": [project.parent().expect("a parent")]});
    desk.write(
        "home/.copilot/config.json",
        format!("// Managed automatically.\n{config}"),
    );
    assert_eq!(desk.status("copilot")["trusted"], "yes");
    desk.ok("install qwen");
    assert_eq!(
        desk.status("qwen")["trusted"],
        "yes",
        "it asks for no trust"
    );
    desk.write(
        "home/.qwen/settings.json",
        json!({"security": {"folderTrust": {"enabled": true}}}).to_string(),
    );
    assert_eq!(desk.status("qwen")["trusted"], "unknown");
    desk.write(
        "home/.qwen/trustedFolders.json",
        json!({ here: "DO_NOT_TRUST" }).to_string(),
    );
    assert_eq!(desk.status("qwen")["trusted"], "no");
}
