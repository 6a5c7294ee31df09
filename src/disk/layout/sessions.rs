//! Names of session files, and of hold files: a process of a session locks such a file as long as it runs.

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

/// The name of an agent's session file.
pub fn session(agent: &str) -> String {
    format!("{agent}.json")
}

/// The agent in the name of a session file. `None` for another file.
pub fn read_session(name: &std::ffi::OsStr) -> Option<&str> {
    let agent = name.to_str()?.strip_suffix(".json")?;
    crate::message::id::is_name(agent).then_some(agent)
}

/// The lock in `sessions/` of a background waiter for an agent.
pub fn vigil(agent: &str) -> String {
    format!(".{agent}.vigil")
}

/// The file in `sessions/` with the time when an agent's session was last woken again for unread mail.
pub fn woken_again(agent: &str) -> String {
    format!(".{agent}.again")
}

/// In `sessions/`, the facts that sessions already know.
pub const TOLD: &str = ".told";
/// The lock for changes of these files.
pub const TOLD_LOCK: &str = ".told.lock";
/// In `sessions/`, the files that were edited a moment ago, and their editors.
pub const EDITS: &str = ".edits";
