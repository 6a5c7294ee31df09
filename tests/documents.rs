//! The messages of the five design documents (`fixtures/documents`): each is dropped unchanged,
//! reaches its recipients, and is answered in the same format. A file and a line of a file have the
//! same meaning.

use crate::files;
use crate::links::records;
use crate::world::{World, parse_json};
use serde_json::{Value, json};
use std::fs;

/// P385, P386, P387
#[test]
fn the_messages_of_each_design_document_are_delivered_and_answered_as_they_are() {
    let mut count = 0;
    let mut files: Vec<_> = fs::read_dir("fixtures/documents")
        .expect("a folder")
        .flatten()
        .collect();
    files.sort_by_key(std::fs::DirEntry::file_name);
    for file in files {
        let document = parse_json(files::read(file.path()));
        for end in ["json", "ndjson"] {
            count += play(&document, end);
        }
    }
    assert!(count > 60, "{count} messages");
}

/// Drops each message of a document, as a file or as a line.
fn play(document: &Value, end: &str) -> usize {
    let world = World::new();
    let mut registry = json!({"version": 1, "agents": document["agents"]});
    if !document["aliases"].is_null() {
        registry["aliases"] = document["aliases"].clone();
    }
    world.write("registry.json", registry.to_string());
    let agents: Vec<&str> = list(&document["agents"])
        .iter()
        .filter_map(|agent| agent["id"].as_str())
        .collect();
    let steps = list(&document["steps"]);
    for (n, step) in steps.iter().enumerate() {
        let sender = step["outbox"].as_str().expect("an outbox");
        let message = &step["message"];
        let count = |agent: &str| world.names(&format!("inbox/{agent}")).len();
        let before: Vec<usize> = agents.iter().map(|agent| count(agent)).collect();
        world.mail(sender, &format!("{n}.{end}"), format!("{message}\n"));
        world.pass_here();
        let record = records(&world)
            .into_iter()
            .rev()
            .find(|record| record["from"] == sender)
            .expect("a record");
        assert_eq!(record["event"], "accepted", "{message}: {record}");
        let got = agents.iter().zip(before);
        let got = got.filter(|(agent, before)| count(agent) > *before);
        let got: Vec<&str> = got.map(|(agent, _)| *agent).collect();
        assert_eq!(json!(got), step["reaches"], "{message}");
        arrives(&record["message"], step);
        for agent in got {
            arrives(world.inbox(agent).last().expect("its copy"), step);
        }
    }
    steps.len()
}

/// A message has the right fields: the fields of the step, or all fields of the dropped message.
fn arrives(message: &Value, step: &Value) {
    let wanted = step
        .get("arrives")
        .unwrap_or(&step["message"])
        .as_object()
        .expect("an object");
    for (field, value) in wanted
        .iter()
        .filter(|(field, _)| !["to", "from", "ref"].contains(&field.as_str()))
    {
        let same = match field.as_str() {
            "metadata" => value
                .as_object()
                .expect("an object")
                .iter()
                .all(|(name, value)| message[field][name] == *value),
            _ => message[field] == *value,
        };
        assert!(same, "{field} should be {value} in {message}");
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}
