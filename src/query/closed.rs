//! How messages were closed by their senders, for programs that show them again.

use crate::log::RecordReader;
use crate::log::lookup::LoggedMessage;
use crate::log::state::{self, Relation, Relations, RoomState};
use crate::message::status::CopyStatus;
use crate::room::Room;
use std::cell::OnceCell;

/// The messages of a room that were withdrawn or superseded.
pub struct ClosedMessages<'a> {
    room: &'a Room,
    state: &'a RoomState,
    /// Opened for the first superseded message.
    relations: OnceCell<Option<Relations<'a>>>,
}

/// The state for [`ClosedMessages`]. If the log cannot be read, there is none, and no message is shown as closed.
pub fn readable_state(room: &Room) -> Option<RoomState> {
    state::committed(&room.dir).ok()
}

impl<'a> ClosedMessages<'a> {
    /// The closed messages of a state of the room.
    pub fn new(room: &'a Room, state: &'a RoomState) -> ClosedMessages<'a> {
        ClosedMessages {
            room,
            state,
            relations: OnceCell::new(),
        }
    }

    /// Notes in a message how it was closed.
    pub fn note(&self, past: &mut LoggedMessage) {
        let recipients = past.recipients.iter();
        let statuses = recipients.filter_map(|agent| {
            let agent = self.state.holder(agent);
            self.state.mailboxes.status(agent, past.seq)
        });
        past.closed = self.closed(past.seq, statuses);
    }

    /// How the message with this number was closed. Looks at all agents.
    pub fn by_number(&self, seq: u64) -> Option<String> {
        self.closed(seq, self.state.mailboxes.statuses(seq))
    }

    fn closed(&self, seq: u64, mut statuses: impl Iterator<Item = CopyStatus>) -> Option<String> {
        let status = statuses.find(|status| status.is_set_by_sender())?;
        let by = match status {
            CopyStatus::Superseded => self.replacement(seq),
            _ => None,
        };
        let by = by.map(|seq| format!(": replaced by #{seq}"));
        Some(format!("{}{}", status.as_str(), by.unwrap_or_default()))
    }

    /// The record of the message that supersedes this one, if its ack names one.
    fn replacement(&self, seq: u64) -> Option<u64> {
        let room = &self.room.dir;
        let relations = self
            .relations
            .get_or_init(|| Relations::open(room, self.state));
        let places = relations.as_ref()?.places(&[Relation::Concerned(seq)])?;
        let mut records = RecordReader::of(room);
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
