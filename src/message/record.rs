//! The records of the log: their fields, and the chain of hashes.

use super::carried::{Acked, Arrived, Carried, Enclosed, LinkChange};
use super::gap::Gap;
use super::hash::{hex_hash, hex_hash_option};
pub use super::head::Head;
use super::id::tag_of;
use crate::base::clock::Stamp;
use crate::base::error::Problem;
use crate::base::hash::{Hash, NO_HASH};
use crate::message::claim::Change;
use crate::message::decision::Step;
use crate::message::status::Receipt;
use crate::message::waking::Waking;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::sync::Arc;

/// The kind of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Event {
    /// The start of the log, with the room's id.
    Room,
    /// A message was accepted, with its recipients.
    Accepted,
    /// A file was rejected. The message is the bounce to its sender.
    Rejected,
    /// A message came again with the same id and the same content.
    Duplicate,
    /// The router sent a message of its own.
    Notice,
    /// The router observed a new status of copies: they left their inbox, or they expired.
    Receipts,
    /// All copies of these records are durable in their inboxes, and their picked-up files are retired.
    Settled,
    /// A person accepted that the log lost records.
    Gap,
}

impl Event {
    /// The word in the log.
    pub fn as_str(self) -> &'static str {
        match self {
            Event::Room => "room",
            Event::Accepted => "accepted",
            Event::Rejected => "rejected",
            Event::Duplicate => "duplicate",
            Event::Notice => "notice",
            Event::Receipts => "receipts",
            Event::Settled => "settled",
            Event::Gap => "gap",
        }
    }
}

/// The recipients of one kind of address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    /// The kind of address: direct, alias, role, …
    pub via: String,
    /// Agent ids.
    pub agents: Vec<Arc<str>>,
}

/// The router's action for an accepted message, besides its delivery.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Act {
    /// The sender subscribes to this topic.
    Subscribe(String),
    /// The sender unsubscribes from this topic.
    Unsubscribe(String),
    /// A recipient, or for some statuses the sender, sets the status of copies.
    Ack(Vec<Receipt>),
}

/// One line of the log. The fields depend on the event; `docs/protocol.md` has the table.
#[derive(Debug, Serialize, Deserialize)]
pub struct Record {
    /// The number of the line, from 1, over all segments.
    pub seq: u64,
    /// The accept time: RFC 3339, UTC, in microseconds, strictly increasing.
    pub at: String,
    /// The time that the machine's clock showed, if the accept time is or was ahead of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<String>,
    /// The number of its batch, from 1.
    pub batch: u64,
    /// On the first record of a batch: the number of records in the batch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
    /// SHA-256 of the previous line with its newline; 64 zeros in the first line.
    #[serde(with = "hex_hash")]
    pub prev: Hash,
    /// The kind of the record.
    pub event: Event,
    /// The room's id (event `room`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub room: Option<String>,
    /// The picked-up file: a file name in `spool/claim`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<String>,
    /// The sender of the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Arc<str>>,
    /// The message's id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// SHA-256 of the message, from [`crate::message::Message::digest`].
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        with = "hex_hash_option"
    )]
    pub digest: Option<Hash>,
    /// The recipients.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub to: Vec<Group>,
    /// The line of the picked-up file, from 1, for a file with one message per line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// Do further lines of the picked-up file follow in a later batch? Set on the last record of the picked-up file in
    /// this batch.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub more: bool,
    /// The record that it answers, if its sender received a copy of that message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<u64>,
    /// The expiry time, RFC 3339, UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
    /// The time of the first notice about a missing answer, RFC 3339, UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_by: Option<String>,
    /// The time of the first notice about a missing acknowledgement, RFC 3339, UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ack_by: Option<String>,
    /// When its copies may be announced without request, RFC 3339, UTC. Mail of a loop is announced later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub announce_after: Option<String>,
    /// The router's action (types `subscribe`, `unsubscribe` and `ack`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub act: Option<Act>,
    /// The change of ownership that it makes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ownership: Option<Change>,
    /// What it changes about approvals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<Step>,
    /// The result of `ownership` or `decision`, as the copies report it in `delivery`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Value>,
    /// The earlier record with the same content (event `duplicate`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<u64>,
    /// The subject of a notice. Each subject is sent once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// The record of the rejection, for a message that was sent again; the first one after several rejections.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retries: Option<u64>,
    /// Why it was rejected.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<Problem>,
    /// New statuses of copies (event `receipts`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub receipts: Vec<Receipt>,
    /// Steps of wakes, on the first record of a batch.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wakes: Vec<Waking>,
    /// The agents whose failed wakes the human dismisses with this message.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dismissed: Vec<Arc<str>>,
    /// Ranges of settled records, both ends included.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settled: Vec<(u64, u64)>,
    /// The item of a link that brought it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrived: Option<Arrived>,
    /// The items of links that it sends.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub carried: Vec<Carried>,
    /// The texts of the attached files of a message that goes to another room.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub enclosed: Vec<Enclosed>,
    /// How far other rooms have committed what was sent to them, on the first record of a batch.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub acked: Vec<Acked>,
    /// The change of a link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<LinkChange>,
    /// The lost records (event `gap`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap: Option<Box<Gap>>,
    /// The complete message as accepted, or the bounce or notice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<Box<RawValue>>,
}

