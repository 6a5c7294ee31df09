//! The tools about claims.

use super::Client;
use crate::world::World;
use serde_json::json;

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
    let text = bob.text(
        "claim_work",
        json!({"action": "claim", "claims": ["src"], "wait": true}),
    );
    assert!(
        text.starts_with("waiting: src; alice owns src/auth/** since"),
        "{text}"
    );
    let (_, data) = alice.call("claim_work", json!({"action": "handoff", "to": "bob"}));
    let text = bob.text("list_claims", json!({"mine": true}));
    assert_contains!(
        text,
        "bob waits for src\n",
        "alice offers src/auth/** to bob"
    );
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
    assert_contains!(
        alice.fails("claim_work", json!({"action": "claims"})),
        "did you mean claim?"
    );
    assert_contains!(
        alice.fails("claim_work", json!({"action": "claim"})),
        "claims is missing"
    );
    assert_contains!(
        alice.fails("claim_work", json!({"action": "accept"})),
        "no such offer is open"
    );
    assert_contains!(
        alice.fails("claim_work", json!({"action": "release"})),
        "alice owns nothing"
    );
    assert_contains!(
        alice.fails("list_claims", json!({"paths": ["task:a b"]})),
        "not the name of a task"
    );
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
