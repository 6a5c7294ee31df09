//! Time: mail that expires unread, and unanswered questions.

use super::{from_mailbag, statuses, wait_for_status};
use crate::approvals::{drop_at, pass, run_at, say, time};
use crate::town::{PATIENCE, Town, so_within};
use crate::world::World;
use serde_json::json;

fn soon(millis: i64) -> String {
    (chrono::Utc::now() + chrono::Duration::milliseconds(millis)).to_rfc3339()
}

#[test]
fn expired_unread_mail_is_set_aside_and_its_sender_is_notified_once() {
    // P61
    let world = World::with("alice bob carol");
    let message = json!({"id": "m-1", "to": ["bob", "carol"], "body": "lunch at one?", "expires_at": time(5)});
    say(&world, 0, "alice", message);
    run_at(&world, 1, "read --as carol");
    pass(&world, 6);
    assert!(statuses(&world, "m-1", "bob").contains(&"expired".to_owned()));
    assert_eq!(
        statuses(&world, "m-1", "carol").last().map(String::as_str),
        Some("seen")
    );
    assert_eq!(
        (
            world.inbox("bob").len(),
            world.names("inbox/bob/expired").len()
        ),
        (0, 1)
    );
    let told = from_mailbag(&world, "alice", "notification");
    assert_eq!(told.len(), 1);
    assert_fields!(told[0], metadata.agents: ["bob"], in_reply_to: "alice/m-1");
    assert!(!statuses(&world, "m-1", "bob").contains(&"seen".to_owned()));
    pass(&world, 7);
    assert_eq!(
        from_mailbag(&world, "alice", "notification").len(),
        1,
        "once"
    );
    world.verify();
}

#[test]
fn a_live_router_sets_expired_mail_aside_when_its_time_comes() {
    let town = Town::alice_and_bob().run();
    town.mail(
        "alice",
        "x.json",
        json!({"id": "m-1", "to": "bob", "body": "now?", "expires_at": soon(300)}),
    );
    town.wait("its sender to be told", || {
        from_mailbag(&town, "alice", "notification").len() == 1
    });
    wait_for_status(&town, "m-1", "bob", "expired");
    assert_eq!(
        (town.count("bob"), town.names("inbox/bob/expired").len()),
        (0, 1)
    );
}

#[test]
fn mail_that_expires_while_no_router_runs_is_set_aside_by_the_next_pass() {
    let world = World::alice_and_bob();
    world.route(
        "alice",
        "x.json",
        json!({"to": "bob", "body": "soon", "expires_at": soon(300)}),
    );
    let is_told = || !from_mailbag(&world, "alice", "notification").is_empty();
    let passes = || {
        world.pass();
        is_told()
    };
    assert!(so_within(PATIENCE, passes));
    assert_eq!(
        (
            world.inbox("bob").len(),
            world.names("inbox/bob/expired").len()
        ),
        (0, 1)
    );
}

#[test]
fn an_unanswered_question_is_escalated_once_to_the_supervisor_and_once_to_the_human() {
    // P62
    let town = Town::with(&[
        json!({"id": "alice"}),
        json!({"id": "bob", "supervisor": "boss"}),
        json!({"id": "boss"}),
    ])
    .settings("answer_within = \"300ms\"\n")
    .run();
    town.mail(
        "alice",
        "x.json",
        json!({"id": "q-1", "to": "bob", "body": "which API?", "requires_response": true}),
    );
    town.wait("the human to be told", || {
        !from_mailbag(&town, "human", "escalation").is_empty()
    });
    let (boss, human) = (
        from_mailbag(&town, "boss", "escalation"),
        from_mailbag(&town, "human", "escalation"),
    );
    assert_eq!((boss.len(), human.len()), (1, 1));
    assert!(
        boss[0]["delivery"]["seq"].as_u64() < human[0]["delivery"]["seq"].as_u64(),
        "in order"
    );
    assert!(
        boss[0]["body"]
            .as_str()
            .is_some_and(|body| body.contains("bob has not answered")),
        "{}",
        boss[0]
    );
    // No further notice is sent: a message that is routed after twice that time shows this.
    let told = || {
        town.json("trace q-1")["notices"]
            .as_array()
            .map_or(0, Vec::len)
    };
    assert_eq!(told(), 2);
    town.is_alive("alice", "bob");
    assert_eq!(told(), 2);
}

#[test]
fn an_answer_in_time_ends_the_waiting_and_a_mere_ack_does_not() {
    let world = World::with("alice bob carol").settings("answer_within = \"5m\"\n");
    let question = |id: &str, to: &str| json!({"id": id, "to": to, "body": "which?", "requires_response": true});
    drop_at(&world, 0, "alice", question("q-1", "bob"));
    say(&world, 0, "alice", question("q-2", "carol"));
    drop_at(
        &world,
        1,
        "bob",
        json!({"to": "alice", "in_reply_to": "alice/q-1", "body": "yes"}),
    );
    say(
        &world,
        1,
        "carol",
        json!({"type": "ack", "refs": ["q-2"], "status": "acknowledged"}),
    );
    pass(&world, 6);
    let told = from_mailbag(&world, "human", "escalation");
    assert_eq!(told.len(), 1, "only of the one that was not answered");
    assert_eq!(told[0]["in_reply_to"], "alice/q-2");
    assert_eq!(world.json("trace q-1")["answers"][0]["from"], "bob");
}

#[test]
fn urgent_mail_wants_an_ack_and_the_settings_say_how_soon() {
    let world = World::with("alice bob carol");
    let world = world.settings("answer_within = { urgent = \"4m\", normal = \"0\" }\n");
    let fire =
        |id: &str, to: &str| json!({"id": id, "to": to, "body": "fire", "priority": "urgent"});
    drop_at(&world, 0, "alice", fire("u-1", "bob"));
    drop_at(&world, 0, "alice", fire("u-2", "carol"));
    say(
        &world,
        0,
        "alice",
        json!({"id": "q-1", "to": "carol", "body": "why?", "requires_response": true}),
    );
    say(
        &world,
        1,
        "carol",
        json!({"type": "ack", "refs": ["u-2"], "status": "acknowledged"}),
    );
    pass(&world, 5);
    let told = from_mailbag(&world, "human", "escalation");
    assert_eq!(
        told.iter()
            .map(|mail| mail["in_reply_to"].clone())
            .collect::<Vec<_>>(),
        ["alice/u-1"]
    );
    assert_eq!(told[0]["subject"], "unacknowledged: “fire”");
    assert_eq!(
        told[0]["priority"], "urgent",
        "what is passed on is as urgent"
    );
}

#[test]
fn an_escalation_survives_a_restart_and_a_lost_snapshot() {
    let mut town = Town::alice_and_bob()
        .settings("answer_within = \"600ms\"\n")
        .run();
    town.mail(
        "alice",
        "x.json",
        json!({"id": "q-1", "to": "bob", "body": "still there?", "requires_response": true}),
    );
    town.wait_for_mail("bob", 1);
    town.stop();
    let _ = std::fs::remove_file(town.room("spool/snapshot"));
    let town = town.run();
    town.wait("the human to be told", || {
        from_mailbag(&town, "human", "escalation").len() == 1
    });
}

#[test]
fn a_wrong_duration_in_the_settings_gets_an_error_with_an_example() {
    let world = World::new().settings("answer_within = \"soon\"\n");
    assert_contains!(world.fails(65, "settings"), "30m");
    let world = World::new().settings("answer_within = { urgent = \"5m\" }\n");
    assert_contains!(world.ok("settings"), "urgent = \"5m\"");
}
