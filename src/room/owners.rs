//! Agents that have a user of their own: which directories and files belong to that user.
//!
//! An agent's user owns its outbox and its inbox, and nothing else of the room. Only root can give files to another
//! user; in a room that somebody else routes, everything belongs to the router's user.

use super::Room;
use crate::base::error::Result;
use crate::disk::{Barrier, layout, may_give};
use crate::room::registry::{Agent, Registry};
use std::path::Path;

/// What users other than the owner, in its group or not, need to pass through a directory, and to list the names in it.
const PASS: u32 = 0o011;
const LIST: u32 = 0o044;

impl Room {
    /// Gives the agents for which the registry names a `uid` their directories, as far as they exist, and lets their
    /// users pass to them: through the room and its `outbox/` and `inbox/`, in which they can't list who else there is.
    /// The registry and the settings are readable to them too, since commands need both.
    pub fn give_to_owners(&self, registry: &Registry) -> Result<()> {
        let owner = self.dir.meta()?.uid;
        let has_own_user = |agent: &&Agent| !agent.is_retired() && agent.uid.is_some_and(|uid| uid != owner);
        let mut agents = registry.agents().iter().filter(has_own_user).peekable();
        if agents.peek().is_none() {
            return Ok(());
        }
        self.dir.let_others(PASS | LIST)?;
        for directory in [layout::OUTBOXES, layout::INBOXES] {
            self.dir.sub(directory)?.let_others(PASS)?;
        }
        for file in [layout::REGISTRY, layout::SETTINGS] {
            self.dir.let_others_read(file)?;
        }
        if may_give() {
            agents.try_for_each(|agent| self.give_directories(agent))?;
        }
        Ok(())
    }

    fn give_directories(&self, agent: &Agent) -> Result<()> {
        let Some(uid) = agent.uid else { return Ok(()) };
        let id = &agent.id;
        let below_inbox = [layout::seen(id), layout::taken(id), layout::expired(id), layout::announced(id)];
        for directory in [layout::outbox(id), layout::inbox(id)].iter().chain(&below_inbox) {
            if self.dir.stat(directory)?.is_some_and(|there| there.uid != uid) {
                self.dir.sub(directory)?.give(uid)?;
            }
        }
        Ok(())
    }

    /// Makes an outbox or an inbox, owned by its agent's user where the registry names one. Durable at the barrier.
    pub fn make_box(&self, directory: &Path, uid: Option<u32>, barrier: &mut Barrier) -> Result<()> {
        let made = self.dir.make_with(directory, barrier)?;
        match uid {
            Some(uid) => made.give(uid),
            None => Ok(()),
        }
    }

    /// The user to whom a copy for this agent belongs, if this process can give it away: the one that the registry
    /// names, else the owner of its inbox.
    pub fn reader(&self, agent: &Agent) -> Option<u32> {
        if !may_give() {
            return None;
        }
        let inbox = || self.dir.stat(layout::inbox(&agent.id)).ok().flatten();
        agent.uid.or_else(|| inbox().map(|inbox| inbox.uid))
    }
}
