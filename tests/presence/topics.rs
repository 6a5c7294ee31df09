//! Topics: followed by a command, by a dropped file, or by the registry; all come to the same.

use crate::world::World;
use serde_json::json;

fn world() -> World {
    World::with("alice bob carol dave")
}

#[test]
fn every_subscriber_gets_the_messages_of_a_topic() {
    let world = world();
    assert_eq!(
        world.ok("topic subscribe ports #releases --as bob"),
        "bob is subscribed to #ports\nbob is subscribed to #releases\n"
    );
    world.mail(
        "carol",
        "x.json",
        json!({"type": "subscribe", "topic": "ports"}),
    );
    world.ok("agent set dave --topic ports");
    let topics = world.items("topic list");
    let wanted = json!([{"topic": "ports", "followers": ["bob", "carol", "dave"]},
        {"topic": "releases", "followers": ["bob"]}]);
    assert_eq!(topics, wanted);
    assert_eq!(
        world.ok("topic list"),
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
    world.ok("topic subscribe ports --as bob");
    world.ok("topic subscribe ports --as carol");
    world.ok("topic unsubscribe ports --as bob");
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
    assert_eq!(world.items("topic list"), json!([]));
    assert_contains!(world.run("topic list").err, "no topics with subscribers");
}

#[test]
fn a_topic_in_another_letter_case_is_the_same_topic() {
    // P382
    let world = world();
    world.ok("topic subscribe Auth --as bob");
    world.ok("topic subscribe AUTH --as carol");
    let topics = json!([{"topic": "Auth", "followers": ["bob", "carol"]}]);
    assert_eq!(world.items("topic list"), topics);
    let said = world.fails(3, "send #autt hi --as alice");
    assert_contains!(said, "did you mean #Auth?"; "{said}");
    let said = world.run("send --dry-run #auth hi --as bob").out;
    assert_contains!(said, "carol", "bob: is the sender"; "{said}");
}

#[test]
fn a_second_subscription_changes_nothing() {
    let world = world();
    world.ok("topic subscribe ports ports --as bob");
    world.ok("topic subscribe ports --as bob");
    world.send("alice", "#ports", "8080 is taken");
    assert_eq!(world.bodies("bob"), ["8080 is taken"]);
}

#[test]
fn unsubscribing_without_a_subscription_fails_and_changes_nothing() {
    let world = world();
    world.ok("topic subscribe ports --as bob");
    world.ok("topic subscribe releases --as carol");
    let before = world.items("topic list");
    for (topic, hint) in [
        ("prots", "did you mean ports?"),
        ("releases", "mailbag topic list"),
        ("ports nothing", "not subscribed to #nothing"),
    ] {
        let said = world.fails(3, &*format!("topic unsubscribe {topic} --as bob"));
        assert_contains!(said, "bob is not subscribed to #", hint; "{topic}");
        assert_eq!(world.items("topic list"), before, "{topic}");
    }
    world.mail(
        "bob",
        "1.json",
        json!({"type": "subscribe", "topic": "docs"}),
    );
    world.ok("topic unsubscribe Docs --as bob");
    assert_eq!(world.items("topic list"), before);
}

#[test]
fn topic_rejects_a_bad_name_the_human_and_a_stranger_and_writes_nothing() {
    let world = world();
    let before = world.everything();
    assert_contains!(
        world.fails(2, "topic subscribe ports ../x --as bob"),
        "is not a valid topic name"
    );
    assert_contains!(
        world.fails(2, "topic subscribe ports --as human"),
        "mailbag watch"
    );
    assert_contains!(world.fails(2, "topic subscribe ports"), "--as");
    assert_contains!(
        world.fails(3, "topic subscribe ports --as nobody"),
        "mailbag agent add nobody"
    );
    assert_eq!(world.everything(), before);
}

#[test]
fn the_retired_follow_nothing() {
    let world = world();
    world.ok("topic subscribe ports --as bob");
    world.ok("agent set bob --status retired");
    assert_eq!(world.items("topic list"), json!([]));
}

#[test]
fn a_subscription_counts_for_each_message_after_it_in_the_same_pass() {
    // P591
    let world = world();
    world.ok("topic subscribe ports --as dave");
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
