//! The records of the log: one event for each line, and the chain of hashes.

use super::carried::{IncomingItem, OutgoingItem, StreamAcknowledgement};
pub use super::event::{
    AcceptedMessage, DuplicateMessage, Event, EventKind, FileRejection, MessageOrigin,
    MessageTimes, RecipientGroup, RouterAction, RouterNotice,
};
pub use super::head::MessageHead;
use super::id::{MAILBAG, tag_of};
pub use super::name::MessageName;
use crate::base::clock::Stamp;
use crate::base::error::Problem;
use crate::base::hash::{Hash, NO_HASH};
use crate::base::hex_hash;
pub use crate::features::Facts;
use crate::message::status::Receipt;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::sync::Arc;

/// One line of the log: a JSON object. `docs/protocol.md` has the table of its fields.
#[derive(Debug, Serialize, Deserialize)]
pub struct Record {
    /// The number of the line, from 1, over all segments.
    pub seq: u64,
    /// The accept time: RFC 3339, UTC, in microseconds, strictly increasing.
    pub at: String,
    /// The time that the machine's clock showed, if the accept time is ahead of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<String>,
    /// The number of its batch, from 1.
    pub batch: u64,
    /// SHA-256 of the previous line with its newline; 64 zeros in the first line.
    #[serde(with = "hex_hash")]
    pub prev: Hash,
    /// New statuses of copies, on the first record of a batch.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub receipts: Vec<Receipt>,
    /// Ranges of settled records, both ends included, on the first record of a batch.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settled: Vec<(u64, u64)>,
    /// The last items of this room that other rooms have committed, on the first record of a batch.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub acked: Vec<StreamAcknowledgement>,
    /// The items of links that it sends.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub carried: Vec<OutgoingItem>,
    /// The changes that the features make.
    #[serde(default, skip_serializing_if = "Facts::is_empty")]
    pub facts: Facts,
    /// The event.
    pub event: Event,
    /// On the last record of a batch: the number of records in the batch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
}

impl Record {
    /// A record of this event. The log adds number, time, batch and hash.
    pub fn new(event: Event) -> Record {
        Record {
            seq: 0,
            at: String::new(),
            clock: None,
            batch: 0,
            count: None,
            prev: NO_HASH,
            receipts: Vec::new(),
            settled: Vec::new(),
            acked: Vec::new(),
            carried: Vec::new(),
            facts: Facts::default(),
            event,
        }
    }

    /// The kind of the event.
    pub fn kind(&self) -> EventKind {
        match &self.event {
            Event::Room { .. } => EventKind::Room,
            Event::Accepted(_) => EventKind::Accepted,
            Event::Rejected(_) => EventKind::Rejected,
            Event::Duplicate(_) => EventKind::Duplicate,
            Event::Notice(_) => EventKind::Notice,
            Event::Receipts { .. } => EventKind::Receipts,
            Event::Settled {} => EventKind::Settled,
            Event::Gap { .. } => EventKind::Gap,
        }
    }

    /// The file that brought the message or the item.
    pub fn origin(&self) -> Option<&MessageOrigin> {
        match &self.event {
            Event::Accepted(accepted) => Some(&accepted.origin),
            Event::Rejected(rejected) => Some(&rejected.origin),
            Event::Duplicate(duplicate) => Some(&duplicate.origin),
            Event::Receipts { origin } => origin.as_deref(),
            _ => None,
        }
    }

    /// The same, to change it.
    pub fn origin_mut(&mut self) -> Option<&mut MessageOrigin> {
        match &mut self.event {
            Event::Accepted(accepted) => Some(&mut accepted.origin),
            Event::Rejected(rejected) => Some(&mut rejected.origin),
            Event::Duplicate(duplicate) => Some(&mut duplicate.origin),
            Event::Receipts { origin } => origin.as_deref_mut(),
            _ => None,
        }
    }

    /// The name of the picked-up file.
    pub fn claim(&self) -> Option<&str> {
        self.origin().map(|origin| origin.claim.as_str())
    }

    /// The item of a link that brought it.
    pub fn arrived(&self) -> Option<&IncomingItem> {
        self.origin()?.arrived.as_ref()
    }

