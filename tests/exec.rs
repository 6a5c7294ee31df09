//! Commands that run as agents: real ones, by `mailbag exec`, with a router and without one.

#[path = "exec/life.rs"]
mod life;
#[path = "exec/lines.rs"]
mod lines;
#[path = "exec/output.rs"]
mod output;
#[path = "exec/signals.rs"]
mod signals;
#[path = "exec/terminal.rs"]
mod terminal;
#[path = "exec/waits.rs"]
mod waits;

use crate::beside::Beside;
use crate::records::flat_record;
use crate::world::{Words, World};
use serde_json::Value;
use std::process::{Command, Stdio};

/// Starts `mailbag exec` with these words.
fn exec(world: &World, words: &(impl Words + ?Sized)) -> Beside {
    by(world, world.bare(&[vec!["exec"], words.words()].concat()))
}

/// Starts the program that runs it, with open input.
fn by(world: &World, mut command: Command) -> Beside {
    command.stdin(Stdio::piped());
    Beside::by(world, command)
}

/// Waits until its output has this text.
#[track_caller]
fn says(command: &mut Beside, world: &World, text: &str) {
    world.wait(text, || {
        let has_ended = command.child.try_wait().expect("a child").is_some();
        let says = command.out().contains(text);
        if has_ended && !says {
            command.runs();
        }
        says
    });
}

/// Waits until it has said that it waits.
#[track_caller]
fn waits(command: &mut Beside, world: &World, agent: &str) -> Value {
    world.wait("it waits", || {
        command.runs();
        !report(world, agent)["waiting_for"].is_null()
    });
    said(world, agent).pop().expect("it said so")
}

/// The messages that an agent sent, as the log has them.
fn said(world: &World, agent: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(world.room("log/00000001.ndjson")).unwrap_or_default();
    let records = text.lines().map(flat_record);
    records
        .filter(|record| record["event"] == "accepted" && record["from"] == agent)
        .map(|record| {
            let mut message = record["message"].clone();
            message["got_by"] = record["to"].clone();
            message["seq"] = record["seq"].clone();
            message
        })
        .collect()
}

/// The messages of an agent, as `type: subject`.
fn words(world: &World, agent: &str) -> Vec<String> {
    let word =
        |message: &Value, field: &str| message[field].as_str().unwrap_or_default().to_owned();
    said(world, agent)
        .iter()
        .map(|message| format!("{}: {}", word(message, "type"), word(message, "subject")))
        .collect()
}

/// The current work of an agent in `mailbag who`.
fn report(world: &World, agent: &str) -> Value {
    present(world, agent)["report"].clone()
}

/// The entry of an agent in `mailbag who`.
fn present(world: &World, agent: &str) -> Value {
    let agents = world.json("who")["agents"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    agents
        .into_iter()
        .find(|present| present["id"] == agent)
        .unwrap_or_default()
}
