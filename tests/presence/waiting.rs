//! Agents that wait for another one, and the report about a retired agent.

use crate::world::World;
use serde_json::json;

fn room() -> World {
    World::with("alice bob carol").agent("dave", "--name Sintra")
}

#[test]
fn a_report_of_completion_reaches_the_agents_that_wait_for_its_sender() {
    // P367
    for (kind, waiting_for) in [
        ("completed", json!("Sintra")),
        ("agent_complete", json!(["carol", "dave"])),
        ("completed", json!("@Sintra")),
    ] {
        let world = room();
        let blocked = json!({"type": "blocked", "body": "no schema", "metadata": {"waiting_for": waiting_for}});
        world.route("bob", "1.json", &blocked);
        world.route(
            "dave",
            "2.json",
            json!({"type": kind, "body": "the schema is there"}),
        );
        assert_eq!(
            world.bodies("bob"),
            ["the schema is there"],
            "{kind} {waiting_for}"
        );
        assert_eq!(world.inbox("bob")[0]["delivery"]["via"], "waiting");
        assert_eq!(
            (world.inbox("alice").len(), world.inbox("carol").len()),
            (0, 0)
        );
    }
}

#[test]
fn a_completion_in_the_same_batch_reaches_waiting_agents_unless_it_has_recipients() {
    // P367
    let world = room();
    let blocked = json!({"type": "blocked", "body": "x", "metadata": {"waiting_for": "dave"}});
    let completed = json!({"type": "completed", "body": "done"});
    world.mail("alice", "1.json", &blocked);
    world.route("dave", "2.json", &completed);
    assert_eq!(world.bodies("alice"), ["done"]);
    let mut to_carol = completed;
    to_carol["to"] = json!("carol");
    world.route("dave", "3.json", &to_carol);
    assert_eq!(
        (world.inbox("alice").len(), world.inbox("carol").len()),
        (1, 1)
    );
}

#[test]
fn an_agent_that_works_again_waits_no_longer() {
    let world = room();
    world.route(
        "bob",
        "1.json",
        json!({"type": "blocked", "metadata": {"waiting_for": "dave"}}),
    );
    world.route(
        "bob",
        "2.json",
        json!({"type": "status", "body": "at work again"}),
    );
    world.route(
        "dave",
        "3.json",
        json!({"type": "completed", "body": "done"}),
    );
    assert_eq!(world.inbox("bob").len(), 0);
}

#[test]
fn the_retirement_of_an_agent_reports_its_unread_mail_and_its_open_questions() {
    for command in [
        &["agent", "set", "bob", "--status", "retired"][..],
        &["agent", "set", "bob", "--status", "retired"],
    ] {
        let world = room();
        for (agent, message) in [
            (
                "alice",
                json!({"to": "bob", "type": "question", "body": "which port?"}),
            ),
            (
                "bob",
                json!({"to": "carol", "type": "question", "body": "which host?"}),
            ),
            (
                "alice",
                json!({"to": "carol", "type": "question", "body": "who?"}),
            ),
            ("alice", json!({"to": "bob", "body": "note"})),
        ] {
            world.route(agent, &format!("{}.json", uuid::Uuid::now_v7()), &message);
        }
        let told = world.ok(command);
        assert_contains!(told, "2 unread messages: `mailbag inbox --as bob`");
        assert_contains!(told, "open question #2: alice asks bob: which port?");
        assert!(
            told.contains("open question #3: bob asks carol: which host?")
                && !told.contains("who?"),
            "{told}"
        );
    }
    let world = room();
    assert_eq!(
        world.ok("agent set bob --status retired").trim(),
        "changed bob"
    );
    assert_eq!(
        world.json("agent set carol --status retired")["remaining"],
        json!({"unread": 0, "questions": []})
    );
}
