//! The announcement budget: similar messages share a line, and the number of lines is limited.

use super::{fire, mail, recorded, room};
use crate::world::{World, lossy};

/// Fires Claude Code's hook at that time of one day.
fn fire_at(world: &World, time: &str, event: &str) -> String {
    let mut hook = world.program("hook claude");
    hook.env("MAILBAG_AGENT", "alice")
        .env("MAILBAG_TEST_NOW", format!("2026-01-05T{time}:00Z"));
    let output = hook
        .write_stdin(recorded("claude", event))
        .output()
        .expect("the program runs");
    lossy(&output.stdout)
}

#[test]
fn messages_that_say_the_same_are_one_line() {
    // P84
    let world = room();
    let sent: Vec<u64> = (0..5)
        .map(|_| mail(&world, "still at it", "--type status"))
        .collect();
    mail(&world, "another thing", "");
    let told = fire(&world, "claude", "UserPromptSubmit");
    let line = format!("5 × status from bob, “still at it”, newest #{}", sent[4]);
    assert!(
        told.contains(&line) && told.contains("another thing"),
        "{told}"
    );
}

#[test]
fn beyond_the_budget_prompts_and_stops_get_a_digest_and_tools_nothing() {
    // P84
    let world = room().settings("budget.announcements = 2\n");
    for n in 1..=3 {
        mail(&world, &format!("note {n}"), "");
    }
    assert_contains!(
        fire_at(&world, "10:00", "UserPromptSubmit"),
        "“note 1”",
        "“note 2”",
        "and 1 more, from bob"
    );
    mail(&world, "note 4", "");
    assert_eq!(fire_at(&world, "10:10", "PostToolBatch"), "");
    let told = fire_at(&world, "10:20", "Stop");
    assert!(
        told.contains("mailbag: 4 unread: 1 new, from bob") && !told.contains("note 4"),
        "{told}"
    );
    mail(&world, "note 5", "");
    assert_contains!(fire_at(&world, "11:01", "PostToolBatch"), "“note 5”"; "a new window has begun");
}

#[test]
fn a_budget_of_nothing_gives_digests_only() {
    let world = room().settings("budget.announcements = 0\n");
    mail(&world, "note", "");
    assert_eq!(fire(&world, "claude", "PostToolBatch"), "");
    assert_contains!(
        fire(&world, "claude", "UserPromptSubmit"),
        "mailbag: 1 unread: 1 new, from bob"
    );
    assert_eq!(fire(&world, "claude", "UserPromptSubmit"), "");
}
