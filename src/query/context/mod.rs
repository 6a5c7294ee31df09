//! The context that an agent needs to continue its work: its open threads, the room's goals and decisions, its claims, and an index of the
//! shared files. Only a bounded end of the log and a bounded number of files are read, because a hook asks for it.

mod files;
mod threads;

pub use files::SharedFile;
pub use threads::{MessageSummary, OpenThread};

use super::charter;
use super::claims;
use super::closed::ClosedMessages;
use super::identity;
use crate::base::error::Result;
use crate::base::written_path::write_path;
use crate::features::charter::{Charter, CharterLane, CharterSetting};
use crate::log::state;
use crate::room::Room;
use crate::room::registry::Registry;
use crate::room::resolve::{self, UnknownAvailability};
use serde::Serialize;
use std::path::PathBuf;

/// The context of an agent, each list with the most valuable first.
#[derive(Debug, Clone, Default, Serialize)]
pub struct AgentContext {
    /// The agent.
    pub agent: String,
    /// Its open threads.
    pub conversation: Vec<OpenThread>,
    /// Goals, decisions and claims.
    pub session: SessionContext,
    /// The shared files, newest first.
    pub project: SharedFileIndex,
}

/// The goals, decisions and claims for an agent's session.
#[derive(Debug, Clone, Default, Serialize)]
pub struct SessionContext {
    /// The goals in the charter.
    pub goals: Vec<String>,
    /// The acceptance criteria in the charter.
    pub criteria: Vec<String>,
    /// The settings in the charter.
    pub settings: Vec<CharterSetting>,
    /// The lanes of the agent in the charter.
    pub lanes: Vec<CharterLane>,
    /// The newest decisions that the agent sent or received.
    pub decisions: Vec<MessageSummary>,
    /// The agent's claims.
    pub claims: Vec<String>,
}

/// The shared files.
#[derive(Debug, Clone, Default, Serialize)]
pub struct SharedFileIndex {
    /// Their directory.
    #[serde(serialize_with = "write_path")]
    pub path: PathBuf,
    /// The newest files.
    pub files: Vec<SharedFile>,
    /// The number of all files; `None` if there are too many to count.
    pub total: Option<usize>,
}

impl AgentContext {
    /// Returns true if there is nothing to show.
    pub fn is_empty(&self) -> bool {
        let SessionContext {
            goals,
            criteria,
            settings,
            lanes,
            decisions,
            claims,
        } = &self.session;
        let charter = goals.len() + criteria.len() + settings.len() + lanes.len();
        charter
            + decisions.len()
            + claims.len()
            + self.conversation.len()
            + self.project.files.len()
            == 0
    }
}

/// Collects the context of an agent.
pub fn context(room: &Room, agent: &str) -> Result<AgentContext> {
    let registry = room.registry()?;
    let charter = charter::readable(room).unwrap_or_default();
    let mut state = state::committed(&room.dir)?;
    claims::drop_retired(&mut state, &registry);
    let owned = crate::features::claims::of(&state).of(agent);
    let claims = owned.map(|held| held.subject.to_string()).collect();
    let closed = ClosedMessages::of(&room.dir, Some(state));
    let viewer = identity::own_viewer_after(&registry, agent, closed.renames());
    let (conversation, decisions) = threads::of(room, &viewer, |past| closed.note(past))?;
    let lanes = lanes(&registry, &charter, agent);
    let Charter {
        goals,
        criteria,
        settings,
        ..
    } = charter;
    let session = SessionContext {
        goals,
        criteria,
        settings,
        lanes,
        decisions,
        claims,
    };
    let project = files::of(room, &room.settings()?);
    Ok(AgentContext {
        agent: agent.to_owned(),
        conversation,
        session,
        project,
    })
}

/// Returns true if the agent takes part in an open thread. Reads the end of the log.
pub fn has_open_thread(room: &Room, agent: &str) -> Result<bool> {
    let viewer = identity::own_viewer(room, agent)?;
    Ok(!threads::of(room, &viewer, |_| ())?.0.is_empty())
}

/// The lanes that the agent owns, by their addresses.
fn lanes(registry: &Registry, charter: &Charter, agent: &str) -> Vec<CharterLane> {
    let reaches = |lane: &&CharterLane| {
        let address = std::slice::from_ref(&lane.address);
        let reached = resolve::resolve(registry, "", address, false, &mut UnknownAvailability)
            .unwrap_or_default();
        reached.iter().any(|one| &*one.agent == agent)
    };
    charter.lanes.iter().filter(reaches).cloned().collect()
}
