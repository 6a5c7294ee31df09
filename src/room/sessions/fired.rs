//! When each client's hooks last ran in this room, for whoever wonders whether they run at all.

use crate::base::clock::Stamp;
use crate::base::error::Result;
use crate::base::limits;
use crate::disk::layout;
use crate::room::Room;
use serde::{Deserialize, Serialize};

/// What stands in the place of a client where an agent was woken by a program; the event is the agent.
pub const WAKE: &str = "wake";

/// The last time that a hook ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fired {
    /// `claude`, `codex` or `gemini`.
    pub client: String,
    /// The client's name of the event.
    pub event: String,
    /// When, RFC 3339.
    pub at: String,
    /// The agent that its session speaks for, if any.
    #[serde(default)]
    pub agent: Option<String>,
    /// What went wrong then.
    #[serde(default)]
    pub trouble: Option<String>,
}

/// Notes that a hook ran just now. Nobody acts on it: a kill or another hook at the same time may lose it.
pub fn note(room: &Room, client: &str, event: &str, agent: Option<&str>, trouble: Option<String>) -> Result<()> {
    let (client_name, at) = (client.to_owned(), Stamp::now().to_string());
    let fired = Fired { client: client_name, event: event.to_owned(), at, agent: agent.map(Into::into), trouble };
    let text = serde_json::to_vec(&fired).expect("it is plain data");
    room.dir.make(layout::FIRED)?.show(layout::fired(client, event), &text)
}

/// All hooks that ever ran here, by client and event.
pub fn fired(room: &Room) -> Result<Vec<Fired>> {
    let dir = match room.dir.sub(layout::FIRED) {
        Err(e) if e.errno() == Some(libc::ENOENT) => return Ok(Vec::new()),
        dir => dir?,
    };
    let names = dir.list()?.collect::<Result<Vec<_>>>()?;
    let read = |name| serde_json::from_slice(&dir.read(name, limits::SESSION_BYTES).ok()??).ok();
    let mut fired: Vec<Fired> = names.iter().filter_map(|entry| read(&entry.name)).collect();
    fired.sort_by(|a, b| (&a.client, &a.event).cmp(&(&b.client, &b.event)));
    Ok(fired)
}
