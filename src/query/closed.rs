//! How messages were closed by their senders, for programs that show them again.

use crate::log::RecordReader;
use crate::log::lookup::LoggedMessage;
use crate::log::state::{self, Relation, Relations, RoomState};
use crate::message::status::CopyStatus;
use crate::room::Room;

/// The messages of a room that were withdrawn or superseded.
pub struct ClosedMessages {
    room: Room,
    state: Option<RoomState>,
}

impl ClosedMessages {
    /// Reads the state of the room. A log that cannot be read closes no message.
    pub fn of(room: &Room) -> ClosedMessages {
        ClosedMessages {
            room: room.clone(),
            state: state::committed(&room.dir).ok(),
        }
    }

    /// Notes in these messages how they were closed.
    pub fn note<'m>(&self, messages: impl IntoIterator<Item = &'m mut LoggedMessage>) {
        let Some(state) = &self.state else { return };
        for past in messages {
            let recipients = past.recipients.iter();
            let statuses = recipients
                .filter_map(|agent| state.mailboxes.status(state.holder(agent), past.seq));
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
        let status = statuses.find(|status| status.is_set_by_sender())?;
        let by = match status {
            CopyStatus::Superseded => replacement(&self.room, state, seq),
            _ => None,
        };
        let by = by.map(|seq| format!(": replaced by #{seq}"));
        Some(format!("{}{}", status.as_str(), by.unwrap_or_default()))
    }
}

/// The record of the message that supersedes this one, if its ack names one.
fn replacement(room: &Room, state: &RoomState, seq: u64) -> Option<u64> {
    let relations = Relations::open(&room.dir, state)?;
    let places = relations.places(&[Relation::Concerned(seq)])?;
    let mut records = RecordReader::of(&room.dir);
    for place in places {
        let Ok(Some(record)) = records.at(place) else {
            continue;
        };
        let mut receipts = record.ack().iter();
        if let Some(receipt) = receipts.find(|one| one.by.is_some() && one.seqs.contains(&seq)) {
            return receipt.by;
        }
    }
    None
}
