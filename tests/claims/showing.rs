//! Messages about claims in the output of commands: the request and the outcome.

use crate::world::World;
use serde_json::{Value, json};
use std::fs::File;
use std::process::Stdio;

fn office() -> World {
    let world = World::alice_and_bob();
    world.route(
        "alice",
        "a.json",
        r#"{"id": "c1", "type": "claim", "claims": ["src/auth/**"], "subject": "Passkeys"}"#,
    );
    world.drop_file(
        "bob",
        "b.json",
        r#"{"id": "c2", "type": "claim", "claims": ["lib"]}"#,
    );
    world.route(
        "alice",
        "c.json",
        r#"{"id": "c3", "type": "handoff", "to": "bob", "claims": ["src/auth/**"]}"#,
    );
    world
}

#[test]
fn every_list_says_what_is_claimed_and_what_became_of_it() {
    let world = office();
    let granted = "src/auth/** · granted";
    for args in [
        &["inbox", "--as", "alice"][..],
        &["list", "--as", "alice"],
        &["thread", "c1", "--as", "alice"],
        &["watch", "--as", "alice"],
        &["read", "c1", "--as", "alice"],
    ] {
        let out = match args[0] {
            "watch" => watched(&world),
            _ => world.ok(args),
        };
        assert!(out.contains(granted), "{args:?}: {out}");
        assert_contains!(out, "Passkeys"; "{args:?}");
    }
    assert_contains!(world.ok("list"), "lib · granted", "src/auth/** · offered");
    assert_contains!(world.ok("inbox --as bob"), "src/auth/** · offered");
}

#[test]
fn every_list_has_the_same_field_for_it_in_json() {
    let world = office();
    for (args, claim) in [
        (&["inbox", "--as", "alice"][..], "src/auth/** · granted"),
        (&["list", "--as", "alice"], "src/auth/** · granted"),
        (&["thread", "c1", "--as", "alice"], "src/auth/** · granted"),
        (
            &["search", "Passkeys", "--as", "alice"],
            "src/auth/** · granted",
        ),
        (&["inbox", "--as", "bob"], "lib · granted"),
        (&["list", "--type", "handoff"], "src/auth/** · offered"),
    ] {
        let listed = world.items(args);
        let claims: Vec<&Value> = listed
            .as_array()
            .expect("a list")
            .iter()
            .map(|one| &one["change"])
            .collect();
        assert!(claims.contains(&&json!(claim)), "{args:?}: {listed}");
    }
    world.send("alice", "bob", "hello");
    let plain = world.items("list --type message");
    assert!(plain[0].get("change").is_none(), "{plain}");
}

/// The output of `watch` in a pipe, once it has the last message.
fn watched(world: &World) -> String {
    let path = world.path().join("watched");
    let mut command = world.bare("watch --as alice");
    command
        .stdin(Stdio::null())
        .stdout(File::create(&path).expect("a file"))
        .stderr(Stdio::null());
    let mut child = command.spawn().expect("it starts");
    let shown = || std::fs::read_to_string(&path).unwrap_or_default();
    world.wait("watch shows the offer", || shown().contains("offered"));
    child.kill().expect("a signal");
    child.wait().expect("it ends");
    shown()
}

#[test]
fn trace_says_what_is_left_of_a_claim() {
    let world = office();
    let now = |id: &str| world.json(&["trace", id, "--as", "human"])["claim"].clone();
    assert_eq!(
        now("c1"),
        json!({"change": "src/auth/** · granted", "state": "owned"})
    );
    assert_eq!(
        now("c2"),
        json!({"change": "lib · granted", "state": "owned"})
    );
    assert_eq!(
        now("c3"),
        json!({"change": "src/auth/** · offered", "state": "open"})
    );
    world.ok("release --as alice");
    assert_eq!(
        ["c1", "c2", "c3"].map(|id| now(id)["state"].clone()),
        ["ended", "owned", "ended"]
    );
    assert_contains!(
        world.ok("trace c2 --as human"),
        "lib · granted; still owned\n"
    );
    let id = world.send("alice", "bob", "hello");
    assert_eq!(now(&id), Value::Null);
}

#[test]
fn explain_names_the_owner_of_work() {
    let world = office();
    let out = world.ok("send --dry-run owner:src/auth/x.rs '' --as bob");
    assert_contains!(out, "reaches alice");
    let ran = world.run("send --dry-run owner:docs '' --as bob");
    assert!(
        ran.code == 65 && ran.out.contains("no agent owns docs"),
        "{ran:?}"
    );
}

#[test]
fn an_offer_that_ended_is_shown_as_ended() {
    // P120, P366
    let offered = || {
        let world = World::alice_and_bob();
        world.ok("claim f1 --as alice");
        world.ok("handoff bob f1 --note please --as alice");
        assert!(!world.ok("inbox --as bob").contains("offer ended"));
        world
    };
    for end in [
        "release f1 --as alice",
        "handoff --decline --as alice",
        "handoff --decline --as bob",
        "handoff --accept --as bob",
    ] {
        let world = offered();
        let seq = world.json("claims")["offers"][0]["seq"].to_string();
        world.ok(end);
        let shown = [
            world.ok("list --type handoff"),
            world.ok(&["thread", &seq, "--as", "bob"]),
            world.ok("search please --as bob"),
            world.ok(&["read", &seq, "--as", "bob"]),
        ];
        for text in shown {
            assert_contains!(text, "offer ended"; "{end}");
        }
        let read = world.items(&["read", &seq, "--as", "bob"]);
        assert_eq!(read[0]["delivery"]["closed"], "offer ended");
    }
    let world = offered();
    world.ok("release f1 --as alice");
    assert_contains!(world.ok("inbox --as bob"), "handoff (offer ended)");
    assert_eq!(world.items("inbox --as bob")[0]["closed"], "offer ended");
    assert_contains!(world.ok("read --as bob"), "closed: offer ended");
}
