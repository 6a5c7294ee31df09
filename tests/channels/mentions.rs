//! Mentions and the NDJSON spelling, with real files.

use super::conversation;
use crate::world::World;
use serde_json::json;

fn team() -> World {
    World::alice_and_bob().agent("agent_engineer_1_ab", "--role engineer --name Sintra")
}

#[test]
fn a_message_without_to_reaches_the_mentioned_agents() {
    let world = team();
    world.route(
        "alice",
        "x.json",
        r#"{"body":"@bob and @sintra: look. Also @nobody and @bob."}"#,
    );
    assert_eq!(
        (
            world.inbox("bob").len(),
            world.inbox("agent_engineer_1_ab").len()
        ),
        (1, 1)
    );
    assert_eq!(world.inbox("bob")[0]["delivery"]["via"], "mention");
    assert_eq!(
        conversation(&world, "main")[0]["addressed"],
        json!(["@bob", "@sintra", "@nobody"])
    );
    assert!(
        world.inbox("alice").is_empty(),
        "an unknown handle is no mistake"
    );
}

#[test]
fn the_channel_and_a_role_can_be_mentioned() {
    let world = team();
    world.drop_file("alice", "1.json", r#"{"body":"@channel: lunch"}"#);
    world.drop_file("alice", "2.json", r#"{"body":"@engineers: build"}"#);
    world.drop_file("alice", "3.json", r#"{"body":"only @nobody.here"}"#);
    world.route(
        "alice",
        "4.json",
        r#"{"type":"user","content":"only @nobody.here"}"#,
    );
    assert_eq!(world.bodies("bob"), ["@channel: lunch"]);
    assert_eq!(world.bodies("agent_engineer_1_ab").len(), 2);
    assert_eq!(
        world.inbox("alice")[0]["metadata"]["problems"][0]["code"],
        "no_recipient"
    );
    assert_eq!(conversation(&world, "main").len(), 3);
}

#[test]
fn the_ndjson_dialect_of_other_tools_is_accepted() {
    let world = team();
    let kinds = [
        "user",
        "agent",
        "tool_call",
        "tool_result",
        "thinking",
        "status",
        "error",
        "agent_complete",
        "agent_message",
    ];
    let line = |n: usize, kind: &str| {
        json!({
            "id": format!("01JD3Q0000000000000000000{n}"),
            "t": format!("2026-11-21T10:00:0{n}.123Z"),
            "type": kind,
            "sender": {"id": "alice", "kind": "agent"},
            "content": if kind == "tool_call" { json!({"tool": "grep", "text": "grep x"}) } else { json!(format!("{kind} @bob")) },
            "addressed": if kind == "error" || kind == "agent_message" { json!(["bob"]) } else { json!([]) },
            "refs": [],
            "metadata": {"model": "any"},
        })
    };
    let text: String = kinds
        .iter()
        .enumerate()
        .map(|(n, kind)| format!("{}\n", line(n, kind)))
        .collect();
    world.route("alice", "turn.ndjson", text);
    let told: Vec<_> = world
        .inbox("alice")
        .iter()
        .map(|mail| mail["body"].clone())
        .collect();
    assert!(told.is_empty(), "{told:#?}");
    let lines = conversation(&world, "main");
    let got: Vec<&str> = lines
        .iter()
        .filter_map(|line| line["type"].as_str())
        .collect();
    assert_eq!(got, kinds);
    assert_fields!(lines[0], id: "01JD3Q00000000000000000000", t: "2026-11-21T10:00:00.123Z");
    assert_fields!(lines[2], content: "grep x", metadata.content: json!({"tool": "grep"}));
    let bob: Vec<_> = world
        .inbox("bob")
        .iter()
        .map(|mail| mail["type"].clone())
        .collect();
    assert_eq!(
        bob.len(),
        kinds.len() - 1,
        "all but the tool call mention or address bob: {bob:?}"
    );
    assert_eq!(world.inbox("bob")[0]["metadata"]["model"], "any");
}
