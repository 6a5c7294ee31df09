//! Topics: followed by a command, by a dropped file, or by the registry; all come to the same.

use crate::world::World;
use serde_json::json;

fn world() -> World {
    World::with("alice bob carol dave")
}

#[test]
fn every_subscriber_gets_the_messages_of_a_topic() {
    let world = world();
    world.ok("agent set bob --topic ports --topic #releases");
    world.mail(
        "carol",
        "x.json",
        json!({"type": "subscribe", "topic": "ports"}),
    );
    world.ok("agent set dave --topic ports");
    let topics = world.items("who --topic");
    let wanted = json!([{"topic": "ports", "followers": ["bob", "carol", "dave"]},
        {"topic": "releases", "followers": ["bob"]}]);
    assert_eq!(topics, wanted);
    assert_eq!(
        world.ok("who --topic"),
        "#ports     bob, carol, dave\n#releases  bob\n"
    );
    world.send("alice", "#ports", "8080 is taken");
    for agent in ["bob", "carol", "dave"] {
        assert_eq!(world.bodies(agent), ["8080 is taken"], "{agent}");
    }
}

#[test]
fn an_agent_that_unsubscribed_gets_no_further_messages() {
    let world = world();
    world.ok("agent set bob --topic ports");
    world.ok("agent set carol --topic ports");
    world.ok("agent set bob --no-topic ports");
    world.route(
        "carol",
        "x.json",
        json!({"type": "unsubscribe", "topic": "ports"}),
    );
    assert_contains!(
        world.fails(3, "send #ports '8080 is taken' --as alice"),
        "no agent subscribes to #ports"
    );
    assert_eq!(
        (world.inbox("bob").len(), world.inbox("carol").len()),
        (0, 0)
    );
    assert_eq!(world.items("who --topic"), json!([]));
    assert_contains!(world.run("who --topic").err, "no topics with subscribers");
}

#[test]
fn a_topic_in_another_letter_case_is_the_same_topic() {
    // P382
    let world = world();
    world.ok("agent set bob --topic Auth");
    world.ok("agent set carol --topic AUTH");
    let topics = json!([{"topic": "Auth", "followers": ["bob", "carol"]}]);
    assert_eq!(world.items("who --topic"), topics);
    let said = world.fails(3, "send #autt hi --as alice");
    assert_contains!(said, "did you mean #Auth?"; "{said}");
    let said = world.run("send --dry-run #auth hi --as bob").out;
    assert_contains!(said, "reaches carol (topic)"; "{said}");
}

#[test]
fn a_second_subscription_changes_nothing() {
    let world = world();
    world.ok("agent set bob --topic ports,ports");
    world.ok("agent set bob --topic ports");
    world.send("alice", "#ports", "8080 is taken");
    assert_eq!(world.bodies("bob"), ["8080 is taken"]);
}

#[test]
fn unsubscribing_without_a_subscription_fails_and_changes_nothing() {
    let world = world();
    world.ok("agent set bob --topic ports");
    world.ok("agent set carol --topic releases");
    let before = world.items("who --topic");
    for (topic, hint) in [
        ("prots", "did you mean ports?"),
        ("releases", "mailbag who --topic"),
        ("ports,nothing", "not subscribed to #nothing"),
    ] {
        let said = world.fails(3, &*format!("agent set bob --no-topic {topic}"));
        assert_contains!(said, "bob is not subscribed to #", hint; "{topic}");
        assert_eq!(world.items("who --topic"), before, "{topic}");
    }
    world.mail(
        "bob",
        "1.json",
        json!({"type": "subscribe", "topic": "docs"}),
    );
    world.ok("agent set bob --no-topic Docs");
    assert_eq!(world.items("who --topic"), before);
}

#[test]
fn a_bad_name_and_the_human_are_rejected_and_nothing_is_written() {
    let world = world();
    let before = world.everything();
    assert_contains!(
        world.fails(2, "agent set bob --topic ports,../x"),
        "is not a valid topic name"
    );
    assert_contains!(
        world.fails(2, "agent set human --topic ports"),
        "mailbag watch"
    );
    assert_contains!(
        world.fails(3, "agent set nobody --topic ports"),
        "mailbag agent list"
    );
    assert_eq!(world.everything(), before);
}

#[test]
fn one_topic_is_listed_with_its_subscribers() {
    let world = world();
    world.ok("agent set bob --topic ports,releases");
    world.ok("agent set carol --topic ports");
    let topics = json!([{"topic": "ports", "followers": ["bob", "carol"]}]);
    for name in ["ports", "#Ports"] {
        assert_eq!(world.items(&["who", "--topic", name]), topics);
    }
    world.ok("agent set bob --topic ''");
    assert_eq!(world.ok("who --topic"), "#ports  carol\n");
}

#[test]
fn the_retired_follow_nothing() {
    let world = world();
    world.ok("agent set bob --topic ports");
    world.ok("agent set bob --status retired");
    assert_eq!(world.items("who --topic"), json!([]));
}

#[test]
fn a_subscription_counts_for_each_message_after_it_in_the_same_pass() {
    // P591
    let world = world();
    world.ok("agent set dave --topic ports");
    world.mail(
        "alice",
        "1.json",
        json!({"type": "subscribe", "topic": "Ports"}),
    );
    world.mail(
        "bob",
        "1.json",
        json!({"to": "#ports", "body": "8080 is taken"}),
    );
    world.mail(
        "bob",
        "2.json",
        json!({"type": "subscribe", "topic": "ports"}),
    );
    world.mail(
        "bob",
        "3.json",
        json!({"type": "unsubscribe", "topic": "ports"}),
    );
    world.mail(
        "carol",
        "1.json",
        json!({"to": "#ports", "body": "8081 is free"}),
    );
    world.mail(
        "dave",
        "1.json",
        json!({"type": "unsubscribe", "topic": "ports"}),
    );
    world.pass();
    for (agent, wanted) in [
        ("alice", &["8080 is taken", "8081 is free"][..]),
        ("bob", &[]),
        ("dave", &["8080 is taken", "8081 is free"]),
    ] {
        assert_eq!(world.bodies(agent), wanted, "{agent}");
    }
}
