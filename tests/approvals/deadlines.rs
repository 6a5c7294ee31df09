//! Deadlines of approvals: their outcomes, and the precedence of mail that was dropped in time.

use super::{approval, codes, decision, drop_at, outcomes, pass, run_at, say, steps};
use crate::files;
use crate::town::so_within;
use crate::world::World;
use serde_json::json;
use std::time::{Duration, SystemTime};

fn asked(more: serde_json::Value) -> World {
    let world = World::with("alice bob carol");
    say(&world, 0, "alice", approval("d", json!("bob"), more));
    world
}

fn pair(option: &str, by: &str) -> (String, String) {
    (option.to_owned(), by.to_owned())
}

#[test]
fn the_deadline_selects_the_named_option_and_notifies_asker_and_recipients_once() {
    // P131
    let world = asked(json!({"deadline": "30m", "on_deadline": "no"}));
    assert_eq!(
        world.inbox("bob")[0]["delivery"]["approval"]["deadline"],
        "2026-11-21T10:30:00.000000Z"
    );
    pass(&world, 29);
    assert_eq!(steps(&world), ["ask"]);
    pass(&world, 30);
    pass(&world, 31);
    pass(&world, 60);
    assert_eq!(steps(&world), ["ask", "expire"]);
    for agent in ["alice", "bob"] {
        assert_eq!(outcomes(&world, agent), [pair("no", "")], "{agent}");
    }
    say(&world, 61, "bob", decision("alice/d", "yes"));
    assert_eq!(
        (codes(&world, "bob"), steps(&world).len()),
        (vec!["decided_already".to_owned()], 2)
    );
}

#[test]
fn a_decision_that_was_dropped_in_time_wins_although_no_router_ran() {
    // P131, P132
    let world = asked(json!({"deadline": "30m", "on_deadline": "no"}));
    drop_at(&world, 20, "bob", decision("alice/d", "yes"));
    pass(&world, 300);
    assert_eq!(
        (steps(&world), outcomes(&world, "alice")),
        (
            vec!["ask".into(), "decide".into()],
            vec![pair("yes", "bob")]
        )
    );
}

#[test]
fn a_decision_dropped_in_time_counts_after_a_thousand_other_files() {
    // P131
    let world = asked(json!({"deadline": "30m", "on_deadline": "no"}));
    for n in 0..1000 {
        world.mail(
            "bob",
            &format!("a{n:04}.json"),
            json!({"to": "carol", "body": "x"}),
        );
    }
    drop_at(&world, 20, "bob", decision("alice/d", "yes"));
    pass(&world, 300);
    assert_eq!(outcomes(&world, "alice"), [pair("yes", "bob")]);
}

#[test]
fn a_decision_dropped_after_the_deadline_is_rejected_and_changes_nothing() {
    // P132
    let world = asked(json!({"deadline": "30m", "on_deadline": "no"}));
    drop_at(&world, 31, "bob", decision("alice/d", "yes"));
    pass(&world, 300);
    assert_eq!(
        (steps(&world), codes(&world, "bob")),
        (
            vec!["ask".into(), "expire".into()],
            vec!["late_decision".into()]
        )
    );
    assert_eq!(outcomes(&world, "alice"), [pair("no", "")]);
}

/// Drops bob's decision in a file with this time, in seconds since 1970.
fn decide_in_file_of(world: &World, seconds: u64) {
    let file = world.mail("bob", "decision.json", decision("alice/d", "yes"));
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
    let file = std::fs::File::options().append(true).open(file);
    file.and_then(|file| file.set_modified(time))
        .expect("the file's time");
}

#[test]
fn a_file_older_than_the_approval_proves_nothing() {
    // P132
    let world = asked(json!({"deadline": "30m", "on_deadline": "no"}));
    decide_in_file_of(&world, 1_795_168_800);
    pass(&world, 300);
    assert_eq!(codes(&world, "bob"), ["late_decision"]);
}

#[test]
fn a_decision_in_a_file_from_the_future_is_not_late() {
    // P132
    let world = asked(json!({"deadline": "30m", "on_deadline": "no"}));
    decide_in_file_of(&world, 4_000_000_000);
    pass(&world, 10);
    assert_eq!(outcomes(&world, "alice"), [pair("yes", "bob")]);
}

#[test]
fn an_escalation_reaches_the_supervisor_then_the_human_and_each_can_decide() {
    // P133
    let world = World::new()
        .agent("alice", "")
        .agent("lead", "")
        .agent("bob", "--supervisor lead");
    say(
        &world,
        0,
        "alice",
        approval(
            "d",
            json!("bob"),
            json!({"deadline": "30m", "on_deadline": "escalate"}),
        ),
    );
    say(&world, 1, "lead", decision("alice/d", "yes"));
    assert_eq!(codes(&world, "lead"), ["not_asked"]);
    pass(&world, 30);
    let mail = world.inbox("lead").pop().expect("the escalation");
    assert_fields!(mail, type: "escalation", in_reply_to: "alice/d", priority: "high");
    assert_contains!(mail["body"].to_string(), "yes, no");
    pass(&world, 59);
    assert!(world.inbox("human").is_empty());
    pass(&world, 60);
    assert_eq!(
        world.inbox("human").pop().expect("the escalation")["type"],
        "escalation"
    );
    pass(&world, 600);
    assert_eq!(steps(&world), ["ask", "escalate", "escalate"]);
    say(&world, 601, "lead", decision("alice/d", "no"));
    for agent in ["alice", "bob", "human"] {
        assert_eq!(outcomes(&world, agent), [pair("no", "lead")], "{agent}");
    }
    let trace = world.json("trace alice/d");
    assert_contains!(trace["answers"].to_string(), "lead");
}

