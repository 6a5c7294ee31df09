//! Lanes of the charter are addresses.

use super::TEXT;
use crate::town::Town;
use crate::world::World;
use serde_json::{Value, json};

fn reached(world: &World, address: &str) -> Vec<String> {
    let explained: Value = world.json(&["send", "--dry-run", address, ""]);
    let one = &explained["addresses"][0];
    let agents = one["reaches"].as_array().expect("recipients").iter();
    agents
        .map(|one| one["agent"].as_str().expect("an id").to_owned())
        .collect()
}

#[test]
fn a_lane_reaches_its_owners_by_its_address_its_name_and_a_mention() {
    // P170
    let town = Town::of("alice bob carol dave").quick();
    town.write("charter.md", TEXT);
    let town = town.run();
    for (n, message) in [
        json!({"to": "lane:web", "body": "one"}),
        json!({"to": "LANE:Web", "body": "two"}),
        json!({"to": "web", "body": "three"}),
        json!({"body": "@web four"}),
    ]
    .into_iter()
    .enumerate()
    {
        town.mail("dave", &format!("{n}.json"), message);
    }
    for owner in ["alice", "bob"] {
        town.wait_for_bodies(owner, &["one", "two", "three", "@web four"]);
    }
    assert_eq!(town.inbox("alice")[0]["delivery"]["via"], "alias");
    assert_eq!((town.count("carol"), town.count("dave")), (0, 0));
}

#[test]
fn a_name_of_the_registry_is_never_taken_over_by_a_lane() {
    // P171
    let town = Town::with(&[
        json!({"id": "alice", "role": "tester"}),
        json!({"id": "bob", "name": "Porto"}),
        json!({"id": "mallory"}),
    ]);
    let registry = json!({
        "agents": [{"id": "alice", "role": "tester"}, {"id": "bob", "name": "Porto"}, {"id": "mallory"}],
        "aliases": {"web": ["alice"]}
    });
    town.place("registry.json", registry.to_string().as_bytes());
    let lanes = ["web", "bob", "porto", "tester"]
        .map(|name| format!("- {name}: mallory\n"))
        .concat();
    town.write("charter.md", format!("## Lanes\n{lanes}"));
    for (address, agent) in [
        ("web", "alice"),
        ("@web", "alice"),
        ("bob", "bob"),
        ("@Porto", "bob"),
        ("@tester", "alice"),
    ] {
        assert_eq!(reached(&town, address), [agent], "{address}");
    }
    for lane in ["lane:web", "lane:bob", "lane:porto", "lane:tester"] {
        assert_eq!(reached(&town, lane), ["mallory"], "{lane}");
    }
    assert_contains!(town.fails(65, "send tester x --as bob"), "all_tester");
}

#[test]
fn a_lane_can_name_roles_aliases_and_lanes_but_not_itself() {
    let town = Town::with(&[
        json!({"id": "alice", "role": "tester"}),
        json!({"id": "bob"}),
    ]);
    town.write(
        "charter.md",
        "## Lanes\n- web: @testers\n- all-web: lane:web, bob\n- loop: lane:pool\n- pool: loop\n- none:\n",
    );
    assert_eq!(reached(&town, "lane:all-web"), ["alice", "bob"]);
    for (address, words) in [
        (
            "lane:loop",
            "refers to itself: lane:loop → lane:pool → lane:loop",
        ),
        ("lane:none", "has no owner"),
        ("lane:wep", "did you mean lane:web"),
        ("lane:a b", "not a valid address"),
    ] {
        let said = town.fails(65, &["send", address, "x", "--as", "bob"]);
        assert!(said.contains(words), "{address}: {said}");
    }
}

#[test]
fn an_edit_takes_effect_while_the_router_runs() {
    let town = Town::alice_and_bob().quick().run();
    town.mail(
        "alice",
        "a.json",
        json!({"to": "lane:web", "body": "too early"}),
    );
    let refused = town.wait_for_refusals("alice", 1);
    assert_eq!(refused, ["unknown_recipient"]);
    town.write("charter.md", "## Lanes\n- web: bob\n");
    town.wait_for_mail("human", 1);
    town.mail("alice", "b.json", json!({"to": "lane:web", "body": "now"}));
    town.wait_for_bodies("bob", &["now"]);
    town.ok("agent set alice --topic news");
    town.mail(
        "alice",
        "c.json",
        json!({"to": "lane:web", "body": "still"}),
    );
    town.wait_for_bodies("bob", &["now", "still"]);
}
