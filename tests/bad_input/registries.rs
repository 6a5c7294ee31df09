//! A registry that can't be read stops the router at its start: nothing is replaced, nothing is routed.

use crate::files;
use crate::town::Town;
use mailbag::room::Room;
use serde_json::json;
use std::fs::File;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};

const SETTINGS: &str = "admission = \"registered\"\n[budget]\nmessages = 50\n";

/// A registry, and the words that the error must name.
fn cases() -> Vec<(&'static str, &'static [&'static str])> {
    vec![
        ("", &["registry.json"]),
        (
            "{\"agents\": [\n{\"id\": \"alice\"},\n{\"id\":",
            &["registry.json line 3"],
        ),
        (
            "{\"agents\": [\n{\"id\": \"bob\"},\n{\"id\": \"Bob\"}]}",
            &["registry.json", "bob", "Bob"],
        ),
        (
            "{\"agents\": [\n{\"id\": \"bob\"},\n{\"id\": \"x\", \"name\": \"Bob\"}]}",
            &["registry.json", "bob", "Bob"],
        ),
        (
            "{\"agents\": [\n{\"id\": \"..\"}]}",
            &["registry.json", ".."],
        ),
        (
            "{\"agents\": [\n{\"id\": \"a/b\"}]}",
            &["registry.json", "a/b"],
        ),
        (
            "{\"agents\": [\n{\"id\": \"all\"}]}",
            &["registry.json", "all"],
        ),
        ("{\"agents\": {}}", &["registry.json", "agents"]),
    ]
}

#[test]
fn a_bad_registry_stops_the_start_names_the_place_and_is_not_replaced() {
    let town = Town::alice_and_bob();
    town.mail("alice", "x.json", json!({"to": "bob", "body": "waits"}));
    for (text, named) in cases() {
        town.place("registry.json", text.as_bytes());
        for command in [["run"].as_slice(), &["run", "--once"]] {
            let complaint = town.fails(65, command);
            for word in named {
                assert!(
                    complaint.contains(word),
                    "{text:?}: {word:?} is not named: {complaint}"
                );
            }
        }
        assert_eq!(town.text("registry.json"), text);
    }
    files::remove_file(town.room("registry.json"));
    assert_contains!(town.fails(1, "run --once"), "registry.json", "missing");
    assert!(!town.room("registry.json").exists());
    assert_eq!(
        (town.count("bob"), town.names("outbox/alice").len()),
        (0, 1)
    );
    town.register(&[json!({"id": "alice"}), json!({"id": "bob"})]);
    town.pass();
    assert_eq!(town.bodies("bob"), ["waits"]);
}

#[test]
fn a_command_never_reads_a_registry_or_settings_that_are_being_saved() {
    let town = Town::alice_and_bob();
    let room = Room::open(&town.room("")).expect("the room opens");
    let registry = town.text("registry.json");
    let ends = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !ends.load(Ordering::Relaxed) {
                // As a shell's `>` and Python's `open(path, "w")` do: the file is empty before it is written.
                for (name, text) in [("registry.json", &*registry), ("settings.toml", SETTINGS)] {
                    let mut file = File::create(town.room(name)).expect("the file is emptied");
                    for part in text.as_bytes().chunks(20) {
                        file.write_all(part).expect("a part is written");
                    }
                }
            }
        });
        for _ in 0..300 {
            room.registry().expect("the registry that was saved");
            room.settings().expect("the settings that were saved");
        }
        ends.store(true, Ordering::Relaxed);
    });
}

#[test]
fn bad_settings_stop_the_start_and_are_not_replaced() {
    let town = Town::alice_and_bob().settings("admission = \"registered\"\nmessage_bites = 5\n");
    assert_contains!(
        town.fails(65, "run --once"),
        "settings.toml line 2",
        "message_bytes"
    );
}
