//! The tools about claims.

use super::Client;
use crate::approvals::{run_at, time};
use crate::world::{World, parse_json};
use serde_json::{Value, json};

#[test]
fn work_is_claimed_handed_over_and_released() {
    let world = World::alice_and_bob();
    let (alice, bob) = (Client::of(&world, "alice"), Client::of(&world, "bob"));
    let (text, data) = alice.call(
        "claim_work",
        json!({"action": "claim", "claims": ["src/auth/**"], "note": "Passkeys"}),
    );
    assert_eq!(
        (text.as_str(), &data["status"]),
        ("granted: src/auth/** (lease 4h)", &json!("granted"))
    );
    assert_contains!(
        bob.fails(
            "claim_work",
            json!({"action": "claim", "claims": "src/auth/x.rs"}),
        ),
        "alice owns src/auth/** since",
        "Passkeys"
    );
    let (text, data) = bob.call("list_claims", json!({"paths": ["src/auth/x.rs", "docs"]}));
    assert_eq!(
        text,
        "src/auth/x.rs: owned by alice (src/auth/**, Passkeys)\ndocs: free"
    );
    assert_eq!(data["paths"][0]["status"], "owned");
    let (_, data) = alice.call("claim_work", json!({"action": "handoff", "to": "bob"}));
    let text = bob.text("list_claims", json!({"mine": true}));
    assert_contains!(text, "alice offers src/auth/** to bob");
    let text = bob.text(
        "claim_work",
        json!({"action": "accept", "offer": data["seq"]}),
    );
    assert_eq!(text, "granted: src/auth/** from alice");
    assert!(
        bob.text("claim_work", json!({"action": "release"}))
            .starts_with("released: src/auth/**")
    );
    assert_eq!(alice.text("list_claims", json!({})), "no claims");
    assert_eq!(
        world
            .inbox("bob")
            .iter()
            .filter(|mail| mail["type"] == "claim")
            .count(),
        0,
        "it is not told twice"
    );
}

#[test]
fn a_wrong_call_of_claim_work_gets_a_helpful_error() {
    let world = World::with("alice");
    let alice = Client::of(&world, "alice");
    for (tool, arguments, said) in [
        (
            "claim_work",
            json!({"action": "claims"}),
            "did you mean claim?",
        ),
        (
            "claim_work",
            json!({"action": "claim"}),
            "claims is missing",
        ),
        (
            "claim_work",
            json!({"action": "accept"}),
            "no such offer is open",
        ),
        (
            "claim_work",
            json!({"action": "release"}),
            "alice owns nothing",
        ),
        (
            "list_claims",
            json!({"paths": ["task:a b"]}),
            "not the name of a task",
        ),
    ] {
        assert_contains!(alice.fails(tool, arguments), said; "{tool}");
    }
}

#[test]
fn the_path_of_an_owner_address_is_relative_to_the_directory_of_the_server() {
    let world = World::with("alice bob eve");
    for file in ["package.json", "web/package.json"] {
        world.write(&format!("../{file}"), "");
    }
    world.ok("claim package.json --as alice");
    world.ok("claim web/package.json --as bob");
    let mut server = world.bare("mcp");
    server
        .env("MAILBAG_AGENT", "eve")
        .current_dir(world.path().join("web"));
    let eve = Client::of_command(server);
    eve.handshake("2025-06-18");
    eve.text(
        "send_message",
        json!({"to": "owner:package.json", "body": "may I?"}),
    );
    assert_eq!(
        (world.bodies("alice").len(), world.bodies("bob")),
        (0, vec!["may I?".to_owned()])
    );
}

#[track_caller]
fn is_short(text: &str, data: &Value, most: usize) {
    let bytes = data.to_string().len();
    assert!(text.len() < most && bytes < 8_000, "{text}\n{data}");
}

#[test]
fn the_owners_of_a_path_are_cut_to_the_first_ones_and_the_others_are_counted() {
    let world = World::alice_and_bob();
    let subjects: Vec<String> = (0..300)
        .map(|n| format!("src/{}/{n}", "d".repeat(250)))
        .collect();
    let (alice, bob) = (Client::of(&world, "alice"), Client::of(&world, "bob"));
    for some in subjects.chunks(100) {
        let (text, data) = alice.call("claim_work", json!({"action": "claim", "claims": some}));
        is_short(&text, &data, 4_000);
        assert_contains!(text, " and 95 more (lease 4h)");
        assert_fields!(data, more_claims: 90);
    }
    world.ok("claim lib --as bob");
    let (text, data) = bob.call("list_claims", json!({"paths": ["src", "lib"]}));
    is_short(&text, &data, 8_000);
    assert_contains!(text, " and 290 more of alice\nlib: yours");
    assert_fields!(data["paths"][0], status: "owned", more_claims: 290);
    let out = world.run("claims src lib --as bob").out;
    assert_eq!(out.lines().count(), 12, "{out}");
    assert_contains!(out, "src: and 290 more of alice; --json lists all\n");
    let complete = parse_json(world.run("claims src --as bob --json").out);
    let claims = complete["paths"][0]["claims"].as_array().map(Vec::len);
    assert_eq!(claims, Some(300));
    let (text, data) = alice.call("claim_work", json!({"action": "handoff", "to": "bob"}));
    assert!(text.len() < 4_000, "{text}");
    assert_fields!(data, more_claims: 290);
    let (text, data) = bob.call("list_claims", json!({"mine": true}));
    is_short(&text, &data, 4_000);
    assert_fields!(data["offers"][0], more_subjects: 290);
    let (text, data) = alice.call("claim_work", json!({"action": "release"}));
    is_short(&text, &data, 4_000);
    assert_fields!(data, more_claims: 290);
}

#[test]
fn no_claim_is_listed_that_lapsed_without_a_router() {
    // P123
    let world = World::alice_and_bob();
    run_at(&world, 0, "claim src --lease 1m --as alice");
    let late = time(10);
    let variables = [("MAILBAG_AGENT", "bob"), ("MAILBAG_TEST_NOW", &*late)];
    let client = Client::with(&world, &[], &variables);
    assert_eq!(
        client.text("list_claims", json!({"paths": ["src"]})),
        "src: free"
    );
}
