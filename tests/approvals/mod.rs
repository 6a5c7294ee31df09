//! Approvals, by dropped files and by commands.

mod commands;
mod deadlines;
mod disagreements;
mod displayed;
mod human;
mod pending;
mod rules;

use crate::files;
use crate::town::listing;
use crate::world::{Words, World, parse_json};
use serde_json::{Value, json};
use std::fs::File;
use std::time::{Duration, SystemTime};

/// A time of the tests, in minutes after the first one.
pub(crate) fn time(minutes: u64) -> String {
    format!(
        "2026-11-21T{:02}:{:02}:00Z",
        10 + minutes / 60,
        minutes % 60
    )
}

fn room() -> World {
    World::with("alice bob carol")
}

/// Delivers the waiting mail, at this time.
#[track_caller]
pub(crate) fn pass(world: &World, minutes: u64) {
    run_at(world, minutes, "run --once");
}

/// Runs the program at this time.
#[track_caller]
pub(crate) fn run_at(world: &World, minutes: u64, args: &(impl Words + ?Sized)) -> String {
    let set_time = |command: &mut assert_cmd::Command| {
        command.env("MAILBAG_TEST_NOW", time(minutes));
    };
    world.run_with(args, set_time).ok()
}

/// An agent drops a message at this time.
pub(crate) fn drop_at(world: &World, minutes: u64, agent: &str, message: Value) {
    let name = format!("{}.json", uuid::Uuid::now_v7());
    let path = world.mail(agent, &name, &message);
    // 2026-11-21T10:00:00Z
    let at = SystemTime::UNIX_EPOCH + Duration::from_secs(1_795_255_200 + 60 * minutes);
    File::options()
        .append(true)
        .open(path)
        .and_then(|file| file.set_modified(at))
        .expect("the file's time");
}

/// An agent drops a message at this time, and it is delivered.
#[track_caller]
pub(crate) fn say(world: &World, minutes: u64, agent: &str, message: Value) {
    drop_at(world, minutes, agent, message);
    pass(world, minutes);
}

pub(crate) fn approval(id: &str, to: Value, more: Value) -> Value {
    let mut message = json!({"id": id, "to": to, "type": "approval", "subject": "Deploy?"});
    message
        .as_object_mut()
        .expect("fields")
        .extend(more.as_object().expect("fields").clone());
    message
}

pub(crate) fn decision(approval: &str, option: &str) -> Value {
    json!({"type": "decision", "in_reply_to": approval, "option": option})
}

/// The outcomes in an agent's mail: the option or the status, and the decider.
pub(crate) fn outcomes(world: &World, agent: &str) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let outcome = |mail: Value| {
        let about = [&mail["delivery"]["approval"], &mail["metadata"]["approval"]]
            .into_iter()
            .find(|a| a.is_object())?
            .clone();
        let option = about["option"]
            .as_str()
            .or(about["status"].as_str())
            .unwrap_or_default()
            .to_owned();
        (mail["type"] == "decision").then(|| (option, text(&about["by"])))
    };
    world.inbox(agent).into_iter().filter_map(outcome).collect()
}

/// The codes of the rejections in an agent's mail.
pub(crate) fn codes(world: &World, agent: &str) -> Vec<String> {
    let errors = world
        .inbox(agent)
        .into_iter()
        .filter(|mail| mail["type"] == "error");
    errors
        .map(|mail| {
            mail["metadata"]["problems"][0]["code"]
                .as_str()
                .unwrap_or_default()
                .to_owned()
        })
        .collect()
}

/// The records of the log that change an approval, as their kinds.
pub(crate) fn steps(world: &World) -> Vec<String> {
    let log = world.room("log");
    let lines = listing(&log).into_iter().flat_map(|name| {
        let text = files::read_text(log.join(name));
        text.lines().map(str::to_owned).collect::<Vec<_>>()
    });
    let records = lines.map(|line| parse_json(&line));
    records
        .filter_map(|record| {
            record["facts"]["approvals"]
                .as_object()
                .and_then(|step| step.keys().next().cloned())
        })
        .collect()
}
