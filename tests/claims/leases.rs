//! Leases: what keeps a claim alive, and what happens when its owner is gone. The clock is fixed.

use super::{answer, claim, notices, office, outcome, owned, owner, pass, say};
use crate::approvals::run_at;
use crate::files;
use crate::mcp::Client;
use crate::town::{Town, so_within};
use serde_json::json;
use std::time::Duration;

#[test]
fn a_claim_lapses_after_its_lease_and_owner_and_human_are_notified() {
    // P123
    let world = office();
    say(
        &world,
        0,
        "alice",
        json!({"type": "claim", "claims": ["src"], "lease": "1h", "subject": "Passkeys"}),
    );
    pass(&world, 55);
    assert_eq!(
        notices(&world, "alice"),
        ["your claims lapse at 2026-11-21T11:00:00Z"],
        "warned at 80 %"
    );
    pass(&world, 59);
    assert_eq!(owner(&world, "src"), "alice");
    pass(&world, 61);
    assert_eq!(owned(&world), []);
    assert_eq!(notices(&world, "alice").len(), 2);
    assert_eq!(notices(&world, "human"), ["lapsed: src"]);
    assert_contains!(
        world.inbox("human")[0]["body"].to_string(),
        "alice showed no activity since 2026-11-21T10:00"
    );
}

#[test]
fn every_sign_of_life_renews_a_claim() {
    // P123
    let world = office();
    say(
        &world,
        0,
        "alice",
        json!({"type": "claim", "claims": ["src"], "lease": "1h"}),
    );
    say(
        &world,
        50,
        "alice",
        json!({"to": "bob", "body": "still here"}),
    );
    pass(&world, 100);
    assert_eq!(owner(&world, "src"), "alice", "mail renews it");
    // A read message also counts as activity.
    say(&world, 101, "bob", json!({"to": "alice", "body": "hi"}));
    for name in world.names("inbox/alice") {
        files::remove_file(world.room(&format!("inbox/alice/{name}")));
    }
    pass(&world, 106);
    pass(&world, 160);
    assert_eq!(owner(&world, "src"), "alice", "reading renews it");
    assert_eq!(
        say(
            &world,
            164,
            "alice",
            json!({"type": "claim", "claims": ["src"], "lease": "4h"})
        ),
        "granted"
    );
    pass(&world, 400);
    assert_eq!(
        owner(&world, "src"),
        "alice",
        "a repeated claim renews it, with its new lease"
    );
    pass(&world, 405);
    assert_eq!(owned(&world), []);
}

#[test]
fn an_expiry_and_a_renewal_in_one_batch_leave_the_owner() {
    // P123
    let world = office();
    say(
        &world,
        0,
        "alice",
        json!({"type": "claim", "claims": ["src"], "lease": "1h"}),
    );
    world.mail(
        "bob",
        "c.json",
        json!({"type": "claim", "claims": ["src"], "id": "b1"}),
    );
    world.mail(
        "alice",
        "hi.json",
        json!({"to": "carol", "body": "I am back"}),
    );
    pass(&world, 90);
    assert_eq!(
        (owner(&world, "src"), outcome(&world, "bob", "b1")),
        ("alice".into(), "claimed".into())
    );
    pass(&world, 100);
    assert_eq!(
        (owner(&world, "src"), notices(&world, "human").len()),
        ("alice".into(), 0)
    );
}

#[test]
fn a_claim_on_lapsed_work_is_granted_although_no_router_ran() {
    // P123
    let world = office();
    say(&world, 0, "alice", claim(&["src"]));
    assert_eq!(say(&world, 300, "bob", claim(&["src/a"])), "granted");
    assert_eq!(
        notices(&world, "alice").last().map(String::as_str),
        Some("lapsed: src")
    );
}

#[test]
fn a_handoff_while_the_lease_lapses_is_void() {
    // P123
    let world = office();
    say(
        &world,
        0,
        "alice",
        json!({"type": "claim", "claims": ["src"], "lease": "1h"}),
    );
    say(
        &world,
        1,
        "alice",
        json!({"type": "handoff", "to": "bob", "claims": ["src"], "body": "yours"}),
    );
    let accept = answer(&world, "accept");
    assert_eq!(say(&world, 62, "bob", accept), "no_offer");
    assert_eq!(owned(&world), []);
}

#[test]
fn the_claims_of_a_retired_agent_lapse() {
    // P123
    let world = office();
    say(&world, 0, "alice", claim(&["src"]));
    run_at(&world, 2, "agent set alice --status retired");
    assert_eq!(owned(&world), []);
    assert_contains!(world.inbox("human")[0]["body"].to_string(), "retired");
}

#[test]
fn a_running_router_releases_the_claims_of_a_removed_agent() {
    // P123
    let town = Town::of("alice bob").run();
    town.ok("claim src --as alice");
    town.ok("agent remove alice --force");
    let limit = Duration::from_secs(10);
    assert!(so_within(limit, || notices(&town, "human") == ["lapsed: src"]));
    town.ok("agent add alice");
    town.wait("the new alice owns nothing", || owned(&town).is_empty());
}

#[test]
fn a_clock_that_was_set_back_leaves_a_claim_one_whole_lease() {
    let world = office();
    say(&world, 500, "alice", claim(&["src"]));
    pass(&world, 0);
    pass(&world, 239);
    assert_eq!(owner(&world, "src"), "alice");
    pass(&world, 241);
    assert_eq!(owned(&world), []);
}

#[test]
fn the_claims_of_a_retired_or_removed_agent_are_released_without_a_router() {
    // P123
    let world = office();
    for (subject, end) in [
        ("a", "agent set alice --status retired"),
        ("b", "agent remove bob --force"),
    ] {
        let agent = end.split(' ').nth(2).expect("an agent");
        world.ok(&["claim", subject, "--as", agent]);
        world.ok(end);
        assert_eq!(owner(&world, subject), "", "{end}");
    }
    assert_eq!(notices(&world, "human"), ["lapsed: a", "lapsed: b"]);
    // An edit of the registry by hand makes no pass.
    world.ok("claim c --as carol");
    world.ok("agent add dave");
    let mut registry = world.read("registry.json");
    let agents = registry["agents"].as_array_mut().expect("agents");
    let carol = agents.iter_mut().find(|agent| agent["id"] == "carol");
    carol.expect("carol")["status"] = json!("retired");
    world.place("registry.json", registry.to_string());
    assert_eq!(world.ok("claims c --as dave"), "c: free\n");
    let client = Client::of(&world, "dave");
    assert_eq!(
        client.text("list_claims", json!({"paths": ["c"]})),
        "c: free"
    );
    assert_eq!(client.text("list_claims", json!({})), "no claims");
    assert_eq!(world.json("claims")["claims"], json!([]));
    assert_eq!(world.ok("claim c --as dave"), "granted: c (lease 4h)\n");
}
