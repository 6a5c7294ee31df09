//! Conversations, and finding mail: `reply`, `thread`, `list` and `search` on real rooms.

mod committed;
mod gone;
mod listing;
mod naming;
mod places;
mod replying;
mod searching;
mod threads;

use crate::records::flat_record;
use crate::world::World;
use serde_json::Value;

/// Clears the screen, changes its title, turns the reading direction, rings, and draws over the line.
pub(crate) const EVIL: &str = "\u{1b}[2J\u{1b}]0;owned\u{7}\u{202e}gnihton\r\u{9b}31m\u{8}\u{200b}";

pub(crate) fn is_tame(text: &str) -> bool {
    !text.contains(|c: char| c.is_control() && c != '\n' || matches!(c, '\u{202e}' | '\u{200b}'))
}

/// The field of each item of a list.
#[track_caller]
fn each<'a>(list: &'a Value, field: &str) -> Vec<&'a str> {
    let items = list.as_array().unwrap_or_else(|| panic!("no list: {list}"));
    items
        .iter()
        .map(|item| item[field].as_str().unwrap_or_default())
        .collect()
}

/// An agent drops a message, and it is routed.
fn say(world: &World, from: &str, message: Value) {
    world.mail(from, "x.json", message);
    world.pass_here();
}

/// The seq of the message of that sender and id.
fn seq_of(world: &World, name: &str) -> String {
    let (from, id) = name.split_once('/').expect("a sender and an id");
    let log = world.log("");
    let records = log.lines().map(flat_record);
    let mut fits = records.filter(|record| record["id"] == id && record["from"] == from);
    fits.next()
        .unwrap_or_else(|| panic!("no {name} in the log"))["seq"]
        .to_string()
}
