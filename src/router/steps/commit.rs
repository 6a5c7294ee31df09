//! Step 7: commits the batch with one append.

use super::stage::StagedBatch;
use crate::base::error::Result;
use crate::log::state::RoomState;
use crate::router::parts::{
    DeliveryProgress, Journal, LinkAcknowledgements, MailIntake, NoticeQueue, NoticeText,
    ObservedReceipts, PendingWork, RoomConfig, RouterStorage, claim_item,
};
use crate::router::projections::ProjectedMessage;

/// Step 7: the records are durable in the log, and will be delivered.
#[must_use]
pub(in crate::router) struct CommittedBatch {
    seqs: Vec<u64>,
    accepted: Vec<ProjectedMessage>,
}

/// The parts of the router that step 7 uses.
pub(in crate::router) struct CommitStep<'a> {
    pub(in crate::router) config: &'a RoomConfig,
    pub(in crate::router) intake: &'a mut MailIntake,
    pub(in crate::router) storage: &'a mut RouterStorage,
    pub(in crate::router) journal: &'a mut Journal,
    pub(in crate::router) progress: &'a mut DeliveryProgress,
    pub(in crate::router) receipts: &'a mut ObservedReceipts,
    pub(in crate::router) links: &'a mut LinkAcknowledgements,
    pub(in crate::router) notices: &'a mut NoticeQueue,
    pub(in crate::router) pending: &'a mut PendingWork,
}

impl CommittedBatch {
    pub(in crate::router) fn of(staged: StagedBatch) -> CommittedBatch {
        CommittedBatch {
            seqs: staged.seqs,
            accepted: staged.accepted,
        }
    }

    /// The open records of these numbers, after a kill or for another try. Projections have them already or find them
    /// in the log.
    pub(in crate::router) fn again(
        state: &RoomState,
        seqs: impl IntoIterator<Item = u64>,
    ) -> CommittedBatch {
        let seqs = seqs
            .into_iter()
            .filter(|seq| state.open.contains_key(seq))
            .collect();
        CommittedBatch {
            seqs,
            accepted: Vec::new(),
        }
    }

    pub(in crate::router) fn seqs(&self) -> &[u64] {
        &self.seqs
    }

    pub(super) fn into_inner(self) -> (Vec<u64>, Vec<ProjectedMessage>) {
        (self.seqs, self.accepted)
    }
}

impl CommitStep<'_> {
    /// Passes the barrier, appends once, and syncs the log. The batch has no effect before the sync.
    ///
    /// S3 → S4: committed = +log
    pub(in crate::router) fn run(mut self, staged: &StagedBatch) -> Result<()> {
        if self.journal.has_records() {
            self.storage.barrier()?;
            self.journal.commit()?;
            self.note_records(staged);
        }
        self.note_judged(staged);
        Ok(())
    }

    /// Notes that recovery has found the batch in the log.
    pub(in crate::router) fn recovered(mut self, staged: &StagedBatch) {
        self.note_records(staged);
        self.note_judged(staged);
    }

    fn note_records(&mut self, staged: &StagedBatch) {
        self.progress.settled(&staged.settled);
        self.receipts.committed(self.config.dir());
        self.links.committed();
    }

    fn note_judged(&mut self, staged: &StagedBatch) {
        self.notices.committed();
        self.intake.committed(&staged.claims);
        for claim in &staged.claims {
            self.pending.clear(claim_item(claim));
        }
        for about in &staged.abouts {
            self.pending.clear(NoticeText::item(about));
        }
        if staged.settles_registry {
            self.progress.registry_settled();
        }
    }
}
