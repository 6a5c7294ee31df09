//! Agents with their own system user: the directories and files that belong to that user.
//!
//! An agent's user owns only its outbox and its inbox. Only root can change the owner of files. If the router runs as
//! another user, everything belongs to the router's user.

use super::Room;
use crate::base::error::Result;
use crate::disk::{Barrier, FileOwner, layout, may_give};
use crate::room::registry::{Agent, Registry};
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

/// The permissions that other users need to enter a directory, and to list it.
const PASS: u32 = 0o011;
const LIST: u32 = 0o044;

impl Room {
    /// Gives the directories of agents with a `uid` in the registry to that user, and lets the user reach them through
    /// the room, `outbox/` and `inbox/`, without listing other agents. The registry, the settings and the charter become
    /// readable for these users, because commands need them.
    pub fn give_to_owners(&self, registry: &Registry) -> Result<()> {
        let owner = self.dir.meta()?.uid;
        let mut agents: Vec<&Agent> = registry.agents().iter().collect();
        agents.retain(|agent| !agent.is_retired() && agent.uid.is_some_and(|uid| uid != owner));
        if agents.is_empty() {
            return Ok(());
        }
        self.dir.let_others(PASS | LIST)?;
        for directory in [layout::OUTBOXES, layout::INBOXES] {
            self.dir.sub(directory)?.let_others(PASS)?;
        }
        for file in [layout::REGISTRY, layout::SETTINGS, layout::CHARTER] {
            self.dir.let_others_read(file)?;
        }
        if may_give() {
            for agent in agents {
                self.give_directories(agent)?;
            }
        }
        Ok(())
    }

    fn give_directories(&self, agent: &Agent) -> Result<()> {
        let Some(uid) = agent.uid else { return Ok(()) };
        let id = &agent.id;
        let below_inbox = [
            layout::seen(id),
            layout::taken(id),
            layout::expired(id),
            layout::announced(id),
        ];
        for directory in [layout::outbox(id), layout::inbox(id)]
            .iter()
            .chain(&below_inbox)
        {
            if self
                .dir
                .stat(directory)?
                .is_some_and(|there| there.uid != uid)
            {
                self.dir.sub(directory)?.give(uid)?;
            }
        }
        Ok(())
    }

    /// Creates an outbox or an inbox, owned by the agent's user if the registry gives one. Durable at the barrier.
    pub fn make_box(
        &self,
        directory: &Path,
        uid: Option<u32>,
        barrier: &mut Barrier,
    ) -> Result<()> {
        let made = self.dir.make_with(directory, barrier)?;
        match uid {
            Some(uid) => made.give(uid),
            None => Ok(()),
        }
    }

    // The user in the registry, otherwise the owner of the inbox.
    fn reader(&self, agent: &Agent) -> Option<FileOwner> {
        let inbox = self.dir.stat(layout::inbox(&agent.id)).ok().flatten();
        let there = inbox.or_else(|| self.dir.meta().ok())?;
        Some(FileOwner {
            uid: agent.uid.unwrap_or(there.uid),
            gid: there.gid,
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
