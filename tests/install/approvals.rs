//! `mailbag install --approvals`

use super::{Desk, meaning, run_at_home};
use crate::files;
use crate::world::parse_json;
use serde_json::json;
use std::os::unix::fs::MetadataExt;

const FILES: [(&str, &str); 2] = [
    ("claude", ".claude/settings.json"),
    ("codex", ".codex/hooks.json"),
];

#[test]
fn the_permission_hook_is_added_with_its_timeout_and_removed_to_the_byte() {
    // P183
    for (client, file) in FILES {
        let desk = Desk::new();
        let own = r#"{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}}"#;
        desk.write(file, own);
        desk.ok(&["install", client]);
        assert_eq!(
            (
                desk.status(client)["approvals"].clone(),
                desk.key().exists()
            ),
            (json!(false), false)
        );
        let plan = desk.json(&["install", client, "--approvals", "--dry-run"]);
        assert_contains!(plan["files"][0]["diff"].as_str().expect("a diff"), "PermissionRequest"; "{plan:#}");
        assert_contains!(
            plan["notes"].to_string(),
            "answer them with `mailbag decide` in a terminal"
        );
        assert!(
            !desk.key().exists() && !desk.text(file).contains("PermissionRequest"),
            "a preview changes nothing"
        );

        desk.ok(&["install", client, "--approvals"]);
        let hook = meaning(&desk.text(file))["hooks"]["PermissionRequest"][0]["hooks"][0].clone();
        assert_eq!(
            hook["timeout"], 660,
            "longer than the longest permission_within"
        );
        assert!(
            hook["command"]
                .as_str()
                .is_some_and(|line| line.ends_with(&format!(" hook {client}"))),
            "{hook}"
        );
        assert_eq!(desk.status(client)["approvals"], true);
        let key = files::read(desk.key());
        assert_eq!(desk.key().metadata().expect("a key").mode() & 0o777, 0o600);

        // A second run changes nothing, and without the option the hook stays.
        let before = desk.text(file);
        desk.ok(&["install", client, "--approvals"]);
        desk.ok(&["install", client]);
        assert_eq!((desk.text(file), files::read(desk.key())), (before, key));
        desk.ok(&["install", client, "--agent", "bob"]);
        let hook = meaning(&desk.text(file))["hooks"]["PermissionRequest"][0]["hooks"][0].clone();
        assert!(
            hook["command"]
                .as_str()
                .is_some_and(|line| line.ends_with("--as bob")),
            "{hook}"
        );
        desk.ok(&["uninstall", client]);
        assert_eq!(desk.text(file), own, "{client}");
    }
}

#[test]
fn gemini_cli_and_git_have_no_such_hook() {
    let desk = Desk::new();
    let before = desk.files();
    assert_contains!(
        desk.fails(2, "install gemini --approvals"),
        "Gemini CLI has no hook that can answer a permission request"
    );
    assert_contains!(
        desk.fails(2, "install git --approvals"),
        "git asks for no permission"
    );
    assert!(desk.files() == before && !desk.key().exists());
}

#[test]
fn the_doctor_reports_a_key_that_is_missing_or_that_others_can_read() {
    // P183
    let desk = Desk::new();
    desk.ok("install claude --approvals");
    let found = || {
        let ran = run_at_home(&desk.world, &["doctor", "--json"]);
        let report = parse_json(&ran.out);
        let all = report["findings"].as_array().expect("a list").clone();
        let codes = all
            .iter()
            .filter_map(|one| one["code"].as_str().map(str::to_owned));
        codes
            .filter(|code| code.starts_with("key_"))
            .collect::<Vec<_>>()
    };
    let open = |directory: u32, key: u32| {
        let set = |path: &std::path::Path, mode| {
            files::set_mode(path, mode);
        };
        set(desk.key().parent().expect("a directory"), directory);
        set(&desk.key(), key);
    };
    assert_eq!(found(), Vec::<String>::new());
    open(0o755, 0o644);
    assert_eq!(found(), ["key_readable"]);
    open(0o700, 0o644);
    assert_eq!(
        found(),
        Vec::<String>::new(),
        "nobody else can open the directory"
    );
    files::remove_file(desk.key());
    assert_eq!(
        found(),
        Vec::<String>::new(),
        "nothing is pinned yet, and the first decision makes a key"
    );
    files::write(desk.key(), "no key");
    assert_eq!(found(), ["key_missing"]);
}
