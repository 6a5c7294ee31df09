//! How messages were closed by their senders, for programs that show them again.

use crate::disk::Dir;
use crate::log::RecordReader;
use crate::log::lookup::LoggedMessage;
use crate::log::state::{self, Relation, Relations, RoomState};
use crate::message::status::CopyStatus;
use std::sync::OnceLock;

/// The messages of a room that were withdrawn or superseded.
pub struct ClosedMessages {
    room: Dir,
    /// `None` if the log is damaged. Then no message is shown as closed.
    state: Option<RoomState>,
    relations: OnceLock<Option<Relations>>,
}

impl ClosedMessages {
    /// Reads the committed state of the room.
    pub fn read(room: &Dir) -> ClosedMessages {
        ClosedMessages {
            room: room.clone(),
            state: state::committed(room).ok(),
            relations: OnceLock::new(),
        }
    }

    /// The index of relations, if it is usable. Opened once.
    pub fn relations(&self) -> Option<&Relations> {
        let open = || Relations::open(&self.room, self.state.as_ref()?);
        self.relations.get_or_init(open).as_ref()
    }

    /// Notes in a message how it was closed.
    pub fn note(&self, past: &mut LoggedMessage) {
        if let Some(state) = &self.state {
            let recipients = past.recipients.iter();
            let statuses = recipients.filter_map(|agent| {
                state
                    .mailboxes
                    .status(state.holder(agent, past.seq), past.seq)
            });
            past.closed = self.closed(state, past.seq, statuses);
        }
    }

    /// How the message with this number was closed. Looks at all agents.
    pub fn by_number(&self, seq: u64) -> Option<String> {
        let state = self.state.as_ref()?;
        self.closed(state, seq, state.mailboxes.statuses(seq))
    }

    fn closed(
        &self,
        state: &RoomState,
        seq: u64,
        mut statuses: impl Iterator<Item = CopyStatus>,
    ) -> Option<String> {
        let status = statuses.find(|status| status.is_set_by_sender());
        // Its recipients can have closed their copies of an approval before.
        let status = status.or_else(|| {
            let is_withdrawn = state.approvals.is_withdrawn(seq);
            is_withdrawn.then_some(CopyStatus::Withdrawn)
        })?;
        let by = match status {
            CopyStatus::Superseded => self.replacement(seq),
            _ => None,
        };
        let by = by.map(|seq| format!(": replaced by #{seq}"));
        Some(format!("{}{}", status.as_str(), by.unwrap_or_default()))
    }

    /// The record of the message that supersedes this one, if its ack names one.
    fn replacement(&self, seq: u64) -> Option<u64> {
        let places = self.relations()?.places(&[Relation::Concerned(seq)])?;
        let mut records = RecordReader::of(&self.room);
        for place in places {
            let Ok(Some(record)) = records.at(place) else {
                continue;
            };
            let mut receipts = record.ack().iter();
            if let Some(receipt) = receipts.find(|one| one.by.is_some() && one.seqs.contains(&seq))
            {
                return receipt.by;
            }
        }
        None
    }
}
