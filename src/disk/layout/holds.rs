//! Names of hold files: a process of a session locks such a file as long as it runs.

/// The directory of hold files.
pub const HOLDS: &str = "sessions/holds";

/// The name of a hold file of an agent's session.
pub fn hold(agent: &str, id: &str) -> String {
    format!("{agent}~{id}")
}

/// The agent in the name of a hold file. `None` for another file.
pub fn read_hold(name: &str) -> Option<&str> {
    name.split_once('~').map(|(agent, _)| agent)
}

/// In `sessions/`, what sessions were told already.
pub const TOLD: &str = ".told";
/// The lock for changes of that file.
pub const TOLD_LOCK: &str = ".told.lock";
