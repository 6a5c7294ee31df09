//! Tests that this machine cannot run: one way to skip them, and one switch that makes each a failure.

use crate::files;
use crate::world::{lossy, skip};
use std::process::Command;

/// A test that cannot run on this machine.
#[test]
#[ignore = "skips always; the tests of the switch run it"]
fn a_skipped_test() {
    skip("for the test of the switch");
}

#[test]
fn the_switch_turns_a_skipped_test_into_a_failure() {
    let run = |value: Option<&str>| {
        let mut tests = Command::new(std::env::current_exe().expect("the test binary"));
        tests.args([
            "--exact",
            "skipping::a_skipped_test",
            "--ignored",
            "--nocapture",
        ]);
        tests
            .env_remove("MAILBAG_TEST_ALL")
            .envs(value.map(|value| ("MAILBAG_TEST_ALL", value)));
        let output = tests.output().expect("the test binary runs");
        (
            output.status.success(),
            lossy([output.stdout, output.stderr].concat()),
        )
    };
    for value in [None, Some("0"), Some("")] {
        let (passed, printed) = run(value);
        assert!(
            passed && printed.contains("skipped: for the test of the switch"),
            "{value:?}: {printed}"
        );
    }
    let (passed, printed) = run(Some("1"));
    assert!(
        !passed && printed.contains("MAILBAG_TEST_ALL=1 is set: for the test of the switch"),
        "{printed}"
    );
}

#[test]
fn tests_are_skipped_in_one_way_and_ci_skips_none() {
    let mut wrong = Vec::new();
    let sources = walkdir::WalkDir::new("tests")
        .sort_by_file_name()
        .into_iter()
        .flatten();
    for source in sources.filter(|entry| {
        entry
            .path()
            .extension()
            .is_some_and(|ending| ending == "rs")
    }) {
        let path = source.path().display().to_string();
        if ["tests/world.rs", "tests/skipping.rs"].contains(&path.as_str()) {
            continue;
        }
        let text = files::read_text(source.path());
        for (n, line) in text.lines().enumerate() {
            if line.contains("println!") && line.contains("skip") {
                wrong.push(format!("{path}:{}: {}", n + 1, line.trim()));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "call `world::skip` instead:\n{}",
        wrong.join("\n")
    );
    assert_contains!(files::read_text(".ci/run"), "export MAILBAG_TEST_ALL="; ".ci/run does not set the switch");
}
