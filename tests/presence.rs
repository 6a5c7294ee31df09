//! Presence and topics: active agents, their work, and the subscribers of topics.

mod choosing;
mod state;
mod roster;
mod topics;
mod waiting;
mod who;

use crate::world::{Words, World, lossy, parse_json};
use serde_json::Value;

/// A time of one day, such as `10:00`.
fn at(time: &str) -> String {
    format!("2026-01-05T{time}:00Z")
}

/// Runs the program at that time, which must succeed.
#[track_caller]
fn run_at(world: &World, time: &str, args: &(impl Words + ?Sized)) -> String {
    let output = world
        .program(args)
        .env("MAILBAG_TEST_NOW", at(time))
        .output()
        .expect("the program runs");
    assert!(
        output.status.success(),
        "{:?}: {}",
        args.words(),
        lossy(&output.stderr)
    );
    lossy(&output.stdout)
}

/// How `who` shows one agent at that time.
#[track_caller]
fn seen_at(world: &World, time: &str, agent: &str) -> Value {
    let roster = parse_json(run_at(world, time, "who --json"));
    in_roster(&roster, agent)
}

/// One agent of a roster.
fn in_roster(roster: &Value, agent: &str) -> Value {
    let mut agents = roster["agents"].as_array().into_iter().flatten();
    agents
        .find(|one| one["id"] == agent)
        .cloned()
        .unwrap_or_default()
}

/// The alerts to the human about stale agents.
pub(crate) fn alerts(world: &World) -> Vec<Value> {
    world
        .inbox("human")
        .into_iter()
        .filter(|mail| mail["type"] == "alert")
        .collect()
}
