//! The ladder: what left an inbox was seen, who got a message says how far it has come, and time does the rest.

mod acks;
mod closing;
mod important;
mod loops;
mod numbers;
mod seen;
mod superseded;
mod timing;

use crate::town::{PATIENCE, so_within};
use crate::world::World;
use serde_json::Value;

/// The statuses of one recipient's copy, as `trace` shows them.
fn statuses(world: &World, id: &str, agent: &str) -> Vec<String> {
    let trace = world.json(&["trace", id]);
    let recipients = trace["recipients"].as_array().cloned().unwrap_or_default();
    let recipient = recipients
        .into_iter()
        .find(|recipient| recipient["agent"] == agent)
        .unwrap_or_default();
    let steps = recipient["statuses"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    steps
        .iter()
        .map(|step| step["status"].as_str().unwrap_or_default().to_owned())
        .collect()
}

/// Waits until the copy has come this far.
#[track_caller]
fn wait_for_status(world: &World, id: &str, agent: &str, status: &str) {
    let has = || {
        statuses(world, id, agent)
            .iter()
            .any(|reached| reached == status)
    };
    assert!(
        so_within(PATIENCE, has),
        "{agent} never reached {status}: {:?}",
        statuses(world, id, agent)
    );
}

/// What mailbag wrote to somebody, of this type.
fn from_mailbag(world: &World, agent: &str, kind: &str) -> Vec<Value> {
    world
        .inbox(agent)
        .into_iter()
        .filter(|mail| mail["from"] == "mailbag" && mail["type"] == kind)
        .collect()
}
