//! Renamed agents: moves everything in the state from one name to the other.

use super::{RenamedAgent, RoomState};
use crate::features;
use crate::message::record::Record;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A renaming of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct PastRename {
    /// The number of its record.
    seq: u64,
    /// The former name.
    of: Arc<str>,
    /// The name since then.
    to: Arc<str>,
}

/// The renamings of agents, in the order of the log.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PastRenames(Arc<Vec<PastRename>>);

impl PastRenames {
    /// The present name of the agent that had this name when the record with this number was accepted.
    pub fn holder<'a>(&'a self, name: &'a Arc<str>, seq: u64) -> &'a Arc<str> {
        let later = self.0.partition_point(|rename| rename.seq <= seq);
        let mut holder = name;
        for rename in &self.0[later..] {
            if rename.of == *holder {
                holder = &rename.to;
            }
        }
        holder
    }
}

impl RoomState {
    /// Returns true if the state has anything of an agent with this name.
    pub fn knows(&self, agent: &str) -> bool {
        self.mailboxes.has(agent) || self.active.contains_key(agent)
    }

    /// As [`PastRenames::holder`].
    pub fn holder<'a>(&'a self, name: &'a Arc<str>, seq: u64) -> &'a Arc<str> {
        self.renames.holder(name, seq)
    }

    /// The names that agents had before their renamings.
    pub fn former_names(&self) -> BTreeSet<&str> {
        self.renames.0.iter().map(|rename| &*rename.of).collect()
    }

    /// Applies the renaming of a record, if it is one. Its claims follow from the change of ownership.
    pub(super) fn rename(&mut self, record: &Record) -> Option<RenamedAgent> {
        let renaming = record.facts.claims.as_ref()?.renaming()?;
        let (of, to, twice) = (renaming.of, renaming.to, renaming.twice);
        let twice = self.mailboxes.rename(of, to, twice);
        for feature in features::ALL {
            feature.rename(&mut self.features, of, to, record.seq);
        }
        Arc::make_mut(&mut self.renames.0).push(PastRename {
            seq: record.seq,
            of: of.clone(),
            to: to.clone(),
        });
        for times in [&mut self.active, &mut self.read] {
            let last = times.remove(of).max(times.get(to).copied());
            times.extend(last.map(|at| (to.clone(), at)));
        }
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
pub(crate) fn replace(agents: &mut Vec<Arc<str>>, of: &str, to: &Arc<str>) {
    let Some(at) = agents.iter().position(|one| **one == *of) else {
        return;
    };
    if agents.contains(to) {
        agents.remove(at);
    } else {
        agents[at] = to.clone();
    }
}
