//! Reads a line of the log: sorts its fields into the record and its event.

use super::carried::{EnclosedFile, IncomingItem, LinkChange, OutgoingItem, StreamAcknowledgement};
use super::claim::ClaimChange;
use super::decision::ApprovalChange;
use super::event::{
    AcceptedMessage, DuplicateMessage, Event, EventKind, FileRejection, MessageOrigin,
    MessageTimes, RecipientGroup, RecordedChange, RouterAction, RouterNotice,
};
use super::gap::LogGap;
use super::name::MessageName;
use super::status::Receipt;
use crate::base::error::Problem;
use crate::base::hash::Hash;
use crate::base::hex_hash;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::sync::Arc;

/// The fields of a line, before they are sorted into the event. Serde cannot read an enum that contains raw JSON.
#[derive(Deserialize)]
pub(super) struct RecordFields {
    pub(super) seq: u64,
    pub(super) at: String,
    pub(super) clock: Option<String>,
    pub(super) batch: u64,
    pub(super) count: Option<u32>,
    #[serde(with = "hex_hash")]
    pub(super) prev: Hash,
    event: EventKind,
    room: Option<String>,
    claim: Option<String>,
    line: Option<u32>,
    arrived: Option<IncomingItem>,
    from: Option<Arc<str>>,
    id: Option<String>,
    #[serde(default, deserialize_with = "hex_hash::deserialize_option")]
    digest: Option<Hash>,
    #[serde(default)]
    to: Vec<RecipientGroup>,
    answers: Option<u64>,
    expires_at: Option<String>,
    answer_by: Option<String>,
    ack_by: Option<String>,
    announce_after: Option<String>,
    act: Option<RouterAction>,
    ownership: Option<ClaimChange>,
    decision: Option<ApprovalChange>,
    link: Option<LinkChange>,
    outcome: Option<Value>,
    #[serde(default)]
    enclosed: Vec<EnclosedFile>,
    of: Option<u64>,
    about: Option<String>,
    #[serde(default)]
    problems: Vec<Problem>,
    gap: Option<Box<LogGap>>,
    message: Option<Box<RawValue>>,
    #[serde(default)]
    pub(super) receipts: Vec<Receipt>,
    #[serde(default)]
    pub(super) settled: Vec<(u64, u64)>,
    #[serde(default)]
    pub(super) acked: Vec<StreamAcknowledgement>,
    #[serde(default)]
    pub(super) carried: Vec<OutgoingItem>,
}

impl RecordFields {
    /// Takes the fields of the event. Fails if the event needs a field that the line does not have.
    pub(super) fn take_event(&mut self) -> Result<Event, String> {
        Ok(match self.event {
            EventKind::Room => Event::Room {
                room: self.room.take(),
            },
            EventKind::Accepted => Event::Accepted(Box::new(AcceptedMessage {
                origin: self.take_origin()?,
                name: self.take_name()?,
                to: std::mem::take(&mut self.to),
                answers: self.answers,
                times: MessageTimes {
                    expires_at: self.expires_at.take(),
                    answer_by: self.answer_by.take(),
                    ack_by: self.ack_by.take(),
                    announce_after: self.announce_after.take(),
                },
                act: self.act.take(),
                fact: self.take_fact()?,
                outcome: self.outcome.take(),
                enclosed: std::mem::take(&mut self.enclosed),
                message: need("message", self.message.take())?,
            })),
            EventKind::Rejected => Event::Rejected(Box::new(FileRejection {
                origin: self.take_origin()?,
                name: self.take_name()?,
                to: std::mem::take(&mut self.to),
                problems: std::mem::take(&mut self.problems),
                message: need("message", self.message.take())?,
            })),
            EventKind::Duplicate => Event::Duplicate(Box::new(DuplicateMessage {
                origin: self.take_origin()?,
                name: self.take_name()?,
                of: need("of", self.of)?,
            })),
            EventKind::Notice => Event::Notice(Box::new(RouterNotice {
                name: self.take_name()?,
                about: need("about", self.about.take())?,
                to: std::mem::take(&mut self.to),
                fact: self.take_fact()?,
                message: need("message", self.message.take())?,
            })),
            EventKind::Receipts if self.claim.is_none() => Event::Receipts { origin: None },
            EventKind::Receipts => Event::Receipts {
                origin: Some(Box::new(self.take_origin()?)),
            },
            EventKind::Settled => Event::Settled,
            EventKind::Gap => Event::Gap {
                from: need("from", self.from.take())?,
                gap: need("gap", self.gap.take())?,
            },
        })
    }

    fn take_origin(&mut self) -> Result<MessageOrigin, String> {
        Ok(MessageOrigin {
            claim: need("claim", self.claim.take())?,
            line: self.line,
            arrived: self.arrived.take(),
        })
    }

    fn take_name(&mut self) -> Result<MessageName, String> {
        Ok(MessageName {
            from: need("from", self.from.take())?,
            id: need("id", self.id.take())?,
            digest: need("digest", self.digest)?,
        })
    }

    fn take_fact(&mut self) -> Result<Option<RecordedChange>, String> {
        match (
            self.ownership.take(),
            self.decision.take(),
            self.link.take(),
        ) {
            (None, None, None) => Ok(None),
            (Some(change), None, None) => Ok(Some(RecordedChange::Ownership(change))),
            (None, Some(step), None) => Ok(Some(RecordedChange::Decision(step))),
            (None, None, Some(change)) => Ok(Some(RecordedChange::Link(change))),
            _ => Err("more than one of `ownership`, `decision` and `link`".into()),
        }
    }
}

fn need<T>(field: &str, value: Option<T>) -> Result<T, String> {
    value.ok_or_else(|| format!("missing field `{field}`"))
}
