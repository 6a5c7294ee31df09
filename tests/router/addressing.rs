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
fn an_unknown_role_rejects_the_whole_message_and_the_bounce_names_the_roles() {
    let town = Town::with(&agents()).run();
    town.mail(
        "planner",
        "x.json",
        json!({"to": [FIRST, "all_designers"], "body": "half"}),
    );
    let refused = town.wait_for_mail("planner", 1).remove(0);
    let body = refused["body"].as_str().unwrap_or_default();
    assert!(
        body.contains("engineer") && body.contains("qa") && body.contains("designer"),
        "{body}"
    );
    town.is_alive("planner", FIRST);
    assert_eq!(town.count(FIRST), 0, "nothing is delivered to anyone");
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
    assert!(
        town.inbox("human")[0]["subject"]
            .as_str()
            .is_some_and(|subject| subject.contains("retired"))
    );
    assert_eq!(
        town.names(&format!("outbox/{SECOND}")),
        ["3.json"],
        "its files stay"
    );
}

#[test]
fn the_same_id_with_the_same_content_is_a_duplicate_and_with_other_content_it_is_refused() {
    let town = Town::of(&["alice", "bob", "carol"]).run();
    let message = json!({"id": "m1", "to": "bob", "body": "once"});
    for name in ["1.json", "2.json"] {
        town.mail("alice", name, message.clone());
        town.wait("it was routed", || {
            town.names("outbox/alice").is_empty() && town.count("bob") == 1
        });
    }
    town.mail(
        "alice",
        "3.json",
        json!({"id": "m1", "to": "bob", "body": "another"}),
    );
    assert_eq!(town.wait_for_refusals("alice", 1), ["id_reused"]);
    town.mail(
        "carol",
        "4.json",
        json!({"id": "m1", "to": "bob", "body": "once"}),
    );
    town.wait_for_bodies("bob", &["once", "once"]);
    town.wait("all are counted", || {
        let counts = &town.status()["counts"];
        [("accepted", 2), ("duplicates", 1), ("rejected", 1)]
            .iter()
            .all(|(what, n)| counts[what] == *n)
    });
    town.verify();
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
fn a_refused_message_uses_up_no_id() {
    let town = Town::alice_and_bob().run();
    town.mail(
        "alice",
        "1.json",
        json!({"id": "m1", "to": "bbo", "body": "mistyped"}),
    );
    assert_eq!(town.wait_for_refusals("alice", 1), ["unknown_recipient"]);
    town.mail(
        "alice",
        "2.json",
        json!({"id": "m1", "to": "bob", "body": "mended"}),
    );
    town.wait_for_bodies("bob", &["mended"]);
}

#[test]
fn writing_to_all_when_alone_and_to_oneself_are_no_errors() {
    // P400
    let town = Town::of(&["alice"]).run();
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
