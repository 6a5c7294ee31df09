//! Names of the files of links. The router handles a link as an agent with an id that ends with a colon: its outbox has
//! the items from the other room, and its inbox the items for the other room.

use std::path::{Path, PathBuf};

/// The directory of links.
pub const LINKS: &str = "links";
/// In both directories of a link: the state of the link in the room that wrote the file.
pub const LINK_STATE: &str = "state.json";
/// In a link's directory: the lock of the carrier that serves the link.
pub const CARRIER_LOCK: &str = "carrier.lock";
/// In a link's directory: the state of its carrier.
pub const CARRIER: &str = "carrier.json";

/// The id of a link among the ids of agents.
pub fn link_id(tag: &str) -> String {
    format!("{tag}:")
}

/// The tag in the id of a link. `None` for the id of an agent.
pub fn link_of(agent: &str) -> Option<&str> {
    agent.strip_suffix(':')
}

/// A link's directory.
pub fn link(tag: &str) -> PathBuf {
    Path::new(LINKS).join(tag)
}

/// Items from the other room that wait for pickup.
pub fn link_in(tag: &str) -> PathBuf {
    link(tag).join("in")
}

/// Items for the other room.
pub fn link_out(tag: &str) -> PathBuf {
    link(tag).join("out")
}

/// The state of the link as the other room reports it.
pub fn link_state(tag: &str) -> PathBuf {
    link_in(tag).join(LINK_STATE)
}

/// The name of an item.
pub fn item(n: u64) -> String {
    format!("{n:012}.json")
}

/// The number in the name of an item. `None` for another file.
pub fn read_item(name: &std::ffi::OsStr) -> Option<u64> {
    let name = name.to_str()?;
    let n = name.strip_suffix(".json")?.parse().ok()?;
    (item(n) == name).then_some(n)
}
