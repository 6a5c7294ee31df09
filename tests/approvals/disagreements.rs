//! Proposals and objections, which go to the supervisor and then to the human.

use super::{approval, codes, decision, drop_at, outcomes, pass, say, steps};
use crate::world::{World, parse_json};
use serde_json::{Value, json};

const SETTINGS: &str = "[escalation]\nattempts = 2\nsupervisor = \"lead\"\nwithin = \"30m\"\n";

fn room() -> World {
    let world = World::with("alice bob carol lead");
    world.write("settings.toml", SETTINGS);
    world
}

fn propose(id: &str, text: &str) -> Value {
    json!({"id": id, "to": ["alice", "bob"], "type": "proposal", "thread_id": "db", "body": text})
}

fn object(id: &str, reply: &str, text: &str) -> Value {
    json!({"id": id, "to": ["alice", "bob"], "type": "objection", "in_reply_to": reply, "body": text})
}

/// The messages of a type in an inbox.
fn of_type(world: &World, agent: &str, kind: &str) -> Vec<Value> {
    world
        .inbox(agent)
        .into_iter()
        .filter(|mail| mail["type"] == kind)
        .collect()
}

/// Two rounds: both have proposed, and both have objected.
fn disagree(world: &World) {
    say(world, 0, "alice", propose("p1", "Use sqlite"));
    say(world, 1, "bob", object("o1", "alice/p1", "Too slow"));
    assert!(
        of_type(world, "lead", "escalation").is_empty(),
        "one round is not enough"
    );
    say(world, 2, "bob", propose("p2", "Use postgres"));
    say(world, 3, "alice", object("o2", "bob/p2", "Too heavy"));
}

#[test]
fn after_two_rounds_the_supervisor_is_asked_and_after_its_time_the_human_who_decides() {
    // P139
    let world = room();
    disagree(&world);
    let [asked] = &of_type(&world, "lead", "escalation")[..] else {
        panic!("one escalation")
    };
    let body = asked["body"].as_str().expect("a body");
    for position in [
        "alice proposes: “Use sqlite”",
        "bob objects: “Too slow”",
        "bob proposes: “Use postgres”",
        "alice objects: “Too heavy”",
    ] {
        assert!(body.contains(position), "{body}");
    }
    assert_fields!(asked, thread_id: "db", priority: "high");
    pass(&world, 32);
    assert!(world.inbox("human").is_empty());
    pass(&world, 33);
    pass(&world, 300);
    let [gate] = &of_type(&world, "human", "approval")[..] else {
        panic!("one approval")
    };
    assert_eq!(gate["options"], json!(["alice", "bob", "none"]));
    let name = format!("mailbag/{}", gate["id"].as_str().expect("an id"));
    say(&world, 301, "lead", decision(&name, "alice"));
    assert_eq!(codes(&world, "lead"), ["not_asked"]);
    say(&world, 302, "human", decision(&name, "bob"));
    for agent in ["alice", "bob"] {
        assert_eq!(
            outcomes(&world, agent),
            [("bob".to_owned(), "human".to_owned())],
            "{agent}"
        );
    }
    assert_eq!(
        steps(&world),
        [
            "propose", "object", "propose", "object", "dispute", "ask", "decide"
        ]
    );
    say(
        &world,
        303,
        "alice",
        object("o3", "bob/p2", "Still too heavy"),
    );
    assert_eq!(steps(&world).len(), 7, "it is settled");
}

#[test]
fn the_supervisor_s_decision_ends_a_disagreement_and_reaches_both_sides() {
    // P139
    let world = room();
    disagree(&world);
    let name = format!(
        "mailbag/{}",
        of_type(&world, "lead", "escalation")[0]["id"]
            .as_str()
            .expect("an id")
    );
    // Dropped in time, and delivered late.
    drop_at(
        &world,
        20,
        "lead",
        json!({"type": "decision", "to": "carol", "in_reply_to": name, "body": "sqlite it is"}),
    );
    pass(&world, 500);
    for agent in ["alice", "bob", "carol"] {
        assert_eq!(of_type(&world, agent, "decision").len(), 1, "{agent}");
    }
    assert_eq!(of_type(&world, "human", "approval").len(), 0);
    assert_eq!(steps(&world).last().map(String::as_str), Some("settle"));
}

#[test]
fn without_a_supervisor_the_human_is_asked_immediately() {
    // P139
    let world = room();
    world.write("settings.toml", "[escalation]\nattempts = 1\n");
    say(&world, 0, "alice", propose("p1", "Use sqlite"));
    say(&world, 1, "bob", object("o1", "p1", "Too slow"));
    let [gate] = &of_type(&world, "human", "approval")[..] else {
        panic!("one approval")
    };
    assert_eq!(gate["options"], json!(["alice", "none"]));
    // A decision in prose, in the thread, ends it as well.
    say(
        &world,
        2,
        "human",
        json!({"to": "alice", "type": "decision", "thread_id": "db", "body": "sqlite"}),
    );
    assert_eq!(of_type(&world, "bob", "decision").len(), 1);
    let pending = parse_json(super::run_at(&world, 3, "pending --as human --json"));
    assert_eq!(pending["items"], json!([]));
}

#[test]
fn two_objections_to_one_proposal_are_one_round_and_other_messages_do_not_count() {
    // P139
    let world = room();
    say(&world, 0, "alice", propose("p1", "Use sqlite"));
    say(&world, 1, "bob", object("o1", "p1", "Too slow"));
    say(
        &world,
        2,
        "carol",
        object("o2", "p1", "Too slow for me, too"),
    );
    say(
        &world,
        3,
        "alice",
        json!({"to": "bob", "thread_id": "db", "body": "Really?"}),
    );
    say(&world, 4, "alice", object("o3", "nothing-like-it", "x"));
    assert!(of_type(&world, "lead", "escalation").is_empty());
    say(&world, 5, "bob", object("o4", "carol/o2", "Not that slow"));
    assert_eq!(of_type(&world, "lead", "escalation").len(), 1);
}

#[test]
fn without_the_setting_nothing_is_passed_on() {
    // P139
    let world = World::with("alice bob lead");
    disagree(&world);
    say(
        &world,
        4,
        "alice",
        approval("d", json!("bob"), json!({"thread_id": "db"})),
    );
    assert_eq!(
        (steps(&world), world.inbox("lead").len()),
        (vec!["ask".to_owned()], 0)
    );
}

#[test]
fn session_events_count_as_proposals_and_objections() {
    // P139
    let world = room();
    world.write(
        "settings.toml",
        "[escalation]\nattempts = 1\nsupervisor = \"lead\"\n",
    );
    say(
        &world,
        0,
        "alice",
        json!({"event_type": "proposal.created", "payload": "Use sqlite", "conversation_id": "db", "event_id": "e1"}),
    );
    say(
        &world,
        1,
        "bob",
        json!({"event_type": "objection.raised", "payload": "Too slow", "conversation_id": "db"}),
    );
    assert_eq!(of_type(&world, "lead", "escalation").len(), 1);
}