#[test]
fn a_router_that_runs_keeps_the_deadline_by_itself() {
    // P131
    let world = World::alice_and_bob();
    let router = world.router("");
    world.mail(
        "alice",
        "a.json",
        approval("d", json!("bob"), json!({"deadline": "1s"})),
    );
    assert!(so_within(Duration::from_secs(20), || !outcomes(
        &world, "alice"
    )
    .is_empty()));
    assert_eq!(outcomes(&world, "alice"), [pair("denied", "")]);
    assert_eq!(router.end(), 0);
    assert_eq!(steps(&world), ["ask", "expire"]);
}

#[test]
fn an_unreadable_decision_does_not_keep_an_approval_open() {
    // P131
    let world = asked(json!({"deadline": "2026-11-21T10:30:00Z", "on_deadline": "no"}));
    // A directory with the name of a message is never a message.
    files::make_dir(world.room("outbox/bob/decision.json"));
    pass(&world, 300);
    assert_eq!(outcomes(&world, "alice"), [pair("no", "")]);
}

#[test]
fn the_human_is_asked_once_when_all_deciders_are_retired() {
    // P184
    let world = World::with("alice bob carol");
    say(
        &world,
        0,
        "alice",
        approval(
            "d",
            json!(["bob", "carol"]),
            json!({"deadline": "30m", "on_deadline": "no"}),
        ),
    );
    run_at(&world, 1, "agent set bob --status retired");
    pass(&world, 2);
    assert!(world.inbox("human").is_empty(), "carol can decide it");
    run_at(&world, 3, "agent set carol --status retired");
    pass(&world, 4);
    pass(&world, 5);
    let mail = world.inbox("human");
    assert_eq!(mail.len(), 1);
    assert_fields!(mail[0], type: "escalation", in_reply_to: "alice/d");
    assert_eq!(steps(&world), ["ask", "escalate"]);
    say(&world, 6, "human", decision("alice/d", "yes"));
    assert_eq!(outcomes(&world, "alice"), [pair("yes", "human")]);
}

#[test]
fn the_deadline_of_an_approval_without_deciders_is_reported_to_the_asker() {
    // P131
    let world = World::with("bob");
    let terms = json!({"deadline": "30m", "on_deadline": "escalate"});
    say(&world, 0, "human", approval("d", json!("bob"), terms));
    run_at(&world, 1, "agent set bob --status retired");
    pass(&world, 31);
    let mail = world.inbox("human").pop().expect("an escalation");
    assert_contains!(
        mail["body"].as_str().unwrap_or_default(),
        "mailbag ack human/d --status withdrawn"
    );
    run_at(&world, 32, "ack human/d --status withdrawn --as human");
    assert_eq!(world.json("pending")["items"], json!([]));
}

#[test]
fn an_approval_that_is_left_to_the_human_keeps_its_deadline() {
    // P184
    let world = asked(json!({"deadline": "30m", "on_deadline": "no"}));
    run_at(&world, 1, "agent set bob --status retired");
    pass(&world, 2);
    pass(&world, 29);
    assert_eq!(steps(&world), ["ask", "escalate"]);
    pass(&world, 30);
    assert_eq!(
        (steps(&world), outcomes(&world, "alice")),
        (
            vec!["ask".into(), "escalate".into(), "expire".into()],
            vec![pair("no", "")]
        )
    );
}

#[test]
fn a_running_router_asks_the_human_immediately_when_the_last_decider_is_retired() {
    // P184
    let world = World::alice_and_bob();
    let router = world.router("");
    world.mail("alice", "a.json", approval("d", json!("bob"), json!({})));
    assert!(so_within(Duration::from_secs(20), || steps(&world) == ["ask"]));
    world.run("agent set bob --status retired");
    assert!(so_within(Duration::from_secs(20), || steps(&world)
        == ["ask", "escalate"]));
    assert_eq!(router.end(), 0);
}

#[test]
fn trace_shows_the_outcome_of_a_deadline_and_no_answer_of_another_agent() {
    for (terms, event, outcome) in [
        (json!({"deadline": "30m"}), "decided", json!("denied")),
        (
            json!({"deadline": "30m", "on_deadline": "no"}),
            "decided",
            json!("no"),
        ),
        (
            json!({"deadline": "30m", "on_deadline": "escalate"}),
            "escalated",
            serde_json::Value::Null,
        ),
    ] {
        let world = asked(terms);
        say(
            &world,
            1,
            "carol",
            json!({"to": "alice", "type": "answer", "in_reply_to": "alice/d", "body": "yes"}),
        );
        assert_eq!(world.json("trace alice/d")["answers"], json!([]));
        pass(&world, 31);
        let trace = world.json("trace alice/d");
        let notice = &trace["notices"][0];
        assert_eq!(
            (&notice["event"], &notice["outcome"]),
            (&json!(event), &outcome),
            "{trace}"
        );
        assert_contains!(world.ok("trace alice/d"), event);
    }
}
