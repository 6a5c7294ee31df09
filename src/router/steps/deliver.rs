//! Step 8: into the inboxes.

use super::commit::Committed;
use crate::base::error::Result;
use crate::disk::layout;
use crate::log::state::{Delivery, Place, State};
use crate::room::registry::Agent;
use crate::router::parts::{Config, Pending, Progress, Storage};
use crate::router::projections::Accepted;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// Step 8: the copies are in their inboxes.
#[must_use]
pub(in crate::router) struct Delivered {
    seqs: Vec<u64>,
    accepted: Vec<Accepted>,
}

/// One of an agent's directories.
type Directory = (Place, Arc<str>);

impl Delivered {
    /// What the batch accepted, for the projections.
    pub(in crate::router) fn accepted(&self) -> &[Accepted] {
        &self.accepted
    }

    pub(super) fn into_seqs(self) -> Vec<u64> {
        self.seqs
    }
}

/// One rename for each copy. A copy that is no longer staged was delivered: inboxes are never read to find out. A copy
/// that cannot be moved stays staged, and its record open.
///
/// S4 → S5: delivered = -stage +inbox
pub(in crate::router) fn deliver(
    config: &Config,
    storage: &mut Storage,
    state: &State,
    progress: &mut Progress,
    pending: &mut Pending,
    committed: Committed,
) -> Result<Delivered> {
    let (seqs, accepted) = committed.into_inner();
    let mut failed = BTreeSet::new();
    // Earlier copies for the same directory are in this batch only if it tries them again.
    let nothing_stuck = !progress.has_stuck();
    for ((place, agent), copies) in by_directory(state, &seqs) {
        let what = place.of(&agent);
        if place == Place::Inbox
            && config
                .registry()
                .agent(&agent)
                .is_some_and(Agent::is_woken_by_a_program)
        {
            progress.wake(&agent);
        }
        let stuck = storage.deliver((place, &agent), copies)?;
        match stuck.first() {
            Some((_, e)) => pending.failed(&what.display().to_string(), e.to_string()),
            None if nothing_stuck => pending.clear(what.display()),
            None => pending.hurry(&what.display().to_string()),
        }
        let seq = |staged: &str| layout::read_staged(staged).map_or(0, |(seq, _)| seq);
        failed.extend(stuck.iter().map(|(copy, _)| seq(&copy.staged)));
    }
    let delivered = seqs
        .into_iter()
        .filter(|seq| !failed.contains(seq))
        .collect();
    failed.into_iter().for_each(|seq| progress.failed(seq));
    Ok(Delivered {
        seqs: delivered,
        accepted,
    })
}

// Each directory is opened once a batch, in the order in which the batch first reaches it.
fn by_directory(state: &State, seqs: &[u64]) -> Vec<(Directory, Vec<Delivery>)> {
    let mut groups: Vec<(Directory, Vec<Delivery>)> = Vec::new();
    let mut places: HashMap<Directory, usize> = HashMap::new();
    for copy in seqs
        .iter()
        .filter_map(|seq| state.open.get(seq))
        .flat_map(|open| open.deliveries())
    {
        let key = (copy.place, copy.agent.clone());
        let place = *places.entry(key.clone()).or_insert_with(|| {
            groups.push((key, Vec::new()));
            groups.len() - 1
        });
        groups[place].1.push(copy);
    }
    groups
}
