//! The commands that wait, and the inbox that several share: real processes beside each other, with and without a router.

mod alongside;
mod asking;
mod exec;
mod following;
mod taking;
mod waits;

use crate::beside::Beside;
use crate::world::World;

/// Waits until a command routes, because no other process does.
#[track_caller]
fn routes(beside: &mut Beside, world: &World) {
    let pid = beside.child.id();
    world.wait("it routes", || {
        beside.runs();
        let router = world.json("status")["router"].clone();
        router["pid"] == pid && router["mode"] == "alongside"
    });
}

/// Replaces an agent by an alias of another one.
fn rename(world: &World, from: &str, to: &str) {
    let mut registry = world.read("registry.json");
    let agents = registry["agents"].as_array_mut().expect("a list");
    agents.retain(|agent| agent["id"] != from);
    registry["aliases"][from] = to.into();
    world.write("registry.json", registry.to_string());
}

/// Returns true if no process routes.
fn is_free(world: &World) -> bool {
    world.json("status")["router"].is_null()
}
