//! `mailbag agent …` and `mailbag send --dry-run`

use crate::world::{World, parse_json};
use serde_json::json;
use std::time::{Duration, Instant};

#[test]
fn agents_are_added_with_their_boxes_and_shown() {
    let world = World::new().agent("alice", "--role engineer --name auto --capability rust,web");
    let alice = world.json("agent show alice");
    assert_eq!(
        (alice["role"].as_str(), alice["name"].as_str()),
        (Some("engineer"), Some("alder"))
    );
    assert_eq!(alice["capabilities"], serde_json::json!(["rust", "web"]));
    assert!(world.room("outbox/alice").is_dir() && world.room("inbox/alice/seen").is_dir());
    // Found by the display name, in any letter case.
    assert_eq!(world.json("agent show Alder")["id"], "alice");
    let world = world.agent("bob", "--name auto");
    assert_eq!(world.json("agent show bob")["name"], "aspen");
}

#[test]
fn a_registry_that_would_be_wrong_is_not_written() {
    let world = World::with("alice");
    let before = world.everything();
    assert_contains!(world.fails(65, "agent add bob alice"), "alice");
    assert_contains!(world.fails(65, "agent add all_things"), "reserved");
    assert_contains!(world.fails(65, "agent add ../bob"), "../bob");
    assert_contains!(world.fails(65, "agent remove human"), "human");
    assert_contains!(
        world.fails(2, "agent add x y --name Zoe"),
        "one display name"
    );
    assert_eq!(world.everything(), before);
}

#[test]
fn agent_set_changes_and_removes_fields_and_keeps_unknown_ones() {
    let world = World::new().agent("alice", "--role engineer --topic auth");
    let mut registry = world.read("registry.json");
    registry["agents"][1]["colour"] = "green".into();
    world.write("registry.json", registry.to_string());
    world.ok("agent set alice --role writer --topic '' --status busy");
    let alice = world.json("agent show alice");
    assert_eq!(
        (alice["role"].as_str(), alice["colour"].as_str()),
        (Some("writer"), Some("green"))
    );
    assert_eq!(
        (alice["topics"].as_array(), alice["status"].as_str()),
        (None, Some("busy"))
    );
    assert_contains!(world.fails(2, "agent set alice"), "no field to change");
    assert_contains!(
        world.fails(3, "agent set alcie --role x"),
        "did you mean alice?"
    );
}

#[test]
fn agent_list_filters_agents() {
    let world = World::new()
        .agent("e1", "--role engineer --capability rust")
        .agent("e2", "--role engineer --status busy")
        .agent("w1", "--role writer");
    let ids = |args: &[&str]| {
        let list = world.items(&[&["agent", "list"], args].concat());
        let ids = list
            .as_array()
            .expect("a list")
            .iter()
            .map(|agent| agent["id"].as_str().expect("an id").to_owned());
        ids.collect::<Vec<_>>()
    };
    assert_eq!(ids(&["--role", "engineer"]), ["e1", "e2"]);
    assert_eq!(ids(&["--capability", "rust"]), ["e1"]);
    assert_eq!(ids(&["--status", "busy"]), ["e2"]);
    assert_eq!(ids(&["--status", "unknown", "--role", "writer"]), ["w1"]);
    world.ok("agent set e2 --status retired");
    assert_eq!(ids(&["--status", "retired"]), ["e2"]);
    assert_contains!(world.fails(2, "agent list --status away"), "online");
}

#[test]
fn an_agent_with_mail_is_removed_by_force_only() {
    let world = World::alice_and_bob();
    world.write(
        "inbox/bob/20261121T103000.123456Z-alice-1.json",
        r#"{"id":"1","from":"alice","body":"hi"}"#,
    );
    assert_contains!(world.fails(65, "agent remove bob"), "1 unread", "--force");
    world.ok("agent remove bob --force");
    assert_eq!(world.inbox("bob").len(), 1, "the mail stays");
    world.fails(3, "agent show bob");
    world.ok("agent remove alice");
    assert!(!world.room("inbox/alice").exists() && !world.room("outbox/alice").exists());
}

