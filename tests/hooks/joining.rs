//! A session that joins another agent instead of its given one.

use super::names::{agent_of, in_session, of, registered, told};
use super::{mail, room, run};
use crate::files;
use serde_json::{Value, json};

#[test]
fn a_session_that_joins_frees_its_unused_name() {
    // P192
    let world = room();
    told(&world, "s1", "SessionStart-startup");
    let joined = in_session(&world, "s1", "join alice").ok();
    assert_eq!(
        joined,
        "this session is alice, and no longer alder; 0 unread messages\n"
    );
    assert_eq!(
        (
            registered(&world, "alder"),
            world.room("inbox/alder").exists()
        ),
        (Value::Null, false)
    );
    assert_eq!(
        world.read("registry.json")["aliases"],
        Value::Null,
        "the name is free again"
    );
    mail(&world, "for alice", "");
    assert_contains!(told(&world, "s1", "UserPromptSubmit"), "for alice");
    assert_contains!(
        told(&world, "s2", "SessionStart-startup"),
        "this session is alder"
    );
}

#[test]
fn a_session_that_joins_takes_its_claims_and_the_mail_to_its_first_name_along() {
    // P192
    let world = room();
    told(&world, "s1", "SessionStart-startup");
    in_session(&world, "s1", "claim src/**").ok();
    in_session(&world, "s1", "send bob 'which port?' --type question").ok();
    world.wait("bob has it", || world.inbox("bob").len() == 1);
    in_session(&world, "s1", "join carol --role tester").ok();
    let claims = world.json("claims");
    assert_fields!(claims, claims.0.owner: "carol", offers.0: Value::Null);
    assert_eq!(world.read("registry.json")["aliases"]["alder"], "carol");
    let asked = world.inbox("bob")[0]["delivery"]["seq"].to_string();
    world.ok(&["reply", &asked, "8080", "--as", "bob"]);
    assert_contains!(told(&world, "s1", "UserPromptSubmit"), "8080"; "the answer to the first name reaches the session");
    assert_eq!(agent_of(&world, "s1").as_deref(), Some("carol"));
}

#[test]
fn join_moves_unread_mail_and_offers_of_the_first_name() {
    // P192, P143
    let world = room();
    told(&world, "s1", "SessionStart-startup");
    world.send("bob", "alder", "hello");
    world.send("bob", "alice", "for alice");
    in_session(&world, "s1", "claim docs").ok();
    in_session(&world, "s1", "handoff bob docs").ok();
    assert_contains!(
        in_session(&world, "s1", "join alice").ok(),
        "no longer alder; 2 unread messages"
    );
    assert_eq!(world.bodies("alice"), ["hello", "for alice"]);
    let claims = world.json("claims");
    assert_eq!(claims["offers"][0]["from"], "alice", "{claims}");
    assert_contains!(told(&world, "s1", "UserPromptSubmit"), "hello", "for alice");
    world.send("bob", "alder", "more");
    assert_eq!(
        world.bodies("alice").last().map(String::as_str),
        Some("more")
    );
}

#[test]
fn a_session_that_joins_beside_a_router_has_its_mail_when_the_command_ends() {
    // P192, P143
    let world = room();
    told(&world, "s1", "SessionStart-startup");
    let router = world.router("");
    world.send("bob", "alder", "hello");
    world.wait("alder has it", || world.inbox("alder").len() == 1);
    in_session(&world, "s1", "claim docs").ok();
    assert_contains!(
        in_session(&world, "s1", "join alice").ok(),
        "1 unread message"
    );
    assert_eq!(world.json("claims")["claims"][0]["owner"], "alice");
    world.wait("the mail is moved", || world.bodies("alice") == ["hello"]);
    assert_eq!(router.end(), 0);
}

#[test]
fn a_name_with_a_file_that_cannot_be_sent_yet_does_not_end() {
    // P192
    let world = room();
    told(&world, "s1", "SessionStart-startup");
    world.drop_file("alder", "half.json", r#"{"to": "bob", "bo"#);
    let refused = in_session(&world, "s1", "join alice");
    assert_eq!(refused.code, 75, "{}", refused.err);
    assert_contains!(
        refused.err,
        "alder, the name of this session so far, has 1 file in its outbox"
    );
    assert_eq!(
        agent_of(&world, "s1").as_deref(),
        Some("alder"),
        "nothing was changed"
    );
}

#[test]
fn a_join_that_was_killed_is_completed_by_the_next_one() {
    // P192
    let world = room();
    told(&world, "s1", "SessionStart-startup");
    in_session(&world, "s1", "claim src/**").ok();
    // The lease as after a kill.
    let mut lease = world.read("sessions/alder.json");
    lease["agent"] = json!("alice");
    world.write("sessions/alice.json", lease.to_string());
    files::remove_file(world.room("sessions/alder.json"));
    assert_contains!(
        in_session(&world, "s1", "join alice").ok(),
        "no longer alder"
    );
    assert_eq!(world.json("claims")["claims"][0]["owner"], "alice");
    assert_eq!(registered(&world, "alder"), Value::Null);
    let again = in_session(&world, "s1", "join alice").ok();
    assert!(!again.contains("no longer"), "{again}");
}

#[test]
fn two_processes_of_a_session_that_join_together_lose_no_mail() {
    // P192, P143
    let world = room();
    told(&world, "s1", "SessionStart-startup");
    world.send("bob", "alder", "0");
    std::thread::scope(|scope| {
        scope.spawn(|| (1..12).for_each(|n| drop(world.send("bob", "alder", &n.to_string()))));
        scope.spawn(|| in_session(&world, "s1", "join alice"));
        scope.spawn(|| in_session(&world, "s1", "join alice"));
    });
    world.pass();
    let mut bodies = world.bodies("alice");
    bodies.sort_by_key(|body| body.parse::<u32>().unwrap_or_default());
    assert_eq!(bodies, (0..12).map(|n| n.to_string()).collect::<Vec<_>>());
    assert_eq!(world.bodies("alder"), [""; 0]);
}

#[test]
fn an_agent_that_was_registered_keeps_its_mail_and_claims_when_its_session_joins_another_one() {
    // P192
    let world = room();
    let hook = run(
        &world,
        &["claude", "--as", "alice"],
        None,
        &of("claude", "s1", "SessionStart-startup"),
    );
    assert!(hook.status.success());
    in_session(&world, "s1", "claim src/**").ok();
    mail(&world, "for alice", "");
    in_session(&world, "s1", "join bob").ok();
    assert_eq!(world.json("claims")["claims"][0]["owner"], "alice");
    assert_eq!(world.bodies("alice"), ["for alice"]);
    let text = run(
        &world,
        &["claude", "--as", "alice"],
        None,
        &of("claude", "s1", "UserPromptSubmit"),
    );
    assert!(
        text.stdout.is_empty(),
        "the session is bob, whatever its hooks were installed with"
    );
}

#[test]
fn a_first_name_with_archived_files_still_gets_answers() {
    // P192
    let world = room();
    told(&world, "s1", "SessionStart-startup");
    let question = ["send", "bob", "which port?", "--type", "question"];
    in_session(&world, "s1", &question).ok();
    world.ok("archive --older-than 0s --quiet");
    assert_eq!(world.names("sent/alder"), [""; 0]);
    in_session(&world, "s1", "join alice").ok();
    assert_eq!(world.read("registry.json")["aliases"]["alder"], "alice");
    let asked = world.inbox("bob")[0]["delivery"]["seq"].to_string();
    world.ok(&["reply", &asked, "8080", "--as", "bob"]);
    assert_eq!(world.bodies("alice"), ["8080"]);
}
