//! Trust: rooms of other users and programs of rooms are used only once the person agreed.

mod owners;
mod programs;
mod record;
mod settings;

use crate::world::World;
use serde_json::{Value, json};

/// A program that leaves a line in a file of the world for each time that it is started.
fn bell(word: &str) -> Value {
    json!({"argv": ["sh", "-c", "echo \"$1\" >> rung", "sh", word], "every": "1s"})
}

/// How often the bell was rung.
fn rung(world: &World) -> Vec<String> {
    let text = std::fs::read_to_string(world.path().join("rung")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}
