//! Renamed agents: moves everything in the state from one name to the other.

use super::{RenamedAgent, RoomState};
use crate::message::claim::ClaimChange;
use crate::message::record::Record;
use std::sync::Arc;

impl RoomState {
    /// Returns true if the state has anything of an agent with this name.
    pub fn knows(&self, agent: &str) -> bool {
        self.mailboxes.has(agent) || self.active.contains_key(agent)
    }

    /// The agent that has this name, after all renamings so far.
    pub fn holder<'a>(&'a self, name: &'a Arc<str>) -> &'a Arc<str> {
        let mut holder = name;
        // A name can return to an agent that had it before.
        for _ in 0..self.former.len() {
            match self.former.get(holder) {
                Some(next) => holder = next,
                None => break,
            }
        }
        holder
    }

    /// Applies the renaming of a record, if it is one. Its claims follow from the change of ownership.
    pub(super) fn rename(&mut self, record: &Record) -> Option<RenamedAgent> {
        let Some(ClaimChange::Rename { of, to, twice }) = record.ownership() else {
            return None;
        };
        let twice = self.mailboxes.rename(of, to, twice);
        self.timers.rename(of, to);
        self.items.rename(of, to, record.seq);
        self.approvals.rename(of, to, record.seq);
        self.disputes.rename(of, to);
        self.wakes.rename(of, record.seq);
        self.activity.rename(of, to);
        self.former.insert(of.clone(), to.clone());
        let active = [self.active.remove(of), self.active.get(to).copied()]
            .into_iter()
            .flatten()
            .max();
        self.active.extend(active.map(|at| (to.clone(), at)));
        // If the other agent has its own copy, the staged copy is delivered to the former inbox, and then moved aside.
        for open in self
            .open
            .values_mut()
            .filter(|open| !twice.contains(&open.at))
        {
            if let Some(renamed) = &mut open.renamed
                && renamed.to == *of
            {
                renamed.to = to.clone();
            }
            for now in open.now.values_mut().filter(|now| *now == of) {
                *now = to.clone();
            }
            if open.to.iter().any(|group| group.agents.contains(of)) {
                open.now.entry(of.clone()).or_insert_with(|| to.clone());
            }
        }
        Some(RenamedAgent {
            of: of.clone(),
            to: to.clone(),
            twice: twice.into_iter().collect(),
        })
    }
}

/// Puts one agent in the place of another, once.
pub(super) fn replace(agents: &mut Vec<Arc<str>>, of: &str, to: &Arc<str>) {
    let Some(at) = agents.iter().position(|one| **one == *of) else {
        return;
    };
    if agents.contains(to) {
        agents.remove(at);
    } else {
        agents[at] = to.clone();
    }
}
