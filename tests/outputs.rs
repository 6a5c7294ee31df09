//! The examples of `docs/json.md`: each command runs in turn, and its output is compared with the page. A command without an example
//! is named here with the reason.

use crate::files;
use crate::world::{World, lossy};
use regex::Regex;
use serde_json::Value;
use std::collections::BTreeSet;
use std::process::Command;

const PAGE: &str = "docs/json.md";

/// Commands without JSON output, with the reason.
const WITHOUT: &[(&str, &str)] = &[
    ("exec", "prints what its command prints"),
    ("generate completions", "prints a script"),
    ("generate schema", "prints a schema as it is"),
    ("hook", "answers in the form of its client"),
    ("link serve", "speaks its own protocol"),
    ("mcp", "speaks its own protocol"),
];

#[test]
fn every_command_has_an_example_of_its_output() {
    let page = files::read_text(PAGE);
    let mut commands = BTreeSet::new();
    add_commands(&mailbag::cli::command(), "", &mut commands);
    let without: BTreeSet<String> = WITHOUT.iter().map(|(name, _)| (*name).into()).collect();
    let has_example =
        |name: &&String| page.contains(&format!("mailbag {name} ")) && !without.contains(*name);
    let shown: BTreeSet<String> = commands.iter().filter(has_example).cloned().collect();
    let rest: BTreeSet<String> = commands.difference(&shown).cloned().collect();
    assert_eq!(rest, without, "commands without an example in {PAGE}");
}

/// The commands that can be called.
fn add_commands(command: &clap::Command, before: &str, all: &mut BTreeSet<String>) {
    for inner in command.get_subcommands().filter(|one| !one.is_hide_set()) {
        let name = format!("{before}{}", inner.get_name());
        if !inner.is_subcommand_required_set() {
            all.insert(name.clone());
        }
        add_commands(inner, &format!("{name} "), all);
    }
}

/// With `MAILBAG_WRITE=1`, writes the outputs again.
#[test]
fn the_examples_of_json_are_up_to_date() {
    let page = files::read_text(PAGE);
    let world = World::empty();
    let mut written = String::new();
    let (mut is_console, mut is_output) = (false, false);
    for line in page.lines() {
        if line.starts_with("```") {
            is_console = line == "```console";
            is_output = false;
        }
        let command = line.strip_prefix("$ ").filter(|_| is_console);
        is_output |= command.is_some();
        if !is_output || command.is_some() {
            written += line;
            written.push('\n');
        }
        if let Some(command) = command {
            written += &output_of(&world, command);
        }
    }
    if std::env::var_os("MAILBAG_WRITE").is_some() {
        return files::write(PAGE, written);
    }
    let mut lines = page.lines().zip(written.lines());
    let first = lines.find(|(shown, printed)| shown != printed);
    assert!(
        page == written,
        "{PAGE} differs, first at {first:#?}; run this test with MAILBAG_WRITE=1"
    );
}

/// The output of a shell command as the page shows it.
fn output_of(world: &World, command: &str) -> String {
    let mut shell = Command::new("bash");
    let program = world.bare("");
    for (name, value) in program.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    let folder = std::path::Path::new(program.get_program()).parent();
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{path}", folder.expect("a folder").display());
    shell.env("PATH", path);
    let ran = shell
        .args(["-c", command])
        .current_dir(world.path())
        .output()
        .expect("bash runs");
    let text = lossy(&ran.stdout) + &lossy(&ran.stderr);
    let (lines, others): (Vec<_>, Vec<_>) = text.lines().partition(|line| line.starts_with('{'));
    assert!(!lines.is_empty() || others.is_empty(), "{command}: {text}");
    let shown = lines.into_iter().map(|line| {
        let value = serde_json::from_str(line).unwrap_or_else(|e| panic!("{command}: {e}: {line}"));
        shown(&steady(value, "", world), 0) + "\n"
    });
    shown.collect()
}

/// The value without what differs from run to run: times, ids, digests, paths of this machine, sizes, and long texts.
fn steady(value: Value, key: &str, world: &World) -> Value {
    match value {
        Value::Array(items) => items
            .into_iter()
            .map(|item| steady(item, key, world))
            .collect(),
        Value::Object(fields) => fields
            .into_iter()
            .map(|(key, value)| {
                let value = steady(value, &key, world);
                (key, value)
            })
            .collect(),
        Value::Number(_) if VARYING.contains(&key) => 12.into(),
        Value::String(text) => steady_text(&text, world).into(),
        other => other,
    }
}

/// Numbers that differ from run to run.
const VARYING: &[&str] = &["bytes", "ms", "packed_bytes", "pid"];

/// The page shows only the beginning of a text of more characters than this.
const LONG: usize = 240;
const SHOWN: usize = 60;

fn steady_text(text: &str, world: &World) -> String {
    const STEADY: &[(&str, &str)] = &[
        (
            r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
            "019ac5d0-61c8-7b02-9a2e-5f0c3d7e8b14",
        ),
        (r"\b[0-9a-f]{64}\b", "6c0f…b5e2"),
        (
            r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z",
            "2026-11-27T10:15:00.000Z",
        ),
        (r"\d{8}T\d{6}(\.?\d+)?Z?", "20261127T101500.000Z"),
        (r"127\.0\.0\.1:\d+", "127.0.0.1:8025"),
        (r"mailbag-test-\w+", "project"),
    ];
    let mut text = text.to_owned();
    let program = assert_cmd::cargo::cargo_bin!("mailbag");
    for (path, instead) in [
        (world.path(), "/home/ann/project"),
        (world.trust(), "/home/ann/.local/share/mailbag"),
        (program, "/usr/bin/mailbag"),
    ] {
        text = text.replace(&path.display().to_string(), instead);
    }
    for (pattern, instead) in STEADY {
        let pattern = Regex::new(pattern).expect("a pattern");
        text = pattern.replace_all(&text, *instead).into_owned();
    }
    if text.chars().count() > LONG {
        text = text.chars().take(SHOWN).chain(['…']).collect();
    }
    text
}

/// A value as JSON on lines of at most 116 characters, where that is possible.
fn shown(value: &Value, depth: usize) -> String {
    let line = on_a_line(value);
    let indent = "  ".repeat(depth + 1);
    if line.chars().count() + indent.len() <= 116 {
        return line;
    }
    let (open, parts, close) = match value {
        Value::Array(items) => {
            let items = items.iter();
            let parts = items.map(|item| shown(item, depth + 1)).collect();
            ("[", parts, "]")
        }
        Value::Object(fields) => {
            let field =
                |(key, value): (&String, &Value)| format!("\"{key}\": {}", shown(value, depth + 1));
            ("{", fields.iter().map(field).collect::<Vec<_>>(), "}")
        }
        _ => return line,
    };
    let parts = parts.join(&format!(",\n{indent}"));
    format!("{open}\n{indent}{parts}\n{}{close}", "  ".repeat(depth))
}

fn on_a_line(value: &Value) -> String {
    let parts: Vec<String> = match value {
        Value::Array(items) => items.iter().map(on_a_line).collect(),
        Value::Object(fields) => fields
            .iter()
            .map(|(key, value)| format!("\"{key}\": {}", on_a_line(value)))
            .collect(),
        _ => return value.to_string(),
    };
    let parts = parts.join(", ");
    if value.is_array() {
        format!("[{parts}]")
    } else {
        format!("{{{parts}}}")
    }
}
