//! The charter: its display, the recipients of its lanes, and the record of each change.

mod changes;
mod lanes;
mod trials;

use crate::world::{World, parse_json};
use serde_json::json;

const TEXT: &str = "# Our charter\n\n## Goals\n- Sign in with a passkey\n\n## Lanes\n- web: alice, bob (src/web/**)\n\
    - docs: carol\n\n## Acceptance criteria\n- All tests pass\n\n## Settings\n- branch: main\n";

#[test]
fn a_charter_is_shown_and_parsed() {
    let world = World::with("alice bob carol");
    world.write("charter.md", TEXT);
    let shown = world.ok("charter");
    for line in [
        "goals: 1",
        "    Sign in with a passkey",
        "    web: alice, bob (src/web/**)",
        "    All tests pass",
    ] {
        assert!(
            shown.lines().any(|shown| shown == line),
            "{line:?} in {shown}"
        );
    }
    let parsed = world.json("charter");
    assert_eq!(parsed["goals"], json!(["Sign in with a passkey"]));
    let web =
        json!({"name": "web", "owners": ["alice", "bob"], "paths": ["src/web/**"], "line": 7});
    assert_fields!(parsed, lanes.0: web, criteria: ["All tests pass"]);
    assert_fields!(parsed, settings.0.value: "main", problems: json!([]));
}

#[test]
fn the_template_is_written_once() {
    let world = World::new();
    assert_contains!(world.fails(3, "charter"), "mailbag charter init");
    world.ok("charter init");
    assert_eq!(world.json("charter")["goals"], json!([]));
    world.write("charter.md", TEXT);
    assert_contains!(world.fails(2, "charter init"), "exists already");
    assert_eq!(world.text("charter.md"), TEXT);
}

#[test]
fn mistakes_are_named_with_their_lines_and_the_rest_counts() {
    let world = World::with("alice");
    world.write(
        "charter.md",
        "## Goals\n- one\n## Lanes\n- web alice\n- docs: alcie\n- ops: alice\n",
    );
    let shown = world.run("charter").fails(65);
    assert_eq!(shown, "", "the problems are data");
    let parsed = parse_json(
        &world
            .program("charter --json")
            .output()
            .expect("it runs")
            .stdout,
    );
    let problems = parsed["problems"].to_string();
    for word in [
        "line 4",
        "names no owner",
        "line 5",
        "alcie",
        "did you mean alice?",
    ] {
        assert!(problems.contains(word), "{word} in {problems}");
    }
    world.ok("send lane:ops hello --as human");
    assert_eq!(world.bodies("alice"), ["hello"]);
}

#[test]
fn an_invalid_charter_is_reported_and_blocks_no_command() {
    let world = World::with("alice");
    let charter = world.room("charter.md");
    let clear = || {
        let _ = std::fs::remove_dir(&charter);
        let _ = std::fs::remove_file(&charter);
    };
    for (make, word) in super::charter::changes::OBSTACLES {
        clear();
        make(&charter);
        let said = world.fails(1, "charter");
        assert!(said.contains(word), "{word}: {said}");
        world.send("human", "alice", "hello");
    }
    assert_eq!(
        world.bodies("alice").len(),
        super::charter::changes::OBSTACLES.len()
    );
}
