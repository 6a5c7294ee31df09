//! Reads a line of the log: sorts its fields into the record and its event.

use super::carried::{Acked, Arrived, Carried, Enclosed, LinkChange};
use super::claim::Change;
use super::decision::Step;
use super::event::{
    Accepted, Act, Duplicate, Event, EventKind, Fact, Group, MessageName, Notice, Origin, Rejected,
    Times,
};
use super::gap::Gap;
use super::hash::{hex_hash, hex_hash_option};
use super::status::Receipt;
use super::waking::Waking;
use crate::base::error::Problem;
use crate::base::hash::Hash;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::sync::Arc;

/// The fields of a line, before they are sorted into the event. Serde cannot read an enum that contains raw JSON.
#[derive(Deserialize)]
pub(super) struct Fields {
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
    #[serde(default)]
    more: bool,
    retries: Option<u64>,
    arrived: Option<Arrived>,
    from: Option<Arc<str>>,
    id: Option<String>,
    #[serde(default, deserialize_with = "hex_hash_option::deserialize")]
    digest: Option<Hash>,
    #[serde(default)]
    to: Vec<Group>,
    answers: Option<u64>,
    expires_at: Option<String>,
    answer_by: Option<String>,
    ack_by: Option<String>,
    announce_after: Option<String>,
    act: Option<Act>,
    ownership: Option<Change>,
    decision: Option<Step>,
    link: Option<LinkChange>,
    outcome: Option<Value>,
    #[serde(default)]
    dismissed: Vec<Arc<str>>,
    #[serde(default)]
    enclosed: Vec<Enclosed>,
    of: Option<u64>,
    about: Option<String>,
    #[serde(default)]
    problems: Vec<Problem>,
    gap: Option<Box<Gap>>,
    message: Option<Box<RawValue>>,
    #[serde(default)]
    pub(super) receipts: Vec<Receipt>,
    #[serde(default)]
    pub(super) wakes: Vec<Waking>,
    #[serde(default)]
    pub(super) settled: Vec<(u64, u64)>,
    #[serde(default)]
    pub(super) acked: Vec<Acked>,
    #[serde(default)]
    pub(super) carried: Vec<Carried>,
}

impl Fields {
    /// Takes the fields of the event. Fails if the event needs a field that the line does not have.
    pub(super) fn take_event(&mut self) -> Result<Event, String> {
        Ok(match self.event {
            EventKind::Room => Event::Room {
                room: self.room.take(),
            },
            EventKind::Accepted => Event::Accepted(Box::new(Accepted {
                origin: self.take_origin()?,
                name: self.take_name()?,
                to: std::mem::take(&mut self.to),
                answers: self.answers,
                times: Times {
                    expires_at: self.expires_at.take(),
                    answer_by: self.answer_by.take(),
                    ack_by: self.ack_by.take(),
                    announce_after: self.announce_after.take(),
                },
                act: self.act.take(),
                fact: self.take_fact()?,
                outcome: self.outcome.take(),
                dismissed: std::mem::take(&mut self.dismissed),
                enclosed: std::mem::take(&mut self.enclosed),
                message: need("message", self.message.take())?,
            })),
            EventKind::Rejected => Event::Rejected(Box::new(Rejected {
                origin: self.take_origin()?,
                name: self.take_name()?,
                to: std::mem::take(&mut self.to),
                problems: std::mem::take(&mut self.problems),
                message: need("message", self.message.take())?,
            })),
            EventKind::Duplicate => Event::Duplicate(Box::new(Duplicate {
                origin: self.take_origin()?,
                name: self.take_name()?,
                of: need("of", self.of)?,
            })),
            EventKind::Notice => Event::Notice(Box::new(Notice {
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

    fn take_origin(&mut self) -> Result<Origin, String> {
        Ok(Origin {
            claim: need("claim", self.claim.take())?,
            line: self.line,
            more: self.more,
            retries: self.retries,
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

    fn take_fact(&mut self) -> Result<Option<Fact>, String> {
        match (
            self.ownership.take(),
            self.decision.take(),
            self.link.take(),
        ) {
            (None, None, None) => Ok(None),
            (Some(change), None, None) => Ok(Some(Fact::Ownership(change))),
            (None, Some(step), None) => Ok(Some(Fact::Decision(step))),
            (None, None, Some(change)) => Ok(Some(Fact::Link(change))),
            _ => Err("more than one of `ownership`, `decision` and `link`".into()),
        }
    }
}

fn need<T>(field: &str, value: Option<T>) -> Result<T, String> {
    value.ok_or_else(|| format!("missing field `{field}`"))
}
