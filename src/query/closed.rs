//! How messages were closed by their senders, and which offers ended, for programs that show them again.

use crate::base::error::Result;
use crate::disk::Dir;
use crate::features::approvals::{self, ClosedApproval};
use crate::features::claims::{self, change::OFFER_ENDED};
use crate::log::lookup::LoggedMessage;
use crate::log::state::{self, PastRenames, RoomState};
use crate::log::state::{IndexKey, IndexedLog};
use crate::message::id;
use crate::message::status::{CopyStatus, Receipt};
use std::sync::Arc;

/// The messages of a room that were withdrawn or superseded, and the offers that ended.
pub struct ClosedMessages {
    room: Dir,
    /// `None` if the log is damaged. Then no message is shown as closed.
    state: Option<RoomState>,
}

impl ClosedMessages {
    /// Reads the committed state of the room.
    pub fn read(room: &Dir) -> ClosedMessages {
        ClosedMessages::of(room, state::committed(room).ok())
    }

    /// Uses a committed state that the caller has read.
    pub fn of(room: &Dir, state: Option<RoomState>) -> ClosedMessages {
        ClosedMessages {
            room: room.clone(),
            state,
        }
    }

    /// The log with its index.
    pub fn log(&self) -> Result<IndexedLog<'_>> {
        match &self.state {
            Some(state) => Ok(state.indexed(&self.room)),
            None => IndexedLog::of_damaged(&self.room),
        }
    }

    /// The renamings of agents.
    pub fn renames(&self) -> PastRenames {
        let renames = self.state.as_ref().map(|state| state.renames.clone());
        renames.unwrap_or_default()
    }

    /// Notes in a message how its sender closed it, or that its offer ended.
    pub fn note(&self, past: &mut LoggedMessage) {
        let Some(state) = &self.state else { return };
        past.closed = self.ended_offer(past.seq, past.is_offer);
        // The state has no statuses of copies in other rooms.
        let is_in_other_room = past.recipients.iter().any(|to| id::tag_of(to).is_some());
        let copies = past.recipients.iter();
        let statuses = copies.filter_map(|to| {
            let owner = state.holder(to, past.seq);
            state.mailboxes.status(owner, past.seq)
        });
        if is_in_other_room || status_by_sender(state, past.seq, statuses).is_some() {
            let by_sender = self.by_number(past.seq, &past.from);
            past.closed = by_sender.or(past.closed.take());
        }
    }

    /// The mark of an offer in the message with this number, if it ended.
    fn ended_offer(&self, seq: u64, is_offer: bool) -> Option<String> {
        let is_ended = is_offer && !claims::of(self.state.as_ref()?).is_open_offer(seq);
        is_ended.then(|| OFFER_ENDED.to_owned())
    }

    /// How the sender of the message with this number closed it.
    fn by_number(&self, seq: u64, from: &str) -> Option<String> {
        let (state, sender) = (self.state.as_ref()?, Arc::from(from));
        let (status, by) = match self.receipts(seq) {
            // A recipient can set such a status too, for its own copy only.
            Some(receipts) => receipts
                .into_iter()
                .find(|(by, _)| by == state.holder(&sender, seq))
                .map(|(_, receipt)| (receipt.status, receipt.by))?,
            // Its author is unknown.
            None => (
                status_by_sender(state, seq, state.mailboxes.statuses(seq))?,
                None,
            ),
        };
        let by = by.map(|seq| format!(": replaced by #{seq}"));
        Some(format!("{}{}", status.as_str(), by.unwrap_or_default()))
    }

    /// The receipts that may close the message with this number, each with its author. `None` if they cannot be read.
    fn receipts(&self, seq: u64) -> Option<Vec<(Arc<str>, Receipt)>> {
        let state = self.state.as_ref()?;
        let records = state
            .indexed(&self.room)
            .records(&[IndexKey::Concerned(seq)]);
        let mut receipts = Vec::new();
        for (_, record) in records.ok()? {
            let by = state.holder(&record.sender().into(), record.seq).clone();
            let closing = record
                .ack()
                .iter()
                .filter(|one| one.status.is_set_by_sender() && one.seqs.contains(&seq));
            receipts.extend(closing.map(|one| (by.clone(), one.clone())));
        }
        Some(receipts)
    }
}

/// The status of these copies that only the sender, or their owner, can have set, and that closes the message. The recipients of
/// an approval can have closed their copies before its asker withdrew it.
fn status_by_sender(
    state: &RoomState,
    seq: u64,
    mut copies: impl Iterator<Item = CopyStatus>,
) -> Option<CopyStatus> {
    let approval = approvals::of(state).closed(seq);
    let is_withdrawn = approval.is_some_and(ClosedApproval::is_withdrawn);
    copies
        .find(|status| status.is_set_by_sender())
        .or_else(|| is_withdrawn.then_some(CopyStatus::Withdrawn))
}
