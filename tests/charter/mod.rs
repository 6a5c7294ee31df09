//! The charter: its mistakes, the recipients of its lanes, and the record of each change.

mod changes;
mod lanes;
mod trials;

use crate::files;
use crate::world::{World, parse_json};
use serde_json::json;

const TEXT: &str = "# Our charter\n\n## Goals\n- Sign in with a passkey\n\n## Lanes\n- web: alice, bob (src/web/**)\n\
    - docs: carol\n\n## Acceptance criteria\n- All tests pass\n\n## Settings\n- branch: main\n";

/// The findings of the doctor about the charter.
fn findings(world: &World) -> String {
    let report = parse_json(&world.run("doctor --json").out);
    let all = report["findings"].as_array().expect("findings").iter();
    let own: Vec<_> = all.filter(|one| one["code"] == "charter").collect();
    json!(own).to_string()
}

#[test]
fn the_template_in_the_docs_has_no_mistake() {
    let page = files::read_text("docs/charter.md");
    let template = page.split("```").nth(1).expect("a template");
    let template = template.strip_prefix("markdown\n").expect("Markdown");
    let charter = mailbag::features::charter::Charter::parse(template);
    assert_eq!((charter.problems, charter.lanes.len()), (Vec::new(), 2));
}

#[test]
fn mistakes_are_named_with_their_lines_and_the_rest_counts() {
    let world = World::with("alice");
    world.write(
        "charter.md",
        "## Goals\n- one\n## Lanes\n- web alice\n- docs: alcie\n- ops: alice\n",
    );
    let problems = findings(&world);
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
        let said = findings(&world);
        assert!(said.contains(word), "{word}: {said}");
        world.send("human", "alice", "hello");
    }
    assert_eq!(
        world.bodies("alice").len(),
        super::charter::changes::OBSTACLES.len()
    );
}
