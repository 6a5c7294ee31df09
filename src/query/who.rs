//! Lists agents with their activity, from the log and the sessions, with their last commits, and the agents of other rooms.

use super::commits::{self, Commits};
use super::links::{self, KnownRemoteAgent};
use crate::base::clock::Stamp;
use crate::base::error::Result;
use crate::features::presence;
pub use crate::features::presence::{AgentCommit, WorkReport};
pub use crate::features::presence::{AgentPresence, Presence, Roster};
use crate::log::state::{self, RoomState};
use crate::room::Room;
use crate::room::registry::Registry;
use crate::room::sessions::SessionCalls;
use serde::Serialize;
use std::sync::Arc;

/// All known agents.
#[derive(Debug, Serialize)]
pub struct KnownAgents {
    /// The agents of this room.
    #[serde(flatten)]
    pub roster: Roster,
    /// The agents of other rooms.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remote: Vec<KnownRemoteAgent>,
}

/// A topic with subscribers.
#[derive(Debug, Serialize)]
pub struct Topic {
    /// Its name, without `#`.
    pub topic: String,
    /// Its subscribers, in registry order.
    pub followers: Vec<Arc<str>>,
}

/// All topics with subscribers, sorted by name.
pub fn topics(registry: &Registry) -> Vec<Topic> {
    let topics = registry.topics().map(|(topic, followers)| Topic {
        topic: topic.to_owned(),
        followers: followers
            .iter()
            .map(|at| registry.at(*at).id.clone())
            .collect(),
    });
    topics.collect()
}

/// The current roster, and the known agents of other rooms.
pub fn everybody(room: &Room) -> Result<KnownAgents> {
    Ok(KnownAgents {
        roster: who(room)?,
        remote: links::remote(room)?,
    })
}

/// All agents in this state, with these commits that only git knows.
pub fn of_state(room: &Room, state: &RoomState, commits: Commits) -> Result<KnownAgents> {
    let roster = roster_of(room, &room.registry()?, state, commits)?;
    Ok(KnownAgents {
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
    state: &RoomState,
    mut by_prefix: Commits,
) -> Result<Roster> {
    let (settings, calls) = (room.settings()?, SessionCalls::of(&room.dir));
    let mut roster =
        presence::roster(registry, state, &calls, settings.stale_after, Stamp::now()).0;
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
