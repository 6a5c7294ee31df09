//! Claims: who owns which work, by dropped files and by commands.

mod commands;
mod file;
mod leases;
pub(crate) mod ledger;
mod rules;
mod showing;
mod sessions;
mod storm;

use crate::approvals::{run_at, time};
use crate::world::World;
use serde_json::{Value, json};

fn office() -> World {
    World::with("alice bob carol")
}

/// Delivers the waiting mail, at this time.
#[track_caller]
fn pass(world: &World, minutes: u64) {
    run_at(world, minutes, "run --once");
    ledger::check(world);
}

/// An agent drops a message, and it is delivered at this time. Returns the outcome: the status in
/// the returned copy, the code of the rejection, or nothing.
#[track_caller]
fn say(world: &World, minutes: u64, agent: &str, message: Value) -> String {
    let id = uuid::Uuid::now_v7().to_string();
    let mut message = message;
    message["id"] = json!(id);
    world.mail(agent, &format!("{id}.json"), &message);
    pass(world, minutes);
    outcome(world, agent, &id)
}

/// The outcome of a message about claims.
fn outcome(world: &World, agent: &str, id: &str) -> String {
    let copy = world.inbox(agent).into_iter().find(|mail| mail["id"] == id);
    if let Some(copy) = copy {
        return copy["delivery"]["claim"]["status"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
    }
    let refused = world
        .names(&format!("rejected/{agent}"))
        .into_iter()
        .find(|name| name.ends_with("error.json"));
    let refused = refused.filter(|_| {
        world
            .inbox(agent)
            .iter()
            .any(|mail| mail["in_reply_to"] == id)
    });
    match refused {
        Some(_) => {
            let bounce = world
                .inbox(agent)
                .into_iter()
                .find(|mail| mail["in_reply_to"] == id)
                .expect("a bounce");
            bounce["metadata"]["problems"][0]["code"]
                .as_str()
                .unwrap_or_default()
                .to_owned()
        }
        None => String::new(),
    }
}

/// The answer of this type to the newest open offer.
fn answer(world: &World, kind: &str) -> Value {
    let claims = world.read("claims.json");
    let offer = claims["offers"]
        .as_array()
        .and_then(|offers| offers.last())
        .expect("an open offer");
    json!({"type": kind, "in_reply_to": offer["offer"]})
}

/// A release of everything.
fn release_all() -> Value {
    json!({"type": "release", "claims": "all"})
}

fn claim(subjects: &[&str]) -> Value {
    json!({"type": "claim", "claims": subjects})
}

/// Every owned subject with its owner, as `claims.json` has them.
#[track_caller]
fn owned(world: &World) -> Vec<(String, String)> {
    let file = world.read("claims.json");
    let text = |held: &Value, field: &str| held[field].as_str().unwrap_or_default().to_owned();
    let held = file["claims"].as_array().expect("a list").iter();
    held.map(|held| (text(held, "subject"), text(held, "owner")))
        .collect()
}

/// The owner of a subject, or nothing.
#[track_caller]
fn owner(world: &World, subject: &str) -> String {
    owned(world)
        .into_iter()
        .find(|(owned, _)| owned == subject)
        .map(|(_, owner)| owner)
        .unwrap_or_default()
}

/// The subjects of the mail in an inbox that the router itself wrote.
fn notices(world: &World, agent: &str) -> Vec<String> {
    let mail = world
        .inbox(agent)
        .into_iter()
        .filter(|mail| mail["from"] == "mailbag");
    mail.map(|mail| mail["subject"].as_str().unwrap_or_default().to_owned())
        .collect()
}
