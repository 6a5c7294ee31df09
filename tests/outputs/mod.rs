//! The `--json` output of commands matches its schema, and every such command has a schema.

mod populated;

use crate::world::World;
use jsonschema::Validator;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Commands without JSON output, with the reason.
const WITHOUT: &[(&str, &str)] = &[
    ("generate-schema", "prints a schema as it is"),
    ("generate-completions", "prints a script"),
    ("generate-man", "writes files"),
    ("generate-helper", "writes a file"),
    ("generate-plugins", "writes files"),
    ("generate-plugins", "writes files"),
    ("mcp", "speaks its own protocol"),
    ("link-serve", "speaks its own protocol"),
    ("exec", "prints what its command prints"),
    ("hook", "answers in the form of its client"),
];

/// Schemas of a command with an option that changes its output.
const WITH_OPTION: &[(&str, [&str; 2])] = &[
    ("list-follow", ["list", "--follow"]),
    ("send-dry-run", ["send", "--dry-run"]),
    ("take-done", ["take", "--done"]),
];

/// The command line for a schema of this name.
fn words_of(name: &str) -> Vec<&str> {
    let with_option = WITH_OPTION.iter().find(|(known, _)| *known == name);
    with_option.map_or_else(|| name.split('-').collect(), |(_, words)| words.to_vec())
}

#[test]
fn every_command_has_a_schema_for_its_output() {
    let mut commands = Vec::new();
    collect(&mailbag::cli::command(), "", &mut commands);
    let with: BTreeSet<&str> = mailbag::message::schema::OUTPUTS
        .iter()
        .map(|(name, _)| *name)
        .collect();
    let without: BTreeSet<&str> = WITHOUT.iter().map(|(name, _)| *name).collect();
    let is_told = |name: &&String| with.contains(name.as_str()) || without.contains(name.as_str());
    let missing: Vec<_> = commands.iter().filter(|name| !is_told(name)).collect();
    assert!(
        missing.is_empty(),
        "no schema/output/<command>.schema.json for {missing:?}"
    );
    let gone: Vec<_> = with
        .iter()
        .filter(|name| **name != "error" && !WITH_OPTION.iter().any(|(known, _)| known == *name))
        .filter(|name| !commands.iter().any(|c| c == **name))
        .collect();
    assert!(
        gone.is_empty(),
        "schemas of commands that are not there: {gone:?}"
    );
    let there = std::fs::read_dir("schema/output")
        .expect("the schemas")
        .count();
    assert_eq!(
        there,
        with.len(),
        "a file in schema/output is not compiled in"
    );
}

/// The commands that do something by themselves.
fn collect(command: &clap::Command, before: &str, all: &mut Vec<String>) {
    let join = |name: &str| {
        if before.is_empty() {
            name.to_owned()
        } else {
            format!("{before}-{name}")
        }
    };
    // A hidden command prints the output of another command; only the demo has its own output.
    for inner in command
        .get_subcommands()
        .filter(|inner| !inner.is_hide_set() || inner.get_name() == "demo")
    {
        let name = join(inner.get_name());
        // These have verbs, and are commands without one as well.
        if !inner.has_subcommands() || ["log", "charter"].contains(&name.as_str()) {
            all.push(name.clone());
        }
        collect(inner, &name, all);
    }
}

#[test]
fn every_output_schema_is_valid_versioned_and_printed_unchanged() {
    let world = World::empty();
    let listed = world.ok("generate schema --list");
    for (name, text) in mailbag::message::schema::OUTPUTS {
        let schema: Value = serde_json::from_str(text).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(schema["$id"], format!("urn:mailbag:schema:output:{name}:1"));
        assert_eq!(
            schema["$schema"], "https://json-schema.org/draft/2020-12/schema",
            "{name}"
        );
        assert!(
            schema["title"]
                .as_str()
                .is_some_and(|title| !title.is_empty()),
            "{name}"
        );
        assert!(jsonschema::meta::is_valid(&schema), "{name}");
        assert!(listed.lines().any(|line| line == *name), "{name}");
        assert_eq!(
            world
                .ok(&["generate", "schema", "--output", name])
                .trim_end(),
            text.trim_end()
        );
    }
    assert_eq!(
        world.ok("generate schema --output agent list"),
        world.ok("generate schema --output agent-list")
    );
    assert_contains!(
        world.fails(3, "generate schema --output statu"),
        "did you mean status"
    );
    assert_contains!(
        world.fails(2, "generate schema registry --output status"),
        "cannot be used"
    );
}

#[test]
fn every_command_s_output_in_a_populated_room_matches_its_schema() {
    let mut judged = Judged::default();
    populated::run_everything(&mut judged);
    let all: BTreeSet<&str> = mailbag::message::schema::OUTPUTS
        .iter()
        .map(|(name, _)| *name)
        .collect();
    let unseen: Vec<_> = all
        .iter()
        .filter(|name| !judged.seen.contains(**name))
        .collect();
    assert!(unseen.is_empty(), "no output was seen of {unseen:?}");
}

/// The commands with an output that was compared with its schema.
#[derive(Default)]
struct Judged {
    seen: BTreeSet<String>,
}

impl Judged {
    /// Holds an output against the schema of its command: it fits, and has no field that the schema doesn't know.
    #[track_caller]
    fn judge(&mut self, name: &str, output: &Value) {
        let text = mailbag::message::schema::output(name)
            .unwrap_or_else(|| panic!("no schema for {name}"));
        let mut schema: Value = serde_json::from_str(text).expect("a schema");
        close(&mut schema);
        let validator: Validator = jsonschema::options().build(&schema).expect("a schema");
        let wrong: Vec<String> = validator
            .iter_errors(output)
            .map(|e| format!("{}: {e}", e.instance_path()))
            .collect();
        assert!(wrong.is_empty(), "{name}: {wrong:#?}\n{output:#}");
        self.seen.insert(name.to_owned());
    }
}

/// Rejects fields that the schema does not list. A schema and its alternatives describe the same object, so the fields of all
/// of them are allowed.
fn close(schema: &mut Value) {
    close_part(schema, true);
}

fn close_part(schema: &mut Value, is_whole: bool) {
    match schema {
        Value::Object(fields) => {
            let is_object = fields.get("properties").is_some_and(Value::is_object);
            if is_object && is_whole && !fields.contains_key("additionalProperties") {
                fields.insert("unevaluatedProperties".into(), json!(false));
            }
            for (name, value) in fields {
                let is_alternative = ["anyOf", "oneOf", "allOf"].contains(&name.as_str());
                close_part(value, !is_alternative || is_whole && !is_object);
            }
        }
        Value::Array(items) => {
            for item in items {
                close_part(item, is_whole);
            }
        }
        _ => {}
    }
}
