//! What something of a session holds while it lives, a file each.

/// What something of a session holds while it lives, a file each.
pub const HOLDS: &str = "sessions/holds";

/// The name of the file that something holds for the session of an agent.
pub fn hold(agent: &str, id: &str) -> String {
    format!("{agent}~{id}")
}

/// The agent that a hold's file is about; `None` for another file.
pub fn read_hold(name: &str) -> Option<&str> {
    name.split_once('~').map(|(agent, _)| agent)
}
