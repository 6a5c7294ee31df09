//! The fast tests: `.ci/fast` selects them by a rule, and the selected tests exist and are useful.

use std::collections::BTreeSet;
use std::process::Command;

#[test]
fn the_fast_tests_exist_and_are_a_good_part_of_all() {
    let lines = |command: &mut Command| {
        let output = command.output().expect("it runs");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8_lossy(&output.stdout)
            .lines()
            .map(str::to_owned)
            .collect::<BTreeSet<String>>()
    };
    let listed =
        lines(Command::new(std::env::current_exe().expect("the test binary")).arg("--list"));
    let all: BTreeSet<&str> = listed
        .iter()
        .filter_map(|line| line.strip_suffix(": test"))
        .collect();
    let fast = lines(Command::new(".ci/fast").arg("--list"));
    let fast: BTreeSet<&str> = fast.iter().map(String::as_str).collect();
    // Tests of another system or of a feature are in the files, and not in this binary.
    let missing: Vec<&&str> = fast.difference(&all).collect();
    assert!(missing.len() < 10, "no such tests: {missing:?}");
    assert!(
        fast.len() * 4 > all.len(),
        "only {} of {} tests are fast",
        fast.len(),
        all.len()
    );
    for slow in ["crash::", "router::crowds::", "mcp::python::"] {
        assert!(
            !fast.iter().any(|name| name.starts_with(slow)),
            "{slow} is not fast"
        );
    }
}
