//! `mailbag doctor`: each finding in a real room, and its fix.

mod drafts;
mod hooks;
mod machine;
mod mending;
mod place;
mod room;

use crate::world::{Words, World, lossy};
use serde_json::Value;

/// The report of the doctor; its exit status must match.
#[track_caller]
fn examined(world: &World, args: &(impl Words + ?Sized)) -> Value {
    report(world.program(&[vec!["doctor", "--json"], args.words()].concat()))
}

#[track_caller]
fn report(mut command: assert_cmd::Command) -> Value {
    let output = command.output().expect("the program runs");
    let text = lossy(&output.stdout);
    let report: Value = serde_json::from_str(&text)
        .unwrap_or_else(|e| panic!("no JSON: {e}\n{text}\n{}", lossy(&output.stderr)));
    assert_eq!(
        output.status.code(),
        Some(i32::from(report["healthy"] == false)),
        "{report}"
    );
    report
}

/// The finding of that code, which must be the only one.
#[track_caller]
fn finding(report: &Value, code: &str) -> Value {
    let all = report["findings"].as_array().expect("a list");
    let mut those = all.iter().filter(|finding| finding["code"] == code);
    let found = those
        .next()
        .unwrap_or_else(|| panic!("no {code} in {report:#}"))
        .clone();
    assert!(those.next().is_none(), "{code} twice in {report:#}");
    let fix = found["fix"].as_str().expect("a text");
    assert!(
        !fix.is_empty() && !fix.contains('\n'),
        "no command line: {found:#}"
    );
    found
}

fn codes(report: &Value) -> Vec<String> {
    let all = report["findings"].as_array().expect("a list").iter();
    all.map(|finding| finding["code"].as_str().unwrap_or_default().to_owned())
        .collect()
}

#[track_caller]
fn says(finding: &Value, severity: &str, words: &[&str]) {
    assert_eq!(finding["severity"], severity, "{finding:#}");
    for word in words {
        let is_there = |field: &str| {
            finding[field]
                .as_str()
                .is_some_and(|text| text.contains(word))
        };
        assert!(
            is_there("what") || is_there("fix"),
            "{word:?} is not in {finding:#}"
        );
    }
}

/// Runs the suggested command of a finding, as a person would paste it.
#[track_caller]
fn paste(world: &World, finding: &Value) {
    let program = assert_cmd::cargo::cargo_bin!("mailbag");
    let path = format!(
        "{}:{}",
        program.parent().expect("a directory").display(),
        std::env::var("PATH").unwrap_or_default()
    );
    let mut shell = world.bare("");
    let mut command = std::process::Command::new("sh");
    command
        .arg("-c")
        .arg(finding["fix"].as_str().expect("a text"))
        .current_dir(world.path())
        .env("PATH", path);
    shell.get_envs().for_each(|(name, value)| {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    });
    let output = command.output().expect("a shell");
    assert!(
        output.status.success(),
        "{finding:#}\n{}",
        lossy(&output.stderr)
    );
    shell.arg("--version");
}

#[test]
fn a_room_without_a_fault_is_healthy_and_looking_changes_nothing() {
    let world = World::alice_and_bob();
    world.send("alice", "bob", "hi");
    let before = world.everything();
    let report = examined(&world, "");
    assert_eq!(
        (&report["healthy"], codes(&report)),
        (&Value::Bool(true), Vec::new()),
        "{report:#}"
    );
    assert!(world.ok("doctor").starts_with("no problems with "));
    assert_eq!(world.everything(), before, "looking changes nothing");
}
