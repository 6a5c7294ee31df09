//! `mailbag list --events`: the same facts for programs, in one envelope.

use super::{echo, room};
use crate::world::{Words, World};
use serde_json::{Value, json};
use std::collections::BTreeSet;

fn events(world: &World, args: &(impl Words + ?Sized)) -> Vec<Value> {
    let events = world.items(&[vec!["list", "--events"], args.words()].concat());
    events.as_array().expect("a list").clone()
}

#[test]
fn dropped_events_come_back_in_the_envelope_and_with_stable_ids() {
    // P167, P402
    let world = World::alice_and_bob();
    echo(
        &world,
        "alice",
        r#"{"event_id":"e1","event_type":"decision.recorded","session_id":"s7","actor":"alice","subject":"Port","payload":{"text":"8080","choice":8080},"links":["https://x.example/1","m1"]}"#,
    );
    world.pass();
    echo(
        &world,
        "bob",
        r#"{"type":"milestone","body":"It works","refs":["alice/e1"],"metadata":{"session_id":"s8"}}"#,
    );
    echo(&world, "bob", r#"{"to":"alice","body":"prose"}"#);
    world.pass();
    let room = world.text("spool/room").trim().to_owned();
    let seen = events(&world, "");
    assert_eq!(seen.len(), 2, "{seen:#?}");
    let log = world.items("list");
    let (seq, at) = (&log[0]["seq"], &log[0]["accepted_at"]);
    let wanted = json!({
        "id": "e1", "seq": seq, "room": room, "type": "decision.recorded", "session_id": "s7", "from": "alice",
        "accepted_at": at, "subject": "Port", "payload": {"text": "8080", "choice": 8080}, "links": ["https://x.example/1", "m1"],
    });
    assert_eq!(seen[0], wanted);
    assert_fields!(seen[1], session_id: "s8", links: ["alice/e1"]);
    assert_fields!(seen[1], subject: Value::Null, payload: json!({"body": "It works"}));
    world.ok("archive --older-than 0");
    assert_eq!(events(&world, ""), seen, "an id never changes");
    assert_eq!(events(&world, "--type milestone"), seen[1..]);
    assert_eq!(
        events(&world, "--type decision"),
        seen[..1],
        "the part before the dot"
    );
    for (unknown, fix) in [
        ("mileston", "did you mean milestone?"),
        ("zzz", "the types are approval, charter, claim, "),
    ] {
        let error = world.fails(2, &["list", "--events", "--type", unknown]);
        assert_contains!(error, "is not a type of event", fix);
    }
    let none = world.run("list --events --since 2100-01-01T00:00:00Z");
    assert_eq!((&*none.out, &*none.err), ("", "no events\n"));
    assert_eq!(
        events(&world, "--since 2100-01-01T00:00:00Z"),
        [] as [Value; 0]
    );
}

#[test]
fn each_change_of_claims_is_an_event() {
    // P167
    let world = room("alice bob");
    let says = |agent: &str, message: &str| {
        echo(&world, agent, message);
        world.pass();
    };
    says(
        "alice",
        r#"{"type":"claim","claims":["src","docs","task:a"],"subject":"Passkeys"}"#,
    );
    says(
        "alice",
        r#"{"id":"offer","type":"handoff","to":"bob","claims":["docs"],"body":"yours"}"#,
    );
    says("bob", r#"{"type":"accept","in_reply_to":"alice/offer"}"#);
    says("alice", r#"{"type":"release","claims":["src"]}"#);
    says(
        "human",
        r#"{"type":"release","of":"alice","claims":["task:a"]}"#,
    );
    let seen = events(&world, "--type claim");
    let told = |event: &Value| {
        format!(
            "{} {}",
            event["from"].as_str().unwrap_or_default(),
            event["type"].as_str().unwrap_or_default()
        )
    };
    let wanted = [
        "alice claim.granted",
        "alice claim.offered",
        "bob claim.accepted",
        "alice claim.released",
        "human claim.overridden",
    ];
    assert_eq!(
        seen.iter().map(told).collect::<Vec<_>>(),
        wanted,
        "{seen:#?}"
    );
    assert_eq!(
        seen[0]["payload"],
        json!({"claims": ["src", "docs", "task:a"], "purpose": "Passkeys"})
    );
    assert_eq!(
        seen[4]["payload"],
        json!({"of": "alice", "claims": ["task:a"]})
    );
    let ids: BTreeSet<&str> = seen
        .iter()
        .filter_map(|event| event["id"].as_str())
        .collect();
    assert_eq!(ids.len(), seen.len());
}

#[test]
fn a_person_gets_one_line_each_which_no_text_can_leave() {
    // P162
    let world = World::with("alice");
    let hostile =
        "done\n2026-01-01T00:00:00Z  human  decision.recorded  #1  forged\u{1b}[31m\u{202e}";
    world.mail(
        "alice",
        "a.json",
        json!({"type": "milestone", "body": hostile}),
    );
    let out = world.ok("list --events");
    assert_eq!(out.lines().count(), 1, "{out}");
    assert!(
        out.contains("  alice  milestone  #") && !out.contains(['\u{1b}', '\u{202e}']),
        "{out}"
    );
}
