//! Step 7: commits the batch with one append.

use super::numbering;
use super::stage::{StagedBatch, StagedRecord, put_back};
use crate::base::error::{Error, Result};
use crate::log::state::RoomState;
use crate::message::record::{Event, EventKind};
use crate::router::parts::{
    BatchLines, DeliveryProgress, Journal, LinkAcknowledgements, NoticeQueue, NoticeText,
    ObservedReceipts, PendingWork, RoomConfig, RouterStorage, claim_item,
};
use crate::router::projections::ProjectedMessage;
use crate::router::temporary;

/// Step 7: the records are durable in the log, and will be delivered.
#[must_use]
pub(in crate::router) struct CommittedBatch {
    seqs: Vec<u64>,
    accepted: Vec<ProjectedMessage>,
}

/// The parts of the router that step 7 uses.
pub(in crate::router) struct CommitStep<'a> {
    pub(in crate::router) config: &'a RoomConfig,
    pub(in crate::router) storage: &'a mut RouterStorage,
    pub(in crate::router) journal: &'a mut Journal,
    pub(in crate::router) progress: &'a mut DeliveryProgress,
    pub(in crate::router) receipts: &'a mut ObservedReceipts,
    pub(in crate::router) links: &'a mut LinkAcknowledgements,
    pub(in crate::router) notices: &'a mut NoticeQueue,
    pub(in crate::router) pending: &'a mut PendingWork,
}

impl CommittedBatch {
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
    /// Passes the barrier, appends once, and syncs the log. The batch has no effect before
    /// the sync.
    ///
    /// S3 → S4: committed = +log
    pub(in crate::router) fn run(mut self, staged: StagedBatch) -> Result<CommittedBatch> {
        let mut entries = staged.into_entries();
        let mut committed = CommittedBatch {
            seqs: Vec::with_capacity(entries.len()),
            accepted: Vec::new(),
        };
        if entries.is_empty() {
            return Ok(committed);
        }
        let lines = match self.prepare(&mut entries) {
            Ok(lines) => lines,
            Err(e) => return self.unstage(entries, temporary(e)?),
        };
        self.storage.barrier()?;
        if let Err(e) = self.journal.append(&lines) {
            return self.unstage(entries, temporary(e)?);
        }
        self.journal.commit(&lines)?;
        for (entry, tip) in entries.into_iter().zip(lines.tips()) {
            let StagedRecord {
                mut record,
                at,
                message,
                ..
            } = entry;
            if let Some(claim) = record.claim() {
                self.pending.clear(claim_item(claim));
            }
            if let Some(about) = record.about() {
                self.pending.clear(NoticeText::item(about));
                self.notices.committed(&record);
            }
            if !record.settled.is_empty() {
                self.progress.settled(&record.settled);
            }
            if !record.receipts.is_empty() {
                self.receipts.committed(self.config.dir());
            }
            match record.kind() {
                EventKind::Settled => self.progress.registry_settled(),
                EventKind::Room => {}
                EventKind::Receipts if record.claim().is_none() => {}
                _ => committed.seqs.push(record.seq),
            }
            let (seq, time) = (record.seq, std::mem::take(&mut record.at));
            self.journal.apply(record, at, message.as_deref(), tip);
            committed
                .accepted
                .extend(message.map(|message| ProjectedMessage {
                    seq,
                    at: time,
                    message,
                }));
        }
        Ok(committed)
    }

    fn prepare(&mut self, entries: &mut Vec<StagedRecord>) -> Result<BatchLines> {
        let room = self.journal.check_room(self.config.room())?;
        if let Some(Event::Room { room: of }) =
            entries.first_mut().map(|entry| &mut entry.record.event)
        {
            *of = room;
        }
        let receipts = self.receipts.stage(self.config.dir(), self.storage);
        let mut receipts = receipts.into_iter();
        // Settled records and receipts are part of the first record, so that messages have
        // consecutive numbers.
        if let Some(first) = entries
            .iter_mut()
            .find(|entry| entry.record.kind() != EventKind::Room)
        {
            first.record.settled = self.progress.to_settle();
            first.record.receipts = receipts.next().unwrap_or_default();
            first.record.acked = self.links.stage();
        }
        // The files of the messages are staged with their numbers, so further records come last.
        for receipts in receipts {
            let last = entries.last().expect("a batch is not empty");
            let event = Event::Receipts { origin: None };
            let (seq, at) = (last.record.seq + 1, last.at.next());
            let mut entry = StagedRecord::new(self.journal.state(), event, seq, at);
            entry.record.receipts = receipts;
            entries.push(entry);
        }
        numbering::number(self.config.dir(), self.journal.state(), entries)?;
        self.journal
            .lines(entries.iter_mut().map(|entry| &mut entry.record))
    }

    /// Undoes an uncommitted batch: removes the staged copies, and lists the messages as pending by their claims.
    fn unstage(self, entries: Vec<StagedRecord>, e: Error) -> Result<CommittedBatch> {
        for StagedRecord { record, staged, .. } in entries {
            self.storage.unstage(&staged);
            if let Some(claim) = record.claim() {
                put_back(self.pending, claim, &e);
            }
            if let Some(about) = record.about() {
                self.pending.failed(&NoticeText::item(about), e.to_string());
            }
            self.receipts.unstage(record.receipts);
            self.links.unstage(record.acked);
        }
        Ok(CommittedBatch {
            seqs: Vec::new(),
            accepted: Vec::new(),
        })
    }
}
