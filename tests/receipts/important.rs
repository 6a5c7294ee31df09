//! Urgent mail that no recipient acknowledges reaches the supervisor, the human and the worklog, in each order of events.

use super::from_mailbag;
use crate::approvals::{drop_at, pass, run_at, say, time};
use crate::files;
use crate::world::World;
use serde_json::{Value, json};

/// Only bob has a supervisor. Answers are due after 10 minutes.
fn room() -> World {
    let world = World::with("alice boss carol").agent("bob", "--supervisor boss");
    world.settings("answer_within = \"10m\"\nworklog = true\n")
}

fn urgent(id: &str, to: Value, expires: u64) -> Value {
    json!({"id": id, "to": to, "body": "fire", "priority": "urgent", "expires_at": time(expires)})
}

/// The names of the messages in an agent's escalations.
fn escalated(world: &World, agent: &str) -> Vec<String> {
    from_mailbag(world, agent, "escalation")
        .into_iter()
        .map(|mail| mail["in_reply_to"].as_str().unwrap_or_default().to_owned())
        .collect()
}

#[track_caller]
fn all_know(world: &World, name: &str) {
    for agent in ["boss", "human"] {
        assert_eq!(escalated(world, agent), [name], "{agent}");
    }
    assert_contains!(
        files::read_text(world.path().join("WORKLOG.md")),
        "mailbag · escalation · unacknowledged: \"fire\""
    );
    world.verify();
}

#[test]
fn urgent_mail_that_expires_before_its_deadline_is_escalated_when_it_expires() {
    // P360
    let world = room();
    say(&world, 0, "alice", urgent("p0", json!("bob"), 5));
    pass(&world, 6);
    all_know(&world, "alice/p0");
    let told = from_mailbag(&world, "human", "escalation");
    assert_contains!(told[0]["body"].to_string(), "expired, unread by bob");
    assert_eq!(
        from_mailbag(&world, "alice", "notification").len(),
        1,
        "its sender is notified as well"
    );
    for minutes in [20, 40, 60] {
        pass(&world, minutes);
    }
    all_know(&world, "alice/p0");
}

#[test]
fn urgent_mail_reaches_both_if_both_times_pass_before_a_router_looks() {
    // P360
    let world = room();
    say(&world, 0, "alice", urgent("p0", json!("bob"), 5));
    pass(&world, 60);
    all_know(&world, "alice/p0");
}

#[test]
fn urgent_mail_that_was_dropped_in_time_and_expired_while_no_router_ran_reaches_both() {
    // P360
    let world = room();
    drop_at(&world, 0, "alice", urgent("p0", json!("bob"), 5));
    pass(&world, 60);
    all_know(&world, "alice/p0");
    assert_eq!(
        (
            world.inbox("bob").len(),
            world.names("inbox/bob/expired").len()
        ),
        (0, 1)
    );
    drop_at(&world, 61, "alice", urgent("late", json!("bob"), 5));
    pass(&world, 61);
    assert_eq!(
        world.names("rejected/alice").len(),
        2,
        "mail that is dropped too late is rejected"
    );
}

#[test]
fn urgent_mail_that_expires_after_its_supervisor_was_notified_reaches_the_human() {
    // P360
    let world = room();
    say(&world, 0, "alice", urgent("p0", json!("bob"), 15));
    pass(&world, 11);
    assert_eq!(
        (
            escalated(&world, "boss").len(),
            escalated(&world, "human").len()
        ),
        (1, 0)
    );
    pass(&world, 16);
    all_know(&world, "alice/p0");
}

#[test]
fn urgent_mail_that_expires_after_the_human_was_notified_is_not_escalated_again() {
    let world = room();
    say(&world, 0, "alice", urgent("p0", json!("bob"), 30));
    for minutes in [11, 22, 31, 60] {
        pass(&world, minutes);
    }
    all_know(&world, "alice/p0");
}

#[test]
fn urgent_mail_that_was_announced_or_read_and_not_acknowledged_is_escalated() {
    // P361
    let world = room();
    say(&world, 0, "alice", urgent("p0", json!("bob"), 30));
    run_at(&world, 1, "read --as bob");
    pass(&world, 11);
    pass(&world, 22);
    all_know(&world, "alice/p0");
}

#[test]
fn only_recipients_that_did_not_acknowledge_are_named_when_urgent_mail_expires() {
    let world = room();
    say(&world, 0, "alice", urgent("p0", json!(["bob", "carol"]), 5));
    say(
        &world,
        1,
        "carol",
        json!({"type": "ack", "refs": ["p0"], "status": "acknowledged"}),
    );
    pass(&world, 6);
    let told = from_mailbag(&world, "human", "escalation");
    assert_eq!(told[0]["metadata"]["agents"], json!(["bob"]));
}

#[test]
fn urgent_mail_for_the_human_that_expires_unread_is_escalated_to_the_human() {
    let world = room();
    say(&world, 0, "alice", urgent("p0", json!("human"), 5));
    pass(&world, 6);
    assert_eq!(escalated(&world, "human"), ["alice/p0"]);
}

#[test]
fn urgent_mail_of_a_retired_sender_is_escalated_when_it_expires() {
    let world = room();
    say(&world, 0, "alice", urgent("p0", json!("bob"), 5));
    world.ok("agent set alice --status retired");
    pass(&world, 6);
    all_know(&world, "alice/p0");
}

#[test]
fn urgent_mail_that_was_answered_withdrawn_or_acknowledged_in_time_is_not_escalated() {
    let world = room();
    for id in ["answered", "withdrawn", "acknowledged"] {
        drop_at(&world, 0, "alice", urgent(id, json!("bob"), 5));
    }
    pass(&world, 0);
    drop_at(
        &world,
        1,
        "bob",
        json!({"to": "alice", "in_reply_to": "alice/answered", "body": "on it"}),
    );
    drop_at(
        &world,
        1,
        "bob",
        json!({"type": "ack", "refs": ["acknowledged"], "status": "acknowledged"}),
    );
    say(
        &world,
        1,
        "alice",
        json!({"type": "ack", "refs": ["withdrawn"], "status": "withdrawn"}),
    );
    for minutes in [6, 60] {
        pass(&world, minutes);
    }
    for agent in ["boss", "human"] {
        assert_eq!(escalated(&world, agent), Vec::<String>::new(), "{agent}");
    }
}

#[test]
fn other_mail_that_expires_unread_is_reported_to_its_sender_alone() {
    // P61
    let world = room();
    let question = json!({"id": "q", "to": "bob", "body": "lunch?", "type": "question", "expires_at": time(5)});
    say(&world, 0, "alice", question);
    pass(&world, 6);
    pass(&world, 60);
    assert_eq!(from_mailbag(&world, "alice", "notification").len(), 1);
    assert_eq!(
        (
            escalated(&world, "boss").len(),
            escalated(&world, "human").len()
        ),
        (0, 0)
    );
}
