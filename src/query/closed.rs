//! How messages were closed by their senders, for programs that show them again.

use crate::disk::Dir;
use crate::log::RecordReader;
use crate::log::lookup::LoggedMessage;
use crate::log::state::{self, PastRenames, Relation, Relations, RoomState};
use crate::message::status::{CopyStatus, Receipt};
use std::sync::{Arc, OnceLock};

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

    /// The renamings of agents.
    pub fn renames(&self) -> PastRenames {
        let renames = self.state.as_ref().map(|state| state.renames.clone());
        renames.unwrap_or_default()
    }

    /// Notes in a message how its sender closed it.
    pub fn note(&self, past: &mut LoggedMessage) {
        if let Some(state) = &self.state {
            let recipients = past.recipients.iter();
            let statuses = recipients.filter_map(|agent| {
                state
                    .mailboxes
                    .status(state.holder(agent, past.seq), past.seq)
            });
            past.closed = self.closed(past.seq, &past.from, statuses);
        }
    }

    /// How the sender of the message with this number closed it. Looks at all agents.
    pub fn by_number(&self, seq: u64, from: &str) -> Option<String> {
        self.closed(seq, from, self.state.as_ref()?.mailboxes.statuses(seq))
    }

    fn closed(
        &self,
        seq: u64,
        from: &str,
        mut statuses: impl Iterator<Item = CopyStatus>,
    ) -> Option<String> {
        let (state, sender) = (self.state.as_ref()?, Arc::from(from));
        let status = statuses.find(|status| status.is_set_by_sender());
        // Its recipients can have closed their copies of an approval before.
        let status = status.or_else(|| {
            let is_withdrawn = state.approvals.is_withdrawn(seq);
            is_withdrawn.then_some(CopyStatus::Withdrawn)
        })?;
        let (status, by) = match self.receipts(seq) {
            // A recipient can set such a status too, for its own copy only.
            Some(receipts) => receipts
                .into_iter()
                .find(|(by, _)| by == state.holder(&sender, seq))
                .map(|(_, receipt)| (receipt.status, receipt.by))?,
            // Its author is unknown.
            None => (status, None),
        };
        let by = by.map(|seq| format!(": replaced by #{seq}"));
        Some(format!("{}{}", status.as_str(), by.unwrap_or_default()))
    }

    /// The receipts that may close the message with this number, each with its author. `None` if they cannot be read.
    fn receipts(&self, seq: u64) -> Option<Vec<(Arc<str>, Receipt)>> {
        let state = self.state.as_ref()?;
        let places = self.relations()?.places(&[Relation::Concerned(seq)])?;
        let mut records = RecordReader::of(&self.room);
        let mut receipts = Vec::new();
        for place in places {
            let record = records.at(place).ok()??;
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
