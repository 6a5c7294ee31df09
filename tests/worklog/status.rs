//! The status block: who does what, who owns what, and who waits for whom.

use super::{echo, entries_of, pass, room, worklog};

#[test]
fn the_status_block_shows_what_agents_do_own_and_wait_for() {
    // P163
    let world = room(&["alice", "bob", "carol", "dave"]);
    echo(&world, "alice", r#"{"type":"claim","claims":["src/auth/**"]}"#);
    echo(&world, "bob", r#"{"type":"progress","body":"Parser","metadata":{"progress":40}}"#);
    pass(&world);
    echo(&world, "carol", r#"{"type":"blocked","body":"No schema","metadata":{"waiting_for":["bob"]}}"#);
    echo(&world, "bob", r#"{"type":"claim","claims":["src/auth/login.rs"],"wait":true}"#);
    pass(&world);
    let text = worklog(&world);
    let row = |agent: &str| text.lines().find(|line| line.starts_with(&format!("| {agent} |"))).unwrap_or_default();
    assert!(row("alice").contains(r"| src/auth/\*\* |"), "{text}");
    assert!(row("bob").contains("| progress 40 %: Parser (2026-") || row("bob").contains("| progress 40 %: Parser ("));
    assert!(row("bob").ends_with("| alice: src/auth/login.rs |"), "{text}");
    assert!(row("carol").contains("| blocked: No schema (") && row("carol").ends_with("| bob |"), "{text}");
    assert!(text.contains("2 more agents; `mailbag who` shows who is there."), "{text}");
}

#[test]
fn only_the_status_changes_and_the_entries_stay() {
    // P163
    let world = room(&["alice"]);
    echo(&world, "alice", r#"{"type":"milestone","body":"first"}"#);
    pass(&world);
    let before = worklog(&world);
    for n in 0..5 {
        echo(&world, "alice", &format!(r#"{{"type":"status","body":"step {n}"}}"#));
        pass(&world);
        let now = worklog(&world);
        assert!(now.contains(&format!("status: step {n} (")), "{now}");
        assert_eq!(entries_of(&now), entries_of(&before));
    }
}
