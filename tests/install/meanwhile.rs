//! Changes to the files by the person or the client between installation and removal.

use super::{Desk, backups, client, commands, fixtures, meaning, place, read_fixture};
use crate::files;
use crate::world::mode;

#[test]
fn uninstall_keeps_a_changed_line_and_restores_the_rest() {
    let with_marker =
        |name: &&String| String::from_utf8_lossy(&read_fixture(name)).contains("marker");
    let all = fixtures("");
    let all: Vec<&String> = all.iter().filter(with_marker).collect();
    assert!(all.len() > 12, "{all:?}");
    let shared = Desk::new();
    for fixture in all {
        // A list that was empty is removed with its hook, so these leave a backup.
        let is_rough = ["claude-odd.json", "claude-minified.json"].contains(&fixture.as_str());
        let own = is_rough.then(Desk::new);
        let desk = own.as_ref().unwrap_or(&shared);
        desk.write(place(fixture), read_fixture(fixture));
        let before = desk.text(place(fixture));
        let change = |text: &str| {
            let changed = text
                .replace("marker\": 1", "marker\": 2")
                .replace("marker = 1", "marker = 2");
            changed
                .replace("marker\" : 1", "marker\" : 2")
                .replace("marker\":1", "marker\":2")
        };
        desk.ok(&["install", client(fixture)]);
        let installed = desk.text(place(fixture));
        assert_ne!(change(&installed), installed, "{fixture}");
        desk.write(place(fixture), change(&installed));
        desk.ok(&["uninstall", client(fixture)]);
        let after = desk.text(place(fixture));
        if is_rough {
            assert!(!after.contains("mailbag"), "{fixture}: {after}");
        } else {
            assert_eq!(after, change(&before), "{fixture}");
            assert!(backups(&desk.world).is_empty(), "{fixture}");
        }
        files::remove_file(desk.path(place(fixture)));
    }
}

#[test]
fn another_agent_takes_the_place_of_the_first_and_the_persons_own_changes_stay() {
    let desk = Desk::new();
    desk.world.ok("agent add carol");
    for (client, settings) in [
        ("claude", ".claude/settings.json"),
        ("gemini", ".gemini/settings.json"),
    ] {
        desk.ok(&["install", client, "--agent", "bob"]);
        let slower = desk
            .text(settings)
            .replace("\"timeout\": 5", "\"timeout\": 7");
        desk.write(settings, slower);
        desk.ok(&["install", client, "--agent", "carol"]);
        let now = desk.text(settings);
        assert!(now.contains("carol") && !now.contains("bob"), "{now}");
        assert_contains!(now, "\"timeout\": 7");
        assert_eq!(commands(&meaning(&now), "SessionEnd").len(), 1);
        desk.ok(&["install", client]);
        assert!(!desk.text(settings).contains("carol"));
    }
    desk.ok("install codex --agent bob");
    desk.ok("install codex --agent carol");
    assert!(!desk.text(".codex/config.toml").contains("bob"));
    desk.ok("install codex");
    let fresh = Desk::new();
    fresh.ok("install codex");
    let config = desk.text(".codex/config.toml").replace(&desk.program, "P");
    assert_eq!(
        config,
        fresh
            .text(".codex/config.toml")
            .replace(&fresh.program, "P")
    );
}

#[test]
fn a_hook_that_is_missing_comes_back_and_one_that_was_changed_by_hand_stays() {
    let desk = Desk::new();
    desk.ok("install gemini");
    let mut settings = meaning(&desk.text(".gemini/settings.json"));
    settings["hooks"]
        .as_object_mut()
        .expect("hooks")
        .remove("AfterTool");
    let by_hand = format!("MAILBAG_ROOM=/there {} hook gemini", desk.program);
    settings["hooks"]["BeforeAgent"][0]["hooks"][0]["command"] = by_hand.clone().into();
    desk.write(".gemini/settings.json", settings.to_string());
    desk.ok("install gemini");
    let now = meaning(&desk.text(".gemini/settings.json"));
    assert_eq!(commands(&now, "BeforeAgent"), [by_hand]);
    assert_eq!(
        commands(&now, "AfterTool"),
        [super::line("gemini", &desk.program, "hook gemini")]
    );
    desk.ok("uninstall gemini");
    assert!(!desk.is_there(".gemini"));
}

#[test]
fn the_waiter_alone_comes_back_into_the_group_of_the_hook() {
    let desk = Desk::new();
    desk.ok("install claude");
    let whole = desk.text(".claude/settings.json");
    let mut settings = meaning(&whole);
    settings["hooks"]["Stop"][0]["hooks"]
        .as_array_mut()
        .expect("hooks")
        .pop();
    desk.write(
        ".claude/settings.json",
        serde_json::to_string_pretty(&settings).expect("JSON"),
    );
    desk.ok("install claude");
    assert_eq!(
        meaning(&desk.text(".claude/settings.json")),
        meaning(&whole)
    );
}

#[test]
fn a_link_stays_a_link_and_a_private_file_stays_private() {
    let desk = Desk::new();
    let real = desk.write("dotfiles/claude.json", "{\n  \"marker\": 1\n}\n");
    files::set_mode(&real, 0o600);
    files::make_dir(desk.path(".claude"));
    files::link(
        "../dotfiles/claude.json",
        desk.path(".claude/settings.json"),
    );
    let before = desk.files();
    desk.ok("install claude");
    let link = desk.path(".claude/settings.json");
    assert!(link.symlink_metadata().expect("a link").is_symlink());
    assert_contains!(desk.text("dotfiles/claude.json"), "UserPromptSubmit");
    assert_eq!(mode(&real), 0o600);
    let backups = backups(&desk.world);
    let backup = backups
        .iter()
        .find(|path| path.ends_with("settings.json.before-mailbag"))
        .expect("a backup");
    assert_eq!(mode(backup), 0o600);
    desk.ok("uninstall claude");
    assert!(link.symlink_metadata().expect("a link").is_symlink());
    assert_eq!(mode(&real), 0o600);
    assert!(desk.files() == before);
}

#[test]
fn install_writes_through_a_link_to_a_missing_file() {
    let desk = Desk::new();
    files::make_dir(desk.path(".claude"));
    files::link(
        "../dotfiles/claude.json",
        desk.path(".claude/settings.json"),
    );
    desk.ok("install claude");
    assert_contains!(desk.text("dotfiles/claude.json"), "UserPromptSubmit");
    assert!(
        desk.path(".claude/settings.json")
            .symlink_metadata()
            .expect("a link")
            .is_symlink()
    );
}
