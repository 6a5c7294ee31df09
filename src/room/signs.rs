//! Signs of life of an agent: its last message, the last mail that left its inbox, and the calls of its session.

use super::sessions::SessionCalls;
use crate::base::clock::Stamp;
use crate::log::state::RoomState;
use std::time::Duration;

/// An agent that was active within this time is there.
pub const THERE: Duration = Duration::from_secs(3600);

/// Returns true if the agent was seen within the hour, or a process waits or watches for it now.
pub fn is_there(agent: &str, state: &RoomState, calls: &SessionCalls, now: Stamp) -> bool {
    let seen = state.last_seen(agent).max(calls.last(agent));
    seen.is_some_and(|seen| now < seen.after(THERE)) || calls.held().contains(agent)
}