    /// The name of the message.
    pub fn name(&self) -> Option<&MessageName> {
        match &self.event {
            Event::Accepted(accepted) => Some(&accepted.name),
            Event::Rejected(rejected) => Some(&rejected.name),
            Event::Duplicate(duplicate) => Some(&duplicate.name),
            Event::Notice(notice) => Some(&notice.name),
            _ => None,
        }
    }

    /// The sender of the message, or the person who accepted a gap.
    pub fn from(&self) -> Option<&Arc<str>> {
        match &self.event {
            Event::Gap { from, .. } => Some(from),
            _ => self.name().map(|name| &name.from),
        }
    }

    /// As [`Record::from`]; the router for all other records.
    pub fn sender(&self) -> &str {
        self.from().map_or(MAILBAG, |from| from)
    }

    /// The id of the message.
    pub fn id(&self) -> Option<&str> {
        self.name().map(|name| name.id.as_str())
    }

    /// The recipients.
    pub fn to(&self) -> &[RecipientGroup] {
        match &self.event {
            Event::Accepted(accepted) => &accepted.to,
            Event::Rejected(rejected) => &rejected.to,
            Event::Notice(notice) => &notice.to,
            _ => &[],
        }
    }

    /// The message, the bounce or the notice.
    pub fn message(&self) -> Option<&RawValue> {
        match &self.event {
            Event::Accepted(accepted) => Some(&accepted.message),
            Event::Rejected(rejected) => Some(&rejected.message),
            Event::Notice(notice) => Some(&notice.message),
            _ => None,
        }
    }

    /// The message, read into this type.
    pub fn message_as<T: DeserializeOwned>(&self) -> Option<T> {
        serde_json::from_str(self.message()?.get()).ok()
    }

    /// The fields of the message.
    pub fn message_fields(&self) -> Option<Map<String, Value>> {
        self.message_as()
    }

    /// The accepted message.
    pub fn accepted(&self) -> Option<&AcceptedMessage> {
        match &self.event {
            Event::Accepted(accepted) => Some(accepted),
            _ => None,
        }
    }

    /// The statuses that an accepted ack sets.
    pub fn ack(&self) -> &[Receipt] {
        match self.accepted().and_then(|accepted| accepted.act.as_ref()) {
            Some(RouterAction::Ack(receipts)) => receipts,
            _ => &[],
        }
    }

    /// The subject of a notice.
    pub fn about(&self) -> Option<&str> {
        match &self.event {
            Event::Notice(notice) => Some(&notice.about),
            _ => None,
        }
    }

    /// The reasons of a rejection.
    pub fn problems(&self) -> &[Problem] {
        match &self.event {
            Event::Rejected(rejected) => &rejected.problems,
            _ => &[],
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
        self.to()
            .iter()
            .flat_map(|group| group.agents.iter().map(|agent| (agent, group.via.as_str())))
    }

    /// Every recipient of this room that gets a copy, with the kind of address.
    pub fn copies(&self) -> impl Iterator<Item = (&Arc<str>, &str)> {
        self.recipients()
            .filter(|(agent, _)| tag_of(agent).is_none())
    }

    /// The channel of an accepted message. `None` for other records, and for a message to the router only.
    pub fn channel(&self) -> Option<Cow<'_, str>> {
        self.shown().map(|(channel, _)| channel)
    }

    /// As [`Record::channel`], with the message's type.
    pub fn shown(&self) -> Option<(Cow<'_, str>, Cow<'_, str>)> {
        self.head().and_then(MessageHead::shown)
    }

