//! Rejected settings: the error names the place and the fix, and no file changes.

use super::{Desk, client, fixtures, place, read_fixture};
use crate::files;
use std::fs;

#[test]
fn install_rejects_invalid_settings_and_changes_no_file() {
    let desk = Desk::new();
    for fixture in fixtures("wrong/") {
        let settings = desk.write(place(&fixture), read_fixture(&fixture));
        let before = desk.files();
        for args in [
            &["install", client(&fixture)][..],
            &["install", client(&fixture), "--dry-run"],
        ] {
            let said = desk.fails(1, args);
            assert!(said.contains(place(&fixture)), "{fixture}: {said}");
            assert_contains!(said, "nothing was changed"; "{fixture}");
            let reason = match &*fixture {
                "wrong/claude-not-json.json" => "settings.json line 3: is not valid JSON",
                "wrong/claude-not-utf8.json" => "is not UTF-8",
                _ => "",
            };
            assert!(said.contains(reason), "{fixture}: {said}");
        }
        assert!(desk.files() == before, "{fixture}");
        assert!(!desk.is_there("heard.json"), "{fixture}: the hook was run");
        files::remove_file(settings);
    }
}

#[test]
fn one_invalid_file_prevents_all_changes() {
    let desk = Desk::new();
    desk.write(".mcp.json", "{");
    let before = desk.files();
    assert_contains!(desk.fails(1, "install claude"), ".mcp.json");
    assert!(desk.files() == before);
}

#[test]
fn a_file_that_is_read_only_is_meant_so() {
    let desk = Desk::with("claude-own-hooks.json");
    let path = desk.path(".claude/settings.json");
    files::set_mode(&path, 0o444);
    let before = desk.files();
    assert_contains!(
        desk.fails(1, "install claude"),
        "settings.json: is read-only; give yourself write permission"
    );
    assert!(desk.files() == before);
    files::set_mode(&path, 0o644);
    desk.ok("install claude");
    files::set_mode(&path, 0o444);
    assert_contains!(desk.fails(1, "uninstall claude"), "is read-only");
}

#[test]
fn install_rejects_directories_and_broken_links_in_place_of_settings() {
    let desk = Desk::new();
    files::make_dir(desk.path(".claude/settings.json"));
    assert_contains!(desk.fails(1, "install claude"), "is not a regular file");
    desk.write(".gemini", "a file");
    let said = desk.run("install gemini");
    assert_ne!(said.code, 0);
    assert_contains!(said.err, ".gemini");
    files::link(
        "hooks.json",
        desk.write(".codex/x", "").with_file_name("hooks.json"),
    );
    let said = desk.run("install codex");
    assert!(
        said.code != 0 && said.err.contains("follow the links of"),
        "{said:?}"
    );
}

#[test]
fn install_does_not_follow_a_link_out_of_the_project() {
    for (link, client) in [
        ("AGENTS.md", "claude"),
        ("CLAUDE.md", "claude"),
        (".claude/settings.json", "claude"),
        (".mcp.json", "claude"),
        (".codex", "codex"),
        ("GEMINI.md", "gemini"),
    ] {
        let desk = Desk::new();
        let outside = tempfile::tempdir().expect("a directory");
        let (file, directory) = (outside.path().join(".bashrc"), outside.path().join("dir"));
        files::write(&file, "# mine\n");
        files::make_dir(&directory);
        desk.write("AGENTS.md", "# Rules\n");
        files::make_dir(desk.path(".claude"));
        let target = if link == ".codex" { &directory } else { &file };
        let _ = fs::remove_file(desk.path(link));
        files::link(target, desk.path(link));
        let before = desk.files();
        for more in [&[][..], &["--dry-run"]] {
            let ran = desk.run(&[&["install", client], more].concat());
            let real = target
                .canonicalize()
                .expect("it is there")
                .display()
                .to_string();
            let wanted = format!("is a link out of the project, to {real}");
            assert!(
                ran.code == 1 && ran.err.contains(&wanted) && !ran.out.contains("# mine"),
                "{link}: {ran:?}"
            );
        }
        assert!(desk.files() == before, "{link}");
        assert_eq!(files::read_text(&file), "# mine\n", "{link}");
        assert!(
            fs::read_dir(&directory)
                .expect("a directory")
                .next()
                .is_none(),
            "{link}"
        );
        assert!(!desk.is_there("heard.json"), "{link}: the hook was run");
    }
}

#[test]
fn a_link_that_would_lead_out_of_the_project_to_a_new_file_makes_none() {
    let desk = Desk::new();
    let outside = tempfile::tempdir().expect("a directory");
    for target in [outside.path().join("new"), "no/../../../new".into()] {
        files::link(&target, desk.path("AGENTS.md"));
        assert!(
            desk.fails(1, "install codex")
                .contains("is a link out of the project"),
            "{}",
            target.display()
        );
        assert!(!target.exists());
        files::remove_file(desk.path("AGENTS.md"));
    }
}

#[test]
fn an_agent_has_to_be_registered() {
    let desk = Desk::new();
    assert_contains!(
        desk.fails(3, "install claude --agent carol"),
        "no agent is called \"carol\"",
        "`mailbag agent add carol`"
    );
    assert!(!desk.is_there(".claude"));
    files::remove_dir(desk.path(".mailbag"));
    assert_contains!(
        desk.fails(3, "install claude --agent bob"),
        "`mailbag init`"
    );
}

#[test]
fn a_display_name_becomes_the_id() {
    let desk = Desk::new();
    desk.world.ok("agent add agent_engineer_1 --name Sintra");
    desk.ok("install claude --agent sintra");
    assert_contains!(
        desk.text(".claude/settings.json"),
        "mailbag hook claude --as agent_engineer_1\""
    );
}

#[test]
fn the_command_line_says_what_it_needs() {
    let desk = Desk::new();
    assert_contains!(desk.world.fails(2, "install"), "CLIENT");
    assert_contains!(
        desk.world.fails(2, "install claude --user --project"),
        "cannot be used"
    );
    assert_contains!(
        desk.world.fails(2, "install cursor"),
        "possible values: claude, codex, gemini"
    );
    assert_contains!(
        desk.world.fails(2, "install claude --command elsewhere"),
        "ends in /mailbag"
    );
}
