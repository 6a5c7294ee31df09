//! The current state for a program that asks repeatedly: each call reads only the new records of the log.

use super::commits::{self, Commits};
use super::pending::{self, PendingList};
use super::who::{self, KnownAgents};
use crate::base::error::Result;
use crate::features::approvals;
use crate::log::state::{self, RoomState};
use crate::room::Room;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use std::time::Instant;

/// The time that a program with a continuous display uses the result of that search.
const COMMITS_LOOK: Duration = Duration::from_secs(10);

/// A decision that an agent waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitReason {
    /// The agents that can decide.
    pub of: Vec<Arc<str>>,
    /// The title of the approval.
    pub what: String,
}

/// The state of a room at the last look.
pub struct RoomStateCache {
    room: Room,
    state: Option<RoomState>,
    commits: Option<(Instant, Commits)>,
}

impl RoomStateCache {
    /// Has read nothing yet.
    pub fn new(room: Room) -> RoomStateCache {
        RoomStateCache {
            room,
            state: None,
            commits: None,
        }
    }

    /// The pending items of this agent.
    pub fn pending(&mut self, agent: &str) -> Result<PendingList> {
        let room = self.room.clone();
        Ok(pending::of_state(&room, self.look()?, agent))
    }

    /// All known agents. Commits that only git knows are read occasionally.
    pub fn everybody(&mut self) -> Result<KnownAgents> {
        let room = self.room.clone();
        let asked = self
            .commits
            .take()
            .filter(|(at, _)| at.elapsed() < COMMITS_LOOK);
        let commits = match asked {
            Some(asked) => asked,
            None => (Instant::now(), commits::by_prefix(&room, &room.registry()?)),
        };
        let (_, commits) = self.commits.insert(commits);
        let commits = commits.clone();
        who::of_state(&room, self.look()?, commits)
    }

    /// The decisions that each agent waits for.
    pub fn waits(&mut self) -> Result<BTreeMap<Arc<str>, Vec<WaitReason>>> {
        let mut waits: BTreeMap<Arc<str>, Vec<WaitReason>> = BTreeMap::new();
        for open in approvals::of(self.look()?).open() {
            let wait = WaitReason {
                of: open.to.clone(),
                what: open.terms.title.clone(),
            };
            waits.entry(open.from.clone()).or_default().push(wait);
        }
        Ok(waits)
    }

    fn look(&mut self) -> Result<&RoomState> {
        let state = match self.state.take() {
            Some(before) => state::committed_after(&self.room.dir, before)?,
            None => state::committed(&self.room.dir)?,
        };
        Ok(self.state.insert(state))
    }
}
