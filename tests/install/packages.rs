//! The plugins and extensions that clients install from a checkout, and the clients' own validators.

use super::up::Fresh;
use crate::files::{self, are_up_to_date};
use crate::world::{World, lossy, parse_json, skip};
use mailbag::clients::install::package_files;
use std::path::Path;
use std::process::Command;

/// With `MAILBAG_WRITE=1`, writes the plugins again.
#[test]
fn the_plugins_in_the_checkout_are_up_to_date() {
    let files = package_files().into_iter();
    let files = files.map(|(name, text)| (name, text.into_bytes()));
    are_up_to_date("packaging/plugins", &files.collect());
}

#[test]
fn each_hook_of_a_plugin_calls_the_program_on_the_path_for_its_own_client() {
    let mut seen = 0;
    for (name, text) in package_files() {
        let Some(folder) = name.strip_suffix("/hooks/hooks.json") else {
            continue;
        };
        let client = folder.rsplit('/').next().expect("a client");
        let hooks = parse_json(&text);
        let events = hooks["hooks"].as_object().expect("events").values();
        for hook in events.flat_map(|groups| groups[0]["hooks"].as_array().expect("hooks")) {
            let command = hook["command"].as_str().expect("a command");
            let calls = [
                format!("mailbag hook {client}"),
                "mailbag wait --rewake".into(),
            ];
            assert!(command.starts_with("command -v mailbag "), "{command}");
            assert!(calls.iter().any(|call| command.contains(call)), "{command}");
            seen += 1;
        }
    }
    assert!(seen > 20, "{seen} hooks");
}

#[test]
fn the_doctor_reports_a_plugin_of_the_user_beside_hooks_of_the_project() {
    // P550
    let clients = [
        (
            "claude",
            ".claude/settings.json",
            "{\"enabledPlugins\": {\"mailbag@mailbag\": true}}",
        ),
        (
            "codex",
            ".codex/config.toml",
            "[plugins.\"mailbag@mailbag\"]\nenabled = true\n",
        ),
        (
            "copilot",
            ".copilot/settings.json",
            "{\"enabledPlugins\": {\"mailbag@mailbag\": true}}",
        ),
        (
            "gemini",
            ".gemini/extensions/mailbag/gemini-extension.json",
            "{}",
        ),
        ("qwen", ".qwen/extensions/mailbag/qwen-extension.json", "{}"),
    ];
    let fresh = Fresh::with(&clients.map(|(client, ..)| client));
    fresh.ok("up");
    let twice = || fresh.run("doctor --json").out.contains("hooks_twice");
    for (client, record, text) in clients {
        assert!(!twice(), "{client}");
        let record = format!("../home/{record}");
        fresh.write(&record, text);
        assert!(twice(), "{client}");
        let removal = fresh.run("doctor").out;
        assert!(
            removal.contains(&format!("{client} plugin "))
                || removal.contains(&format!("{client} extensions "))
        );
        files::remove_file(fresh.at(&record));
    }
}

#[test]
fn up_leaves_out_a_client_that_has_the_plugin_of_the_user() {
    let fresh = Fresh::with(&["codex", "qwen"]);
    fresh.write("../home/.qwen/extensions/mailbag/qwen-extension.json", "{}");
    assert_contains!(
        fresh.ok("up"),
        "qwen      already installed for you in all projects"
    );
    assert!(!fresh.at(".qwen").exists() && fresh.at(".codex/hooks.json").exists());
    assert!(!fresh.run("doctor --json").out.contains("hooks_twice"));
}

#[test]
fn the_validators_of_the_clients_accept_the_plugins() {
    let claude = ["plugin", "validate", "--strict"];
    accept("claude", &claude, ".");
    accept(
        "claude",
        &[&claude[..], &["--profile", "directory"]].concat(),
        "packaging/plugins/claude",
    );
    accept(
        "gemini",
        &["extensions", "validate"],
        "packaging/plugins/gemini",
    );
}

/// Runs a validator in an empty home. `.ci/run` installs the clients.
fn accept(client: &str, arguments: &[&str], path: &str) {
    let modules = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../node/node_modules/.bin");
    let program = modules.join(client);
    if !program.exists() {
        return skip(format!("{client} is not in {}", modules.display()));
    }
    let home = World::empty();
    let output = Command::new(program)
        .args(arguments)
        .arg(path)
        .env("HOME", home.path())
        .output()
        .expect("it starts");
    assert!(
        output.status.success(),
        "{client}: {}{}",
        lossy(&output.stdout),
        lossy(&output.stderr)
    );
}