#[test]
fn an_alias_of_a_removed_agent_is_removed_with_it_and_its_name_is_free() {
    let world = World::with("alice new carol");
    let aliases = serde_json::json!({"old": "@new", "older": "old", "team": ["new", "alice"]});
    let mut registry = world.read("registry.json");
    registry["aliases"] = aliases;
    world.write("registry.json", registry.to_string());
    for name in ["old", "OLD"] {
        assert_contains!(
            world.fails(65, &format!("agent add {name}")),
            "is an alias of @new",
            "remove \"old\" from \"aliases\" in registry.json first"
        );
    }
    assert_contains!(
        world.ok("agent remove new"),
        "removed its aliases: old, older"
    );
    let left = world.read("registry.json")["aliases"].clone();
    assert_eq!(left, serde_json::json!({"team": ["new", "alice"]}));
    assert_contains!(
        world.fails(65, "send old hello --as alice"),
        "unknown recipient"
    );
    world.ok("agent add old");
    world.ok("send old hello --as alice");
    assert_eq!(world.inbox("old").len(), 1);
}

#[test]
fn a_thousand_agents_are_added_in_one_call() {
    let world = World::new();
    let ids: Vec<String> = (0..1000).map(|n| format!("agent_engineer_{n}")).collect();
    let mut args = vec!["agent", "add", "--role", "engineer"];
    args.extend(ids.iter().map(String::as_str));
    let start = Instant::now();
    world.ok(&args);
    assert!(
        start.elapsed() < Duration::from_secs(10),
        "took {:?}",
        start.elapsed()
    );
    let engineers = world.items("agent list --role engineer");
    assert_eq!(engineers.as_array().map(Vec::len), Some(1000));
    assert!(world.room("inbox/agent_engineer_999/seen").is_dir());
}

#[test]
fn agents_can_be_added_by_many_processes_at_the_same_time() {
    let world = World::new();
    std::thread::scope(|scope| {
        for n in 0..8 {
            let world = &world;
            scope.spawn(move || world.ok(&["agent", "add", &format!("a{n}")]));
        }
    });
    assert_eq!(world.items("agent list").as_array().map(Vec::len), Some(9));
}

#[test]
fn a_dry_run_says_who_is_reached_and_why_an_address_is_invalid() {
    let world = World::new()
        .agent("alice", "--role engineer")
        .agent("bob", "--role engineer")
        .agent("carol", "");
    assert_contains!(
        world.ok("send --dry-run all_engineers '' --as alice"),
        "reaches bob (role)"
    );
    let ran = world.run("send --dry-run all_writers bbo '' --json");
    assert_eq!(ran.code, 65);
    let explained = parse_json(&ran.out);
    let fix = explained["addresses"][1]["problems"][0]["fix"].as_str();
    assert_eq!(fix, Some("did you mean bob?"));
}

#[test]
fn an_agent_is_named_in_any_letter_case() {
    // P444
    let world = World::alice_and_bob();
    world.send("Alice", "BOB", "one");
    let ran = world.run_env("send bob two", "MAILBAG_AGENT", "ALICE");
    assert_eq!(ran.code, 0, "{ran:?}");
    let ran = world.run_env("send bob three", "MAOS_AGENT_ID", "aLICE");
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(world.bodies("bob"), ["one", "two", "three"]);
    assert!(
        world
            .inbox("bob")
            .iter()
            .all(|mail| mail["from"] == "alice")
    );
    assert_contains!(world.ok("inbox Bob"), "three");
    assert_contains!(world.ok("read --as BOB"), "one");
    world.ok("claim src/a --as ALICE");
    assert_contains!(world.ok("claims --mine --as Alice"), "src/a");
    let ran = world.run("send bob four --as HUMAN");
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(world.inbox("bob").last().expect("mail")["from"], "human");
    world.ok("exec --id ALICE -- sh -c 'test $MAILBAG_AGENT = alice'");
    let has_outbox = |name: &str| world.room("outbox").join(name).exists();
    assert!(!has_outbox("Alice") && !has_outbox("ALICE"));
}

#[test]
fn an_empty_value_removes_every_field() {
    let world = World::with("alice");
    world.ok("agent set alice --status busy --description x");
    let set = world.json("agent show alice");
    assert_eq!(
        (&set["status"], &set["description"]),
        (&json!("busy"), &json!("x"))
    );
    world.ok(&["agent", "set", "alice", "--status", "", "--description", ""]);
    let registry = world.read("registry.json");
    let alice = registry["agents"].as_array().expect("a list");
    let alice = alice.iter().find(|agent| agent["id"] == "alice");
    for field in ["status", "description"] {
        assert_eq!(alice.expect("registered").get(field), None, "{field}");
    }
}
