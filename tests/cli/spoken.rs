//! Spellings that people bring from other mail programs are understood.

use crate::world::{World, parse_json};
use serde_json::json;

#[test]
fn the_spellings_that_people_come_with_do_what_mailbag_s_own_do() {
    let world = World::alice_and_bob();
    world.ok("message send bob hello --as alice --channel design");
    let pairs: [(&[&str], &[&str]); 3] = [
        (&["message", "inbox", "bob"], &["inbox", "bob"]),
        (&["--json", "message", "list"], &["--json", "list"]),
        (&["--room", ".mailbag", "message", "list"], &["list"]),
    ];
    for (theirs, ours) in pairs {
        assert_eq!(world.ok(theirs), world.ok(ours), "{theirs:?}");
    }
    for roster in [&["roster"][..], &["-q", "channel", "roster", "design"]] {
        assert_contains!(world.ok(roster), "alice", "bob"; "{roster:?}");
    }
    world.fails(2, "message sing");
    // In other positions, such a word keeps its meaning.
    world.send("alice", "bob", "roster");
    world.ok("send bob --as alice message");
    assert_eq!(world.bodies("bob"), ["hello", "roster", "message"]);
}

#[test]
fn check_tells_whom_a_body_mentions_what_is_left_of_it_and_whether_it_is_for_all() {
    let world = World::alice_and_bob().agent("carol", "--role tester");
    let check = |message: serde_json::Value| {
        let ran = world.pipe(
            "send --dry-run --file - --as alice --json",
            message.to_string(),
        );
        let checked = parse_json(&ran.out);
        checked["messages"][0].clone()
    };
    let one = check(json!({"body": "@bob please look at `@code`"}));
    assert_fields!(one, mentions: ["@bob"], text: "please look at `@code`");
    assert_eq!(one["broadcast"], false);
    for to in [
        json!("all"),
        json!(["bob", "all_tester"]),
        json!("@channel"),
    ] {
        assert_eq!(
            check(json!({"to": to, "body": "hello"}))["broadcast"],
            true,
            "{to}"
        );
    }
    assert_eq!(check(json!({"body": "@all: stop"}))["broadcast"], true);
    assert_eq!(
        check(json!({"to": "any_tester", "body": "hello"}))["broadcast"],
        false
    );
    assert_eq!(
        check(json!({"to": "nobody-here", "body": "hello"})).get("text"),
        None
    );
}

#[test]
fn the_inbox_is_listed_for_an_agent_named_as_elsewhere() {
    let world = World::alice_and_bob();
    world.send("alice", "bob", "hello");
    assert_eq!(world.ok("inbox --as bob"), world.ok("inbox bob"));
    assert_contains!(world.ok("inbox --as bob"), "hello");
    world.fails(2, "inbox alice --as bob");
}
