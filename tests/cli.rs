//! The command line: output, effects and exit status of each command.

mod agents;
mod completing;
mod helping;
mod looking;
mod man;
mod mistakes;
mod non_utf_8;
mod reading;
mod refused;
mod room_problems;
mod sending;
mod sharing;
mod spoken;
mod standing;
mod terminal;

use crate::files;
use crate::world::{World, lossy, parse_json};

#[test]
fn init_makes_a_room_and_again_changes_nothing() {
    let world = World::empty();
    let first = world.run("init");
    assert_eq!(first.code, 0);
    assert!(
        first.out.contains("created the room") && first.err.contains("mailbag agent add"),
        "{first:?}"
    );
    assert_eq!(world.text(".gitignore"), "*\n");
    let before = world.everything();
    assert_contains!(world.ok("init"), "already a room");
    assert_eq!(world.json("init")["created"], false);
    assert_eq!(world.everything(), before);
}

#[test]
fn a_harness_keeps_what_it_made_before() {
    let world = World::empty();
    let team = world.path().join("team");
    files::make_dir(team.join("outbox/alice"));
    files::make_dir(team.join("inbox/alice"));
    files::write(team.join("outbox/alice/x.json"), "{}");
    world.ok("init team");
    assert!(team.join("outbox/alice/x.json").exists());
    let status: serde_json::Value = world.json("status --room team");
    assert_eq!(status["unregistered"][0]["fix"], "mailbag agent add alice");
}

#[test]
fn a_room_is_found_from_a_subdirectory_and_a_missing_room_is_an_error() {
    let world = World::with("alice");
    let below = world.path().join("src/deep");
    files::make_dir(&below);
    world
        .program("agent show alice")
        .current_dir(below)
        .assert()
        .success();
    let nowhere = World::empty();
    assert_contains!(nowhere.fails(3, "status"), "no room", "mailbag init");
    nowhere
        .program("status")
        .env("MAILBAG_ROOM", world.room(""))
        .assert()
        .success();
    let named = |first: &str| {
        let mut status = nowhere.program("status");
        status
            .env("MAILBAG_ROOM", first)
            .env("MAOS_MESSAGE_DIR", world.room(""))
            .assert()
    };
    named("").success();
    named("/nowhere").failure();
}

#[test]
fn mistakes_on_the_command_line_are_answered_with_what_was_meant() {
    let world = World::new();
    assert_contains!(world.fails(2, "sned"), "send");
    assert_contains!(world.fails(2, "inbox --jsn"), "--json");
    let error = world.fails(2, "sned --json");
    let error = parse_json(&error);
    assert_eq!(
        (
            error["error"]["code"].as_str(),
            error["error"]["exit"].as_u64()
        ),
        (Some("usage"), Some(2))
    );
    assert_eq!(error["error"]["fix"], "a similar subcommand exists: 'send'");
    let error = world.fails(3, "agent show bob --json");
    let error = parse_json(&error);
    assert_eq!(error["error"]["code"], "not_found");
}

#[test]
fn the_schemas_are_printed_as_they_are() {
    let world = World::empty();
    assert_eq!(
        world.ok("generate schema").trim(),
        mailbag::message::schema::message_schema().trim()
    );
    assert_eq!(
        world.ok("generate schema registry").trim(),
        mailbag::message::schema::registry_schema().trim()
    );
}

#[test]
fn settings_shows_the_source_of_each_value() {
    let world = World::new().settings("admission = \"open\"\n");
    let settings = world.items("settings");
    let source = |key: &str| {
        let settings = settings.as_array().expect("a list");
        settings
            .iter()
            .find(|setting| setting["key"] == key)
            .map(|setting| setting["source"].clone())
    };
    assert_eq!(source("admission"), Some("settings.toml".into()));
    assert_eq!(source("context"), Some("default".into()));
    // The output is a valid settings.toml.
    let text = world.ok("settings");
    let again = World::new().settings(&text);
    assert_contains!(again.ok("settings"), "admission = \"open\"");
}

#[test]
fn the_demo_fits_a_screen_and_leaves_nothing() {
    let world = World::empty();
    let temporary = world.path().join("tmp");
    files::make_dir(&temporary);
    let mut demo = world.program("demo");
    let shown = demo.env("TMPDIR", &temporary).output().expect("it runs");
    assert_contains!(
        lossy(&shown.stdout),
        "inbox/engineer: message from planner\n    Which port",
        "inbox/planner: error from mailbag",
        "did you mean engineer"
    );
    assert!(lossy(&shown.stdout).lines().count() < 24, "one screen");
    assert_eq!(
        std::fs::read_dir(&temporary).expect("a directory").count(),
        0
    );
}
