//! Identifies who commits: the agent of the environment or of the client's session, the person at a terminal, or the agent
//! with a session in the worktree.

use super::identity;
use crate::base::error::Result;
use crate::disk::git::Worktree;
use crate::message::id;
use crate::room::Room;
use crate::room::sessions;
use std::path::Path;

/// The author of an edit or a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Committer {
    /// A registered agent.
    Agent(String),
    /// The person.
    Human,
    /// An unidentified committer, and the reason.
    Unknown(String),
}

impl Committer {
    /// The committer in a directory.
    pub fn of(room: &Room, given: Option<&str>, directory: &Path) -> Result<Committer> {
        let registry = room.registry()?;
        let caller = identity::who(given, || Ok(room.clone()))
            .and_then(|who| Ok(who.in_registry(&registry)?.id.to_string()));
        Ok(match caller {
            Ok(name) if name == id::HUMAN => Committer::Human,
            Ok(name) => Committer::Agent(name),
            // The name can be unknown, or only a person may use it.
            Err(e) => match in_worktree(room, directory)? {
                Some(name) => Committer::Agent(name),
                None => Committer::Unknown(e.to_string()),
            },
        })
    }

    /// The agent, if it is known.
    pub fn agent(&self) -> Option<&str> {
        match self {
            Committer::Agent(name) => Some(name),
            Committer::Human | Committer::Unknown(_) => None,
        }
    }
}

/// The agent with a session in the worktree around a directory, if it is the only one there.
fn in_worktree(room: &Room, directory: &Path) -> Result<Option<String>> {
    let Some(here) = Worktree::around(directory) else {
        return Ok(None);
    };
    let within = room.settings()?.session_lease;
    let is_here = |place: &Path| Worktree::around(place).is_some_and(|there| there.top == here.top);
    let leases = sessions::all(room)?
        .into_iter()
        .filter(|lease| lease.is_live(&room.dir, within));
    let mut agents: Vec<String> = leases
        .filter(|lease| lease.directory.as_deref().is_some_and(is_here))
        .map(|lease| lease.agent)
        .collect();
    let agent = agents.pop();
    Ok(if agents.is_empty() { agent } else { None })
}
