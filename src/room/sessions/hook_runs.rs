//! The last run times of each client's hooks in this room, to show whether the hooks run.

use crate::base::clock::Stamp;
use crate::base::error::Result;
use crate::base::limits;
use crate::disk::layout;
use crate::room::Room;
use serde::{Deserialize, Serialize};

/// The client name in an entry about a wake of an idle session. The event is the agent.
pub const WAKE: &str = "wake";

/// The event of a run with an unreadable input.
pub const UNKNOWN_EVENT: &str = "unknown";

/// The last run of a hook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookRun {
    /// `claude`, `codex` or `gemini`.
    pub client: String,
    /// The client's name for the event.
    pub event: String,
    /// The time, RFC 3339.
    pub at: String,
    /// The agent of the session, if it has one.
    pub agent: Option<String>,
    /// The error of this run.
    pub problem: Option<String>,
}

/// Notes a run of a hook. No decision depends on it: a kill or a concurrent hook can lose it.
pub fn note(
    room: &Room,
    client: &str,
    event: &str,
    agent: Option<&str>,
    problem: Option<String>,
) -> Result<()> {
    let (client_name, at) = (client.to_owned(), Stamp::now().to_string());
    let fired = HookRun {
        client: client_name,
        event: event.to_owned(),
        at,
        agent: agent.map(Into::into),
        problem,
    };
    let text = serde_json::to_vec(&fired).expect("it is plain data");
    room.dir
        .make(layout::FIRED)?
        .show(layout::fired(client, event), &text)
}

/// The last run of every hook, by client and event.
pub fn fired(room: &Room) -> Result<Vec<HookRun>> {
    let Some(dir) = room.dir.sub_if_exists(layout::FIRED)? else {
        return Ok(Vec::new());
    };
    let names = dir.list()?.collect::<Result<Vec<_>>>()?;
    let mut fired: Vec<HookRun> = names
        .iter()
        .filter_map(|entry| {
            let bytes = dir.read(&entry.name, limits::SESSION_BYTES).ok()??;
            serde_json::from_slice(&bytes).ok()
        })
        .collect();
    fired.sort_by(|a, b| (&a.client, &a.event).cmp(&(&b.client, &b.event)));
    Ok(fired)
}