    /// The head of an accepted message. `None` for other records.
    pub fn head(&self) -> Option<MessageHead<'_>> {
        self.accepted()?;
        self.message_head()
    }

    /// The head of the message, which can be a notice of the router.
    pub fn message_head(&self) -> Option<MessageHead<'_>> {
        serde_json::from_str(self.message()?.get()).ok()
    }

    /// The line of this record, with its newline.
    pub fn line(&self) -> Vec<u8> {
        let mut line =
            serde_json::to_vec(self).expect("a record has no keys or numbers that JSON lacks");
        line.push(b'\n');
        line
    }

    /// Adds the number of records of a batch to the last of its lines.
    pub fn end_batch(lines: &mut Vec<u8>, count: usize) {
        lines.truncate(lines.len() - b"}\n".len());
        lines.extend(format!(",\"count\":{count}}}\n").bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::super::carried::LinkChange;
    use super::super::gap::LogGap;
    use super::*;

    fn accepted() -> AcceptedMessage {
        AcceptedMessage {
            origin: MessageOrigin {
                claim: "1~alice~a.json".into(),
                line: Some(2),
                arrived: None,
            },
            name: MessageName {
                from: "alice".into(),
                id: "m-1".into(),
                digest: [0xab; 32],
            },
            to: vec![RecipientGroup {
                via: "all".into(),
                agents: vec!["bob".into(), "carol".into()],
            }],
            times: MessageTimes::default(),
            act: Some(RouterAction::Subscribe("x".into())),
            delivery: Map::new(),
            message: RawValue::from_string(r#"{"n":12345678901234567890123}"#.into())
                .expect("JSON"),
        }
    }

    fn records() -> Vec<Record> {
        let gap = LogGap {
            from: 2,
            to: 3,
            evidence: Vec::new(),
        };
        let AcceptedMessage {
            origin,
            name,
            to,
            message,
            ..
        } = accepted();
        let notice = RouterNotice {
            name,
            about: "expired 3".into(),
            to,
            message,
        };
        [
            Event::Accepted(Box::new(accepted())),
            Event::Notice(Box::new(notice)),
            Event::Receipts { origin: None },
            Event::Receipts {
                origin: Some(Box::new(origin)),
            },
            Event::Settled {},
            Event::Gap {
                from: "human".into(),
                gap: Box::new(gap),
            },
            Event::Room {
                room: Some("r".into()),
            },
        ]
        .map(Record::new)
        .into()
    }

    #[test]
    fn a_record_line_reads_back_unchanged() {
        for record in records() {
            let line = record.line();
            let again: Record = serde_json::from_slice(&line).expect("its own line");
            assert_eq!(again.line(), line);
            assert_eq!(again.kind(), record.kind());
            let value: Value = serde_json::from_slice(&line).expect("JSON");
            let event: Vec<_> = value["event"]
                .as_object()
                .expect("one event")
                .keys()
                .collect();
            assert_eq!(event, [record.kind().as_str()]);
        }
    }

    #[test]
    fn a_message_its_recipients_and_its_facts_are_parts_of_the_line() {
        let mut record = Record::new(Event::Accepted(Box::new(accepted())));
        let link = "po".into();
        record.facts = Facts::from(LinkChange::Removed { link });
        let line = String::from_utf8(record.line()).expect("UTF-8");
        let facts = r#""facts":{"links":{"removed":{"link":"po"}}},"event":{"accepted":{"#;
        assert!(line.contains(facts), "{line}");
        assert!(line.ends_with("\"message\":{\"n\":12345678901234567890123}}}}\n"));
        let again: Record = serde_json::from_str(&line).expect("its own line");
        let recipients: Vec<String> = again
            .recipients()
            .map(|(agent, via)| format!("{agent} {via}"))
            .collect();
        assert_eq!(recipients, ["bob all", "carol all"]);
        assert_eq!(again.facts, record.facts);
    }

    #[test]
    fn a_line_without_a_required_field_is_not_a_record() {
        let line = Record::new(Event::Accepted(Box::new(accepted()))).line();
        let line: Value = serde_json::from_slice(&line).expect("JSON");
        for (place, field) in [
            ("/event/accepted/origin", "claim"),
            ("/event/accepted/name", "from"),
            ("/event/accepted/name", "id"),
            ("/event/accepted/name", "digest"),
            ("/event/accepted", "message"),
            ("", "prev"),
        ] {
            let mut without = line.clone();
            let holder = without.pointer_mut(place).and_then(Value::as_object_mut);
            holder.expect("an object").remove(field);
            let read = serde_json::from_value::<Record>(without);
            let why = read.expect_err("it lacks a field").to_string();
            assert!(why.contains(&format!("missing field `{field}`")), "{why}");
        }
    }

    #[test]
    fn a_reader_skips_the_facts_of_a_feature_that_it_does_not_know() {
        let line = Record::new(Event::Settled {}).line();
        let mut line: Value = serde_json::from_slice(&line).expect("JSON");
        line["facts"] = serde_json::json!({"later": {"n": 12345678901234567890123_f64}});
        let record: Record = serde_json::from_value(line).expect("a record");
        assert!(record.facts.is_empty());
    }
}
