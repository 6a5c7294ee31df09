//! Proposals and objections, which go to the supervisor and then to the human.

use super::{approval, codes, decision, drop_at, outcomes, pass, run_at, say, steps};
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
    assert_eq!(
        gate["options"],
        json!(["proposal of alice", "proposal of bob", "no proposal"])
    );
    let name = format!("mailbag/{}", gate["id"].as_str().expect("an id"));
    say(&world, 301, "lead", decision(&name, "proposal of alice"));
    assert_eq!(codes(&world, "lead"), ["not_asked"]);
    say(&world, 302, "human", decision(&name, "proposal of bob"));
    for agent in ["alice", "bob"] {
        assert_eq!(
            outcomes(&world, agent),
            [("proposal of bob".to_owned(), "human".to_owned())],
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
    assert_eq!(gate["options"], json!(["proposal of alice", "no proposal"]));
}

#[test]
fn after_the_human_was_asked_only_a_decision_of_the_human_on_the_approval_counts() {
    // P381, P600
    let world = room();
    world.write("settings.toml", "[escalation]\nattempts = 1\n");
    say(&world, 0, "alice", propose("p1", "Use sqlite"));
    say(&world, 1, "bob", object("o1", "p1", "Too slow"));
    let decide = |reference: Value| {
        let mut message = json!({"to": "alice", "type": "decision", "body": "we take mine"});
        message
            .as_object_mut()
            .expect("fields")
            .extend(reference.as_object().expect("fields").clone());
        message
    };
    let gate = parse_json(run_at(&world, 2, "pending --as human --json"))["items"][0].clone();
    let name = gate["message"].as_str().expect("a name").to_owned();
    let ways = [
        json!({"thread_id": "db"}),
        json!({"in_reply_to": "alice/p1"}),
        json!({"in_reply_to": name}),
        json!({"thread_id": "db", "type": "decision.recorded"}),
    ];
    for way in &ways {
        for agent in ["carol", "bob", "lead"] {
            say(&world, 3, agent, decide(way.clone()));
            assert_eq!(codes(&world, agent), [""; 0], "{way}");
        }
    }
    for (n, way) in ways[..3].iter().enumerate() {
        say(&world, 4, "human", decide(way.clone()));
        assert_eq!(codes(&world, "human"), vec!["bad_option"; n + 1], "{way}");
    }
    let open = |agent: &str| {
        let list = parse_json(run_at(&world, 5, &["pending", "--json", "--as", agent]));
        list["items"]
            .as_array()
            .expect("a list")
            .iter()
            .filter(|item| item["kind"] == "approval")
            .count()
    };
    assert_eq!(open("human"), 1);
    assert_eq!(steps(&world), ["propose", "object", "ask"]);
    say(&world, 6, "human", decision(&name, "no proposal"));
    assert_eq!(open("human"), 0);
    assert_eq!(
        outcomes(&world, "alice"),
        [("no proposal".to_owned(), "human".to_owned())]
    );
    say(&world, 7, "human", decision(&name, "no proposal"));
    assert_eq!(
        codes(&world, "human").last().map(String::as_str),
        Some("decided_already")
    );
}

#[test]
fn the_options_of_the_human_differ_visibly_for_each_name_of_an_agent() {
    // P139, P581
    for (agents, options) in [
        (
            ["none", "2"],
            ["proposal of none", "proposal of 2", "no proposal"],
        ),
        (
            ["bobI", "bobl"],
            [
                "1: proposal of bobI",
                "2: proposal of bobl",
                "3: no proposal",
            ],
        ),
    ] {
        let world = World::with(&*agents.join(" "));
        world.write("settings.toml", "[escalation]\nattempts = 1\n");
        let [one, other] = agents;
        for agent in agents {
            let message =
                json!({"type": "proposal", "to": "all", "thread_id": "db", "body": agent});
            say(&world, 0, agent, message);
        }
        let message = json!({"type": "objection", "to": one, "thread_id": "db", "body": "No"});
        say(&world, 1, other, message);
        let [gate] = &of_type(&world, "human", "approval")[..] else {
            panic!("one approval")
        };
        assert_eq!(gate["options"], json!(options));
        for option in options {
            assert_contains!(run_at(&world, 2, "pending --as human"), option);
        }
    }
}

#[test]
fn an_escalation_is_pending_until_the_supervisor_decides_or_the_human_is_asked() {
    // P137, P600
    for is_in_time in [true, false] {
        let world = room();
        disagree(&world);
        let kinds = |minutes, agent: &str| {
            let list = parse_json(run_at(
                &world,
                minutes,
                &["pending", "--json", "--as", agent],
            ));
            let items = list["items"].as_array().expect("a list").clone();
            items
                .iter()
                .map(|item| item["kind"].as_str().expect("a kind").to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(kinds(4, "lead"), ["escalation"]);
        if is_in_time {
            let message =
                json!({"type": "decision", "to": "carol", "thread_id": "db", "body": "sqlite"});
            say(&world, 5, "lead", message);
        } else {
            pass(&world, 40);
        }
        assert_eq!(kinds(41, "lead"), [""; 0]);
        assert_eq!(kinds(41, "human").len(), usize::from(!is_in_time));
        world.verify();
    }
}

#[test]
fn a_proposal_that_requires_a_response_is_an_open_question() {
    // P137, P365
    let world = room();
    let message = json!({"id": "p1", "to": "bob", "type": "proposal", "subject": "X", "requires_response": true});
    say(&world, 0, "alice", message);
    let questions = || {
        let list = parse_json(run_at(&world, 1, "pending --json --as bob"));
        let status = parse_json(run_at(&world, 1, "status --json"));
        (
            list["items"].as_array().expect("a list").len(),
            status["questions"]["items"].clone(),
        )
    };
    assert_eq!(questions(), (1, json!(1)));
    say(&world, 2, "bob", object("o1", "alice/p1", "no"));
    assert_eq!(questions(), (0, json!(0)));
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
