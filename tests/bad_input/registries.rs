//! A registry that can't be read stops the router at its start: nothing is replaced, nothing is routed.

use crate::files;
use crate::town::Town;
use serde_json::json;

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
fn bad_settings_stop_the_start_and_are_not_replaced() {
    let town = Town::alice_and_bob().settings("admission = \"registered\"\nmessage_bites = 5\n");
    assert_contains!(
        town.fails(65, "run --once"),
        "settings.toml line 2",
        "message_bytes"
    );
}
