//! Agents with their own system user: the directories and files that belong to that user.
//!
//! An agent's user owns only its outbox and its inbox. Only root can change the owner of files. If the router runs as
//! another user, everything belongs to the router's user.

use super::Room;
use crate::base::error::Result;
use crate::disk::{Barrier, FileOwner, layout, may_give};
use crate::room::registry::{Agent, Registry};
use rustix::fs::FileType;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

/// The permissions that other users need to enter a directory, and to list it.
const PASS: u32 = 0o011;
const LIST: u32 = 0o044;

impl Room {
    /// Gives the directories of each agent to its user: the `uid` in the registry, or else the room's owner. Lets users of
    /// agents reach them through the room, `outbox/` and `inbox/`, without listing other agents. The registry, the settings
    /// and the charter become readable for these users, because commands need them. An error in one agent's directories does
    /// not affect other agents; the first error is returned.
    pub fn give_to_owners(&self, registry: &Registry) -> Result<()> {
        let owner = self.dir.meta()?.uid;
        let mut agents: Vec<&Agent> = registry.agents().iter().collect();
        agents.retain(|agent| !agent.is_retired());
        if agents
            .iter()
            .any(|agent| agent.uid.is_some_and(|uid| uid != owner))
        {
            self.dir.let_others(PASS | LIST)?;
            for directory in [layout::OUTBOXES, layout::INBOXES] {
                self.dir.sub(directory)?.let_others(PASS)?;
            }
            for file in [layout::REGISTRY, layout::SETTINGS, layout::CHARTER] {
                self.dir.let_others_read(file)?;
            }
        }
        let mut given = Ok(());
        if may_give() {
            for agent in agents {
                given = given.and(self.give_directories(&agent.id, agent.uid.unwrap_or(owner)));
            }
        }
        given
    }

    fn give_directories(&self, id: &str, uid: u32) -> Result<()> {
        let directories = [
            layout::outbox(id),
            layout::inbox(id),
            layout::seen(id),
            layout::taken(id),
            layout::expired(id),
            layout::announced(id),
        ];
        for directory in directories {
            // A user may have put a link in the place of a directory. The delivery reports it.
            if self
                .dir
                .stat(&directory)?
                .is_some_and(|there| there.kind == FileType::Directory && there.uid != uid)
            {
                self.dir.sub(&directory)?.give(uid)?;
            }
        }
        Ok(())
    }

    /// Creates an outbox or an inbox, owned by the agent's user, or else the room's owner. Durable at the barrier.
    pub fn make_box(
        &self,
        directory: &Path,
        uid: Option<u32>,
        barrier: &mut Barrier,
    ) -> Result<()> {
        let owner = self.dir.meta()?.uid;
        let made = self.dir.make_with(directory, barrier)?;
        made.give(uid.unwrap_or(owner))
    }

    // The agent's user, otherwise the room's owner, with the group of the inbox.
    fn reader(&self, agent: &Agent) -> Option<FileOwner> {
        let room = self.dir.meta().ok()?;
        let inbox = self.dir.stat(layout::inbox(&agent.id)).ok().flatten();
        Some(FileOwner {
            uid: agent.uid.unwrap_or(room.uid),
            gid: inbox.map_or(room.gid, |inbox| inbox.gid),
        })
    }
}

/// The owners of the copies in one batch. Each agent is looked up once.
#[derive(Default)]
pub struct CopyOwners(HashMap<Arc<str>, Option<FileOwner>>);

impl CopyOwners {
    /// The owner of a copy for this agent, if this process can change the owner.
    pub fn of(&mut self, room: &Room, agent: &Agent) -> Option<FileOwner> {
        if !may_give() {
            return None;
        }
        match self.0.get(&agent.id) {
            Some(known) => *known,
            None => *self.0.entry(agent.id.clone()).or_insert(room.reader(agent)),
        }
    }
}
