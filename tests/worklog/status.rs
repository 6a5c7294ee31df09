//! The status block: the agents' work, claims and waits.

use super::{echo, entries_of, room, worklog};

#[test]
fn the_status_block_shows_what_agents_do_own_and_wait_for() {
    // P163
    let world = room("alice bob carol dave");
    echo(
        &world,
        "alice",
        r#"{"type":"claim","claims":["src/auth/**"]}"#,
    );
    echo(
        &world,
        "bob",
        r#"{"type":"progress","body":"Parser","metadata":{"progress":40}}"#,
    );
    world.pass();
    echo(
        &world,
        "carol",
        r#"{"type":"blocked","body":"No schema","metadata":{"waiting_for":["bob"]}}"#,
    );
    world.pass();
    let text = worklog(&world);
    assert_contains!(
        text,
        "| agent | capabilities | last activity | does | owns | waits for |"
    );
    let row = |agent: &str| {
        text.lines()
            .find(|line| line.starts_with(&format!("| {agent} |")))
            .unwrap_or_default()
    };
    assert_contains!(row("alice"), r"| src/auth/\*\* |"; "{text}");
    assert!(
        row("bob").contains("| progress 40 %: Parser (2026-")
            || row("bob").contains("| progress 40 %: Parser (")
    );
    assert!(
        row("carol").contains("| blocked: No schema (") && row("carol").ends_with("| bob |"),
        "{text}"
    );
    assert_contains!(text, "2 more agents; `mailbag who` shows who is there.");
}

#[test]
fn only_the_status_changes_and_the_entries_stay() {
    // P163
    let world = room("alice");
    echo(&world, "alice", r#"{"type":"milestone","body":"first"}"#);
    world.pass();
    let before = worklog(&world);
    for n in 0..5 {
        echo(
            &world,
            "alice",
            &format!(r#"{{"type":"status","body":"step {n}"}}"#),
        );
        world.pass();
        let now = worklog(&world);
        assert_contains!(now, &format!("status: step {n} ("));
        assert_eq!(entries_of(&now), entries_of(&before));
    }
}

#[test]
fn the_status_block_shows_capabilities_and_the_time_of_the_last_activity() {
    // P163
    let world = room("alice bob");
    world.ok("agent set bob --capability has-telegram --capability rust");
    echo(&world, "alice", r#"{"to":"bob","body":"prose"}"#);
    world.pass();
    let text = worklog(&world);
    let cells = |agent: &str| -> Vec<String> {
        let line = text
            .lines()
            .find(|line| line.starts_with(&format!("| {agent} |")))
            .unwrap_or_default();
        line.split(" | ")
            .map(|cell| cell.trim_matches(['|', ' ']).to_owned())
            .collect()
    };
    let at = world.items("list")[0]["accepted_at"]
        .as_str()
        .expect("a time")
        .to_owned();
    assert_eq!(
        cells("alice")[..3],
        ["alice", "", &format!("{}Z", &at[..16])],
        "{text}"
    );
    assert_eq!(
        cells("bob")[..3],
        ["bob", "has-telegram; rust", ""],
        "{text}"
    );
    world.ok("read --as bob");
    world.pass();
    assert_contains!(worklog(&world), "| bob | has-telegram; rust | 20"; "reading mail is an activity");
}