impl Record {
    /// An empty record of this event. The log adds number, time, batch and hash.
    pub fn new(event: Event) -> Record {
        Record {
            seq: 0,
            at: String::new(),
            clock: None,
            batch: 0,
            count: None,
            prev: NO_HASH,
            event,
            room: None,
            claim: None,
            from: None,
            id: None,
            digest: None,
            to: Vec::new(),
            line: None,
            more: false,
            answers: None,
            expires_at: None,
            answer_by: None,
            ack_by: None,
            announce_after: None,
            act: None,
            ownership: None,
            decision: None,
            outcome: None,
            of: None,
            about: None,
            retries: None,
            problems: Vec::new(),
            receipts: Vec::new(),
            wakes: Vec::new(),
            dismissed: Vec::new(),
            settled: Vec::new(),
            arrived: None,
            carried: Vec::new(),
            enclosed: Vec::new(),
            acked: Vec::new(),
            link: None,
            gap: None,
            message: None,
        }
    }

    /// The accept time.
    pub fn stamp(&self) -> Stamp {
        Stamp::parse(&self.at).unwrap_or_default()
    }

    /// The time that the machine's clock showed when the record was accepted at this time.
    pub fn time(&self, at: Stamp) -> Stamp {
        self.clock
            .as_deref()
            .and_then(Stamp::parse)
            .map_or(at, |clock| clock.min(at))
    }

    /// Every recipient with the kind of address.
    pub fn recipients(&self) -> impl Iterator<Item = (&Arc<str>, &str)> {
        self.to
            .iter()
            .flat_map(|group| group.agents.iter().map(|agent| (agent, group.via.as_str())))
    }

    /// Every recipient of this room that gets a copy, with the kind of address.
    pub fn copies(&self) -> impl Iterator<Item = (&Arc<str>, &str)> {
        let is_here = |(agent, _): &(&Arc<str>, &str)| tag_of(agent).is_none();
        self.recipients()
            .filter(move |copy| self.event != Event::Duplicate && is_here(copy))
    }

    /// The channel of an accepted message. `None` for other records, and for a message to the router only.
    pub fn channel(&self) -> Option<Cow<'_, str>> {
        self.shown().map(|(channel, _)| channel)
    }

    /// As [`Record::channel`], with the message's type.
    pub fn shown(&self) -> Option<(Cow<'_, str>, Cow<'_, str>)> {
        self.head().and_then(Head::shown)
    }

    /// The head of an accepted message. `None` for other records.
    pub fn head(&self) -> Option<Head<'_>> {
        let message = self
            .message
            .as_ref()
            .filter(|_| self.event == Event::Accepted)?;
        serde_json::from_str(message.get()).ok()
    }

    /// The line of this record, with its newline.
    pub fn line(&self) -> Vec<u8> {
        let mut line =
            serde_json::to_vec(self).expect("a record has no keys or numbers that JSON lacks");
        line.push(b'\n');
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_has_the_same_name_in_a_record_as_in_a_command() {
        use Event::*;
        let names = [
            "room",
            "accepted",
            "rejected",
            "duplicate",
            "notice",
            "receipts",
            "settled",
            "gap",
        ];
        for (event, name) in [
            Room, Accepted, Rejected, Duplicate, Notice, Receipts, Settled, Gap,
        ]
        .into_iter()
        .zip(names)
        {
            assert_eq!(event.as_str(), name);
            assert_eq!(
                serde_json::to_value(event).expect("a word"),
                name,
                "the name in a record"
            );
        }
    }

    #[test]
    fn a_line_reads_back_as_what_was_written() {
        let mut record = Record::new(Event::Accepted);
        record.seq = 7;
        record.digest = Some([0xab; 32]);
        record.to = vec![Group {
            via: "all".into(),
            agents: vec!["bob".into(), "carol".into()],
        }];
        record.message = RawValue::from_string(r#"{"n":12345678901234567890123}"#.into()).ok();
        let line = record.line();
        let again: Record = serde_json::from_slice(&line).expect("its own line");
        assert_eq!(again.line(), line);
        assert_eq!(
            again
                .recipients()
                .map(|(agent, via)| format!("{agent} {via}"))
                .collect::<Vec<_>>(),
            ["bob all", "carol all"]
        );
    }
}
