//! Names of the files of links. To the steps of the router a link is an agent whose id ends with a colon, which no agent's
//! id does: its outbox has what came from the other room, and its inbox what is sent there.

use std::path::{Path, PathBuf};

/// The directory of links.
pub const LINKS: &str = "links";
/// In both directories of a link: how far the room that wrote it is.
pub const LINK_STATE: &str = "state.json";
/// In a link's directory: held by the carrier that serves the link.
pub const CARRIER_LOCK: &str = "carrier.lock";
/// In a link's directory: what its carrier does.
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

/// What its carrier does.
pub fn carrier(tag: &str) -> PathBuf {
    link(tag).join(CARRIER)
}

/// What came from the other room, and waits to be picked up.
pub fn link_in(tag: &str) -> PathBuf {
    link(tag).join("in")
}

/// What is sent to the other room.
pub fn link_out(tag: &str) -> PathBuf {
    link(tag).join("out")
}

/// What the other room says of itself.
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
