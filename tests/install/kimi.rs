//! The hooks of Kimi CLI in the user's `config.toml`, beside other settings.

use super::Desk;

const CONFIG: &str = "home/.kimi-code/config.toml";

/// Settings as people have them.
const FOUND: [&str; 5] = [
    "",
    "default_model = \"k2\" # Mine.\n\n[providers.k2]\ntype = \"kimi\"\n",
    "[[hooks]]\nevent = \"Stop\" # Mine.\ncommand = \"notify-send done\"\n\n[thinking]\nmode = \"auto\"",
    "default_model = \"k2\"\r\n\r\n[[hooks]]\r\nevent = \"Stop\"\r\ncommand = \"true\"\r\n",
    "hooks = []\n",
];

#[test]
fn kimi_hooks_are_added_beside_the_person_s_hooks_and_removed_to_the_byte() {
    let desk = Desk::new();
    for found in &FOUND[..4] {
        desk.write(CONFIG, found);
        let before = desk.files();
        desk.ok("install kimi --user --agent bob");
        let text = desk.text(CONFIG);
        assert!(text.starts_with(found), "{text}");
        let config: toml::Table = text.parse().expect("TOML");
        let hooks = config["hooks"].as_array().expect("hooks");
        let ours: Vec<_> = hooks
            .iter()
            .filter(|hook| {
                hook["command"]
                    .as_str()
                    .is_some_and(|line| line.ends_with("kimi --as bob"))
            })
            .collect();
        assert_eq!(ours.len(), 6, "{text}");
        assert_eq!(
            text.contains("\r\n"),
            !text.replace("\r\n", "").contains('\n'),
            "{text:?}"
        );
        assert!(
            desk.ok("install kimi --user --agent bob")
                .starts_with("no changes for Kimi CLI")
        );
        let status = desk.json("install kimi --status --user")["clients"][0].clone();
        assert_fields!(status, hooks: "installed", agent: "bob");
        desk.ok("uninstall kimi --user");
        let mut left = desk.files();
        left.retain(|file| !before.contains(file));
        assert!(desk.files() == before, "{found:?}: {left:?}");
    }
}

#[test]
fn uninstall_keeps_the_person_s_changes_and_a_new_agent_replaces_the_first() {
    let desk = Desk::new();
    desk.write(CONFIG, FOUND[2]);
    desk.ok("install kimi --user --agent bob");
    let own = "\n[[hooks]]\nevent = \"Stop\"\ncommand = \"true\"\n";
    desk.write(CONFIG, desk.text(CONFIG).replace("auto", "off") + own);
    desk.ok("install kimi --user");
    assert!(
        !desk.text(CONFIG).contains("--as bob"),
        "{}",
        desk.text(CONFIG)
    );
    desk.ok("uninstall kimi --user");
    assert_eq!(
        desk.text(CONFIG).trim_end(),
        format!("{}\n{own}", FOUND[2].replace("auto", "off")).trim_end()
    );
}

#[test]
fn hooks_in_one_value_are_refused_and_a_missing_one_is_named() {
    let desk = Desk::new();
    desk.write(CONFIG, FOUND[4]);
    assert_contains!(
        desk.fails(1, "install kimi --user"),
        "write each hook as a table [[hooks]]"
    );
    assert_eq!(desk.text(CONFIG), FOUND[4]);
    desk.write(CONFIG, "");
    desk.ok("install kimi --user");
    let text = desk.text(CONFIG);
    desk.write(CONFIG, text.replacen("\"Stop\"", "\"Interrupt\"", 1));
    let status = desk.json("install kimi --status --user")["clients"][0].clone();
    assert_fields!(status, hooks: "partly", missing: ["Stop"]);
}

#[test]
fn installing_kimi_in_a_project_adds_server_and_section_and_suggests_user_hooks() {
    let desk = Desk::new();
    let before = desk.files();
    let said = desk.run("install kimi");
    assert_contains!(said.err, "`mailbag install kimi --user` adds them"; "{said:?}");
    assert!(
        desk.text(".kimi-code/mcp.json").contains("mailbag")
            && desk.text("AGENTS.md").contains("mailbag")
    );
    desk.ok("install codex");
    desk.ok("uninstall codex");
    assert!(desk.is_there("AGENTS.md"), "Kimi CLI still uses it");
    desk.ok("uninstall kimi");
    let mut left = desk.files();
    left.retain(|file| !before.contains(file));
    assert!(
        !desk.is_there("AGENTS.md") && !desk.is_there(".kimi-code"),
        "{left:?}"
    );
}
