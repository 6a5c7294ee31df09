//! The lines about claims at the start of a session.

use super::{fire, mail, room};
use serde_json::json;

#[test]
fn an_open_offer_comes_first_then_what_the_session_owns() {
    // P142
    let world = room();
    mail(&world, "hello", "");
    world.ok("claim docs task:login --as alice");
    world.ok("claim src/auth/** web --as bob");
    world.ok("handoff alice src/auth/** --as bob");
    let seq = world.json("claims")["offers"][0]["seq"].to_string();
    for event in [
        "SessionStart-startup",
        "SessionStart-clear",
        "SessionStart-compact",
        "SessionStart-resume",
    ] {
        let told = fire(&world, "claude", event);
        let places: Vec<Option<usize>> = [
            format!("mailbag: bob offers you src/auth/**: `mailbag handoff --accept {seq}`"),
            "mailbag: you own docs, task:login".to_owned(),
        ]
        .iter()
        .map(|line| told.find(line))
        .collect();
        assert!(
            places.iter().all(Option::is_some) && places.is_sorted(),
            "{event}: {told}"
        );
        let has_mail = told.find("you are alice; ");
        assert_eq!(
            has_mail.is_some(),
            event != "SessionStart-resume",
            "{event}: {told}"
        );
        assert!(
            has_mail.is_none() || has_mail > places[1],
            "{event}: {told}"
        );
    }
    assert_eq!(
        fire(&world, "claude", "UserPromptSubmit"),
        "",
        "it is told at the start only"
    );
}

#[test]
fn many_claims_stay_within_the_budget_and_leave_room_for_mail() {
    // P142
    let world = room();
    let subjects: Vec<String> = (0..40)
        .map(|n| format!("a-directory-with-a-very-long-name/{n}/and/more"))
        .collect();
    let words: Vec<&str> = subjects.iter().map(String::as_str).collect();
    world.ok(&[&["claim", "--as", "bob"], &words[..]].concat());
    for (n, subject) in words[..20].iter().enumerate() {
        let offer = json!({"type": "handoff", "to": "alice", "claims": [subject], "body": "yours"});
        world.mail("bob", &format!("{n}.json"), offer);
    }
    world.pass();
    let told = fire(&world, "claude", "SessionStart-startup");
    assert_contains!(told, "18 more offers", "handoff from bob");
    assert!(told.chars().count() < 1700, "{}", told.chars().count());
}

#[test]
fn an_offer_that_ended_is_announced_as_ended() {
    // P120, P366
    for event in ["UserPromptSubmit", "SessionStart-startup"] {
        let world = room();
        world.ok("claim web --as bob");
        world.ok("handoff alice web --as bob");
        world.ok("release web --as bob");
        let told = fire(&world, "claude", event);
        assert_contains!(told, "handoff (offer ended) from bob"; "{event}");
        assert!(!told.contains("offers you"), "{told}");
    }
}
