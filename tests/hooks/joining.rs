//! A session that joins another agent than the one that it was given.

use super::names::{agent_of, in_session, of, registered, told};
use super::{mail, room, run};
use serde_json::{Value, json};

#[test]
fn a_session_that_joins_leaves_the_name_that_nobody_knows() {
    // P192
    let world = room();
    told(&world, "s1", "SessionStart-startup");
    let joined = in_session(&world, "s1", &["join", "alice"]).ok(&["join"]);
    assert_eq!(joined, "this session is alice, and no longer alder; 0 unread messages\n");
    assert_eq!((registered(&world, "alder"), world.room("inbox/alder").exists()), (Value::Null, false));
    assert_eq!(world.read("registry.json")["aliases"], Value::Null, "the name is free again");
    mail(&world, "for alice", &[]);
    assert!(told(&world, "s1", "UserPromptSubmit").contains("for alice"));
    assert!(told(&world, "s2", "SessionStart-startup").contains("this session is alder"));
}

#[test]
fn a_session_that_joins_takes_its_claims_and_the_mail_to_its_first_name_along() {
    // P192
    let world = room();
    told(&world, "s1", "SessionStart-startup");
    in_session(&world, "s1", &["claim", "src/**"]).ok(&["claim"]);
    in_session(&world, "s1", &["send", "bob", "which port?", "--type", "question"]).ok(&["send"]);
    world.wait("bob has it", || world.inbox("bob").len() == 1);
    in_session(&world, "s1", &["join", "carol", "--role", "tester"]).ok(&["join"]);
    let claims = world.json(&["claims"]);
    assert_eq!((&claims["claims"][0]["owner"], &claims["offers"][0]), (&json!("carol"), &Value::Null), "{claims}");
    assert_eq!(world.read("registry.json")["aliases"]["alder"], "carol");
    let asked = world.inbox("bob")[0]["delivery"]["seq"].to_string();
    world.ok(&["reply", &asked, "8080", "--as", "bob"]);
    let text = told(&world, "s1", "UserPromptSubmit");
    assert!(text.contains("8080"), "the answer to the first name reaches the session: {text}");
    assert_eq!(agent_of(&world, "s1").as_deref(), Some("carol"));
}

#[test]
fn unread_mail_of_the_first_name_is_read_before_the_session_joins() {
    // P192
    let world = room();
    told(&world, "s1", "SessionStart-startup");
    world.send("bob", "alder", "hello");
    let refused = in_session(&world, "s1", &["join", "alice"]);
    assert_eq!(refused.code, 75, "{}", refused.err);
    assert!(refused.err.contains("alder, the name of this session so far, has 1 unread message"), "{}", refused.err);
    assert_eq!(agent_of(&world, "s1").as_deref(), Some("alder"), "nothing was changed");
    let read = in_session(&world, "s1", &["read", "--as", "alder"]).ok(&["read"]);
    assert!(read.contains("hello"), "{read}");
    in_session(&world, "s1", &["join", "alice"]).ok(&["join"]);
    assert_eq!(world.read("registry.json")["aliases"]["alder"], "alice");
    world.send("bob", "alder", "more");
    assert_eq!(world.bodies("alice"), ["more"]);
}

#[test]
fn a_join_that_was_killed_is_completed_by_the_next_one() {
    // P192
    let world = room();
    told(&world, "s1", "SessionStart-startup");
    in_session(&world, "s1", &["claim", "src/**"]).ok(&["claim"]);
    // As after a kill behind the lease, and behind the offer.
    let mut lease = world.read("sessions/alder.json");
    lease["agent"] = json!("alice");
    world.write("sessions/alice.json", lease.to_string());
    std::fs::remove_file(world.room("sessions/alder.json")).expect("it is there");
    world.ok(&["handoff", "alice", "--as", "alder"]);
    let joined = in_session(&world, "s1", &["join", "alice"]).ok(&["join"]);
    assert!(joined.contains("no longer alder"), "{joined}");
    assert_eq!(world.json(&["claims"])["claims"][0]["owner"], "alice");
    assert_eq!(registered(&world, "alder"), Value::Null);
    let again = in_session(&world, "s1", &["join", "alice"]).ok(&["join"]);
    assert!(!again.contains("no longer"), "{again}");
}

#[test]
fn an_agent_that_was_registered_keeps_its_mail_and_claims_when_its_session_joins_another_one() {
    // P192
    let world = room();
    let hook = run(&world, &["claude", "--as", "alice"], None, &of("claude", "s1", "SessionStart-startup"));
    assert!(hook.status.success());
    in_session(&world, "s1", &["claim", "src/**"]).ok(&["claim"]);
    mail(&world, "for alice", &[]);
    in_session(&world, "s1", &["join", "bob"]).ok(&["join"]);
    assert_eq!(world.json(&["claims"])["claims"][0]["owner"], "alice");
    assert_eq!(world.bodies("alice"), ["for alice"]);
    let text = run(&world, &["claude", "--as", "alice"], None, &of("claude", "s1", "UserPromptSubmit"));
    assert!(text.stdout.is_empty(), "the session is bob, whatever its hooks were installed with");
}
