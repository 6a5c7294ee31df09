//! The entries of a record: the properties that find it.

use super::index_file::IndexEntry;
use crate::base::hash::short_hash;
use crate::log::state::LINK_REMOVED;
use crate::message::ConversationKeys;
use crate::message::record::{EventKind, MessageHead, Record};
use crate::message::reference::bare;
use serde_json::Value;
use std::ops::RangeInclusive;

/// A property that finds records.
#[derive(Debug, Clone, Copy)]
pub enum IndexKey<'a> {
    /// The sender and the id of its message.
    Name(&'a str, &'a str),
    /// The id of its message.
    Id(&'a str),
    /// The thread id of its message.
    Thread(&'a str),
    /// The id or the number of the message that it answers.
    Answered(&'a str),
    /// The number of a message with a receipt or a notice in it.
    Concerned(u64),
    /// The file in `spool/claim` that it was made from.
    Claim(&'a str),
    /// It renames an agent.
    Rename,
}

impl IndexKey<'_> {
    /// The hashes that the property can have.
    pub(super) fn hashes(self) -> RangeInclusive<u64> {
        let one = |hash| hash..=hash;
        match self {
            // The first half is the id, so one entry finds a message by its id with or without its sender.
            IndexKey::Name(sender, id) => one(id_half(id) | short_hash("from", sender) >> 32),
            IndexKey::Id(id) => id_half(id)..=id_half(id) | u64::from(u32::MAX),
            IndexKey::Thread(thread) => one(short_hash("thread", thread)),
            IndexKey::Answered(name) => one(short_hash("answered", name)),
            IndexKey::Concerned(seq) => one(short_hash("concerned", &seq.to_string())),
            IndexKey::Claim(claim) => one(short_hash("claim", claim)),
            IndexKey::Rename => one(short_hash("rename", "")),
        }
    }
}

fn id_half(id: &str) -> u64 {
    short_hash("id", id) & !u64::from(u32::MAX)
}

/// The numbers of the messages in a notice that they were not delivered, because their link was removed.
pub fn undelivered(record: &Record) -> Vec<u64> {
    let about = record.about().and_then(|about| about.split_once(' '));
    if about.is_none_or(|(what, _)| what != LINK_REMOVED) {
        return Vec::new();
    }
    let fields = record.message_fields();
    let seqs = fields
        .as_ref()
        .and_then(|fields| fields.get("metadata")?.get("seqs")?.as_array());
    let numbers = seqs.into_iter().flatten().filter_map(Value::as_u64);
    numbers.collect()
}

/// The entries of a record. `head` is the head of its message, if it was read before.
pub(super) fn entries_of(record: &Record, head: Option<&MessageHead<'_>>) -> Vec<IndexEntry> {
    let mut entries = Vec::new();
    let mut add = |key: IndexKey<'_>| entries.push((*key.hashes().start(), record.seq));
    let receipts = record.receipts.iter().chain(record.ack());
    let arrived = record.arrived().into_iter();
    let arrived = arrived.flat_map(|arrived| &arrived.receipts);
    let about = record.about().and_then(|about| about.split_once(' '));
    let concerned = receipts
        .flat_map(|receipt| &receipt.seqs)
        .chain(arrived.flat_map(|receipt| &receipt.seqs))
        .copied()
        .chain(about.and_then(|(_, seq)| seq.parse::<u64>().ok()))
        .chain(undelivered(record));
    for seq in concerned {
        add(IndexKey::Concerned(seq));
    }
    if (record.facts.claims.as_ref()).is_some_and(|change| change.renaming().is_some()) {
        add(IndexKey::Rename);
    }
    if let Some(claim) = record.claim() {
        add(IndexKey::Claim(claim));
    }
    if let Some(answers) = record.facts.answered() {
        add(IndexKey::Answered(&answers.to_string()));
    }
    // A repeated message is found by the first one.
    if let Some(name) = record.name()
        && record.kind() != EventKind::Duplicate
    {
        add(IndexKey::Name(&name.from, &name.id));
    }
    let shares = match head {
        Some(head) => head.shares(),
        None => record
            .message_head()
            .map_or_else(ConversationKeys::default, |head| head.shares()),
    };
    if let Some(thread) = &shares.thread {
        add(IndexKey::Thread(thread));
    }
    if let Some(answered) = &shares.correlation {
        add(IndexKey::Answered(bare(answered)));
    }
    entries
}
