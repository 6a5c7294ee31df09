//! Recipients: a message is delivered to its whole set of recipients, or rejected.

use crate::town::Town;
use serde_json::{Value, json};

fn agents() -> Vec<Value> {
    vec![
        json!({"id": "planner"}),
        json!({"id": "agent_engineer_1_abc123", "role": "engineer"}),
        json!({"id": "agent_engineer_2_def456", "role": "engineer"}),
        json!({"id": "tester", "role": "qa"}),
    ]
}

const FIRST: &str = "agent_engineer_1_abc123";
const SECOND: &str = "agent_engineer_2_def456";

#[test]
fn plural_roles_globs_and_overlaps_reach_each_agent_once_and_never_the_sender() {
    let town = Town::with(&agents()).run();
    town.mail(
        "planner",
        "1.json",
        json!({"to": "all_engineers", "body": "plural"}),
    );
    town.mail(
        "planner",
        "2.json",
        json!({"to": "engineer_*", "body": "glob"}),
    );
    town.mail(
        "planner",
        "3.json",
        json!({"to": [FIRST, "all_engineer", "engineer_*", "all"], "body": "overlap"}),
    );
    town.mail(
        FIRST,
        "4.json",
        json!({"to": "ALL_ENGINEERS", "body": "colleagues"}),
    );
    town.wait_for_bodies(FIRST, &["plural", "glob", "overlap"]);
    town.wait_for_bodies(SECOND, &["plural", "glob", "overlap", "colleagues"]);
    town.wait_for_bodies("tester", &["overlap"]);
    assert_eq!((town.count("planner"), town.count("human")), (0, 0));
    let how = |agent| {
        town.inbox(agent)
            .iter()
            .map(|mail| mail["delivery"]["via"].clone())
            .collect::<Vec<_>>()
    };
    assert!(
        how(FIRST).contains(&json!("direct")) && how(SECOND).contains(&json!("pattern")),
        "{:?}",
        how(FIRST)
    );
}

#[test]
fn retired_agents_get_nothing_and_offline_ones_get_mail_that_waits() {
    let mut agents = agents();
    agents[2]["status"] = "retired".into();
    agents[3]["status"] = "offline".into();
    let town = Town::with(&agents).run();
    town.mail("planner", "1.json", json!({"to": "all", "body": "to all"}));
    town.wait_for_bodies(FIRST, &["to all"]);
    town.wait_for_bodies("tester", &["to all"]);
    town.mail(
        "planner",
        "2.json",
        json!({"to": SECOND, "body": "by name"}),
    );
    assert_eq!(town.wait_for_refusals("planner", 1), ["retired_recipient"]);
    assert_eq!(town.count(SECOND), 0);
    town.mail(
        SECOND,
        "3.json",
        json!({"to": FIRST, "body": "from the retired"}),
    );
    town.wait("the human hears of it", || town.count("human") == 1);
    assert_contains!(town.inbox("human")[0]["subject"].to_string(), "retired");
    assert_eq!(
        town.names(&format!("outbox/{SECOND}")),
        ["3.json"],
        "its files stay"
    );
}

#[test]
fn two_files_with_one_id_in_one_batch_come_to_one_delivery() {
    let town = Town::alice_and_bob();
    for n in 0..20 {
        town.mail(
            "alice",
            &format!("{n}.json"),
            json!({"id": "m1", "to": "bob", "body": "once"}),
        );
    }
    let town = town.run();
    town.wait("all are routed", || {
        town.status()["counts"]["duplicates"] == 19
    });
    assert_eq!(town.bodies("bob"), ["once"]);
}

#[test]
fn writing_to_all_when_alone_and_to_oneself_are_no_errors() {
    // P400
    let town = Town::of("alice").run();
    town.mail(
        "alice",
        "1.json",
        json!({"id": "m1", "to": "all", "body": "is anybody there?"}),
    );
    town.mail(
        "alice",
        "2.json",
        json!({"to": "alice", "body": "a note to self"}),
    );
    town.wait("both are routed", || {
        town.status()["counts"]["accepted"] == 2
    });
    town.wait("the note and a notice are there", || {
        town.inbox("alice").len() == 2
    });
    assert!(
        town.bodies("alice")
            .iter()
            .any(|body| body == "a note to self")
    );
    let notice = town
        .inbox("alice")
        .into_iter()
        .find(|mail| mail["in_reply_to"] == "m1")
        .expect("a notice");
    assert_eq!(notice["metadata"]["problems"][0]["code"], "no_other_agent");
    assert!(town.refusals("alice").is_empty());
}
