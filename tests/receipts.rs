//! The statuses of copies: the router observes that a copy left its inbox, recipients acknowledge,
//! and time limits expire.

mod acks;
mod closing;
mod important;
mod in_time;
mod numbers;
mod seen;
mod superseded;
mod talks;
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
    assert!(
        so_within(PATIENCE, || statuses(world, id, agent)
            .iter()
            .any(|reached| reached == status)),
        "{agent} never reached {status}: {:?}",
        statuses(world, id, agent)
    );
}

/// The router's messages of this type to an agent.
fn from_mailbag(world: &World, agent: &str, kind: &str) -> Vec<Value> {
    world
        .inbox(agent)
        .into_iter()
        .filter(|mail| mail["from"] == "mailbag" && mail["type"] == kind)
        .collect()
}
