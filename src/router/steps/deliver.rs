//! Step 8: moves copies into inboxes.

use super::commit::CommittedBatch;
use crate::base::error::Result;
use crate::disk::layout;
use crate::log::state::{DeliveryDirectory, OpenRecord, RoomState, StagedFile};
use crate::router::parts::{DeliveryProgress, PendingWork, RouterStorage};
use crate::router::projections::ProjectedMessage;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// Step 8: the copies are in their inboxes.
#[must_use]
pub(in crate::router) struct DeliveredBatch {
    seqs: Vec<u64>,
    accepted: Vec<ProjectedMessage>,
}

/// One of an agent's directories.
type AgentDirectory = (DeliveryDirectory, Arc<str>);

impl DeliveredBatch {
    /// The accepted messages, for the projections.
    pub(in crate::router) fn accepted(&self) -> &[ProjectedMessage] {
        &self.accepted
    }

    pub(super) fn into_seqs(self) -> Vec<u64> {
        self.seqs
    }
}

/// One rename for each copy. A copy that is no longer staged was delivered, so inboxes are never read. A copy that
/// cannot be moved stays staged, and its record stays open.
///
/// S4 → S5: delivered = -stage +inbox
pub(in crate::router) fn deliver(
    storage: &mut RouterStorage,
    state: &RoomState,
    progress: &mut DeliveryProgress,
    pending: &mut PendingWork,
    committed: CommittedBatch,
) -> Result<DeliveredBatch> {
    let (seqs, accepted) = committed.into_inner();
    let mut failed = BTreeSet::new();
    // Earlier copies for the same directory are in this batch only if it tries them again.
    let has_stuck = progress.has_stuck();
    for ((place, agent), copies) in by_directory(state, &seqs) {
        let what = place.of(&agent);
        let stuck = storage.deliver(place, &agent, copies)?;
        match stuck.first() {
            Some((_, e)) => pending.failed(&what.display().to_string(), e.to_string()),
            None if has_stuck => pending.hurry(&what.display().to_string()),
            None => pending.clear(what.display()),
        }
        for (copy, _) in stuck {
            failed.insert(layout::read_staged(&copy.staged).map_or(0, |(seq, _)| seq));
        }
    }
    let delivered = seqs
        .into_iter()
        .filter(|seq| !failed.contains(seq))
        .collect();
    for seq in failed {
        progress.failed(seq);
    }
    Ok(DeliveredBatch {
        seqs: delivered,
        accepted,
    })
}

// Groups copies by directory, in the order of first use, so that each directory is opened once in a batch.
fn by_directory(state: &RoomState, seqs: &[u64]) -> Vec<(AgentDirectory, Vec<StagedFile>)> {
    let mut groups: Vec<(AgentDirectory, Vec<StagedFile>)> = Vec::new();
    let mut places: HashMap<AgentDirectory, usize> = HashMap::new();
    for copy in seqs
        .iter()
        .filter_map(|seq| state.open.get(seq))
        .flat_map(OpenRecord::deliveries)
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
