//! Lists agents with their activity, from the log and the sessions, with their last commits, and the agents of other rooms.

use super::commits::{self, Commits};
use super::links::{self, Remote};
use crate::base::clock::Stamp;
use crate::base::error::Result;
use crate::log::state::{self, State};
pub use crate::log::state::{Commit, WorkReport};
use crate::room::Room;
use crate::room::registry::Registry;
use crate::room::sessions::Calls;
use crate::router::projections::roster;
pub use crate::router::projections::roster::{Presence, Present, Roster, Wake};
use schemars::JsonSchema;
use serde::Serialize;

/// All known agents.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Everybody {
    /// The agents of this room.
    #[serde(flatten)]
    pub roster: Roster,
    /// The agents of other rooms.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remote: Vec<Remote>,
}

/// The current roster, and the known agents of other rooms.
pub fn everybody(room: &Room) -> Result<Everybody> {
    Ok(Everybody {
        roster: who(room)?,
        remote: links::remote(room)?,
    })
}

/// All agents in this state, with these commits that only git knows.
pub fn of_state(room: &Room, state: &State, commits: Commits) -> Result<Everybody> {
    let roster = roster_of(room, &room.registry()?, state, commits)?;
    Ok(Everybody {
        roster,
        remote: links::remote(room)?,
    })
}

/// The current roster, computed as the router does for `roster.json`, and with the commits that only git knows.
pub fn who(room: &Room) -> Result<Roster> {
    let registry = room.registry()?;
    let commits = commits::by_prefix(room, &registry);
    roster_of(room, &registry, &state::committed(&room.dir)?, commits)
}

fn roster_of(
    room: &Room,
    registry: &Registry,
    state: &State,
    mut by_prefix: Commits,
) -> Result<Roster> {
    let (settings, calls) = (room.settings()?, Calls::of(&room.dir));
    let mut roster = roster::roster(registry, state, &calls, settings.stale_after, Stamp::now()).0;
    for agent in &mut roster.agents {
        if let Some(other) = by_prefix.remove(&*agent.id) {
            agent.commit = agent
                .commit
                .take()
                .filter(|own| own.id == other.id || own.at >= other.at)
                .or(Some(other));
        }
    }
    Ok(roster)
}
