//! `mailbag ask` with options, and `mailbag decide`.

use super::{outcomes, steps};
use crate::beside::Beside;
use crate::town::so_within;
use crate::world::{Words, World, parse_json};
use rustix::process::Signal;
use serde_json::json;
use std::time::Duration;

const LONG: Duration = Duration::from_secs(30);

/// `mailbag ask` of alice, which waits.
fn asks(world: &World, args: &(impl Words + ?Sized)) -> Beside {
    Beside::start(
        world,
        &[vec!["ask", "--as", "alice"], args.words()].concat(),
    )
}

#[track_caller]
fn is_asked(world: &World, agent: &str) {
    assert!(
        so_within(LONG, || !world.inbox(agent).is_empty()),
        "nobody asked {agent}"
    );
}

#[test]
fn the_first_option_is_success_and_another_one_is_not() {
    // P136
    for (option, status) in [("yes", 0), ("no", 1), ("1", 0), ("n", 1)] {
        let world = World::alice_and_bob();
        let ask = asks(&world, "bob Deploy? --options yes,no");
        is_asked(&world, "bob");
        world.decide("bob", "#2", option, &[]).ok();
        let word = if status == 0 { "yes\n" } else { "no\n" };
        assert_eq!(ask.ends(&world, status), word, "{option}");
        assert_eq!(
            outcomes(&world, "alice"),
            [],
            "the command showed it, so its copy is read"
        );
    }
}

#[test]
fn without_a_router_the_waiting_command_keeps_the_deadline() {
    // P136
    let world = World::alice_and_bob();
    let ask = asks(&world, "bob Deploy? --deadline 1s");
    assert_eq!(ask.ends(&world, 1), "denied\n");
    let ask = asks(&world, "bob Deploy? --options a,b,c --deadline 1s --else c");
    assert_eq!(ask.ends(&world, 1), "c\n");
}

#[test]
fn ask_ends_with_75_at_its_timeout_and_the_approval_stays_open() {
    // P136
    let world = World::alice_and_bob();
    let ask = [
        "ask",
        "--as",
        "alice",
        "bob",
        "Deploy?",
        "--options",
        "yes,no",
        "--timeout",
        "100ms",
    ];
    assert_contains!(
        world.fails(75, &ask),
        "is undecided after 100ms; the approval stays open"
    );
    world.decide("bob", "2", "yes", &[]).ok();
    assert_eq!(outcomes(&world, "alice").len(), 1);
}

#[test]
fn decide_says_what_is_wrong() {
    // P136
    let world = World::with("alice bob carol");
    world.mail(
        "alice",
        "a.json",
        json!({"id": "d", "to": "bob", "type": "approval", "body": "Deploy?", "options": ["stay", "stop", "go"]}));
    assert_contains!(
        world.decide("bob", "d", "st", &[]).fails(2),
        "\"st\" is not an option of alice/d; write one of stay, stop, go"
    );
    let digest = world.json("pending --as bob")["items"][0]["digest"]
        .as_str()
        .expect("a digest")
        .to_owned();
    assert_contains!(
        world.fails(
            1,
            &["decide", "--as", "carol", "d", "go", "--digest", &digest],
        ),
        "carol was not asked to decide alice/d; only bob can decide it"
    );
    assert!(
        world.inbox("carol").is_empty(),
        "the command showed the rejection"
    );
    assert_contains!(
        world.decide("bob", "e", "go", &[]).fails(3),
        "there is no open approval \"e\""
    );
    assert_contains!(
        world.decide("bob", "d", "g", &[]).ok(),
        "decided alice/d: go"
    );
    assert_contains!(
        world.fails(1, "decide --as bob d go"),
        "alice/d was decided already: go, by bob at"
    );
}

#[test]
fn in_json_the_outcome_is_one_object() {
    // P136
    let world = World::alice_and_bob();
    let ask = asks(&world, "bob Deploy? --options yes,no --json");
    is_asked(&world, "bob");
    let decided = world
        .decide("bob", "2", "yes", &["--note", "fine", "--json"])
        .ok();
    let decided = parse_json(&decided);
    let asked = parse_json(ask.ends(&world, 0));
    assert_eq!(asked, decided);
    assert_fields!(asked, status: "decided", option: "yes", by: "bob");
}

#[test]
fn an_interrupted_ask_leaves_the_approval_open() {
    let world = World::alice_and_bob();
    let mut ask = asks(&world, "bob Deploy? --options yes,no");
    is_asked(&world, "bob");
    ask.signal(Signal::TERM);
    assert!(!ask.ended(&world).success());
    assert_eq!(steps(&world), ["ask"]);
    world.decide("bob", "2", "no", &[]).ok();
    assert_eq!(outcomes(&world, "alice").len(), 1);
}

#[test]
fn a_decision_shows_its_option_wherever_it_is_listed_and_a_reply_says_that_it_decides_nothing() {
    let world = World::alice_and_bob();
    world.mail(
        "alice",
        "a.json",
        json!({"id": "d", "to": "bob", "type": "approval", "body": "Deploy?"}),
    );
    let reply = ["reply", "d", "fine with me", "--as", "bob"];
    assert_contains!(
        world.run(&reply).err,
        "a reply decides nothing; to decide, run `mailbag decide 2 OPTION`"
    );
    world.mail(
        "bob",
        "b.json",
        json!({"type": "decision", "in_reply_to": "d", "option": "NO"}),
    );
    for list in [
        &["inbox", "--as", "alice"][..],
        &["list"],
        &["thread", "d"],
        &["search", "decision"],
        &["read", "--all", "--as", "alice"],
    ] {
        let shown = world.ok(list);
        assert!(
            shown.contains("alice/d · no") || list[0] == "search",
            "{list:?}: {shown}"
        );
    }
    let traced = world.ok("trace d");
    assert!(
        traced.contains("decided: no, by bob/") && !traced.contains("fine"),
        "{traced}"
    );
    let listed = world.items("list");
    assert_contains!(listed.to_string(), "\"change\":\"alice/d · no\""; "{listed}");
}

#[test]
fn a_withdrawal_by_another_command_ends_the_wait() {
    // P136
    let world = World::alice_and_bob();
    let ask = asks(&world, "bob Deploy? --options yes,no --timeout 20s");
    is_asked(&world, "bob");
    world.ok("ack 2 --status withdrawn --as alice");
    assert_eq!(ask.ends(&world, 1), "withdrawn\n");
}
