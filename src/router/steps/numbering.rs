//! The items that records send by links.

use crate::base::hash::Hash;
use crate::base::limits;
use crate::base::test_sizes;
use crate::features::links::item as link;
use crate::log::state::RoomState;
use crate::message::carried::{LinkChange, OutgoingItem, RemoteReceipt};
use crate::message::id;
use crate::message::record::{EventKind, Record};
use crate::message::status::CopyStatus;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// The number of receipts that go without waiting for another item of their link.
const RECEIPTS_TOGETHER: usize = 1_000;
const _: () = assert!(RECEIPTS_TOGETHER <= limits::RECEIPTS_OF_ITEM);

/// Receipts for one room, by status and agent.
type LinkReceipts = BTreeMap<(u8, Arc<str>), RemoteReceipt>;

/// Receipts for other rooms. To save items, they go with the next message for their room, or at the end of the batch.
#[derive(Default)]
pub(super) struct HeldReceipts(BTreeMap<Arc<str>, LinkReceipts>);

/// The positions in the streams to other rooms after the items of the present record.
struct OutgoingPositions<'a> {
    state: &'a RoomState,
    at: HashMap<Arc<str>, (Arc<str>, u64, Hash)>,
}

impl HeldReceipts {
    /// Adds the items of a record.
    pub(super) fn number(
        &mut self,
        state: &RoomState,
        record: &mut Record,
        fields: Option<&Map<String, Value>>,
    ) {
        if let Some(LinkChange::Removed { link }) = &record.facts.links {
            self.0.remove(link);
        }
        self.hold(state, record);
        let full = self.0.iter().filter(|(_, held)| {
            let seqs = held.values().map(|receipt| receipt.seqs.len());
            seqs.sum::<usize>() >= RECEIPTS_TOGETHER
        });
        let mut tags: BTreeSet<Arc<str>> = full.map(|(tag, _)| tag.clone()).collect();
        tags.extend(sent_to(record));
        self.carry(tags, &mut OutgoingPositions::new(state), record, fields);
    }

    /// Returns true if no receipt waits for an item.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds items with all receipts to the last record of a batch.
    pub(super) fn flush(&mut self, state: &RoomState, record: &mut Record) {
        let tags = self.0.keys().cloned().collect();
        self.carry(tags, &mut OutgoingPositions::new(state), record, None);
    }

    fn carry(
        &mut self,
        tags: BTreeSet<Arc<str>>,
        streams: &mut OutgoingPositions<'_>,
        record: &mut Record,
        fields: Option<&Map<String, Value>>,
    ) {
        for tag in tags {
            let receipts = self.0.remove(&tag).unwrap_or_default();
            let mut parts = split(
                receipts.into_values().collect(),
                test_sizes::receipts_of_item(),
            );
            let last = parts.pop().unwrap_or_default();
            for part in parts {
                let alone = streams.carry(tag.clone(), part, |carried| {
                    carried.alone = true;
                    link::digest(record, fields, carried)
                });
                record.carried.push(alone);
            }
            let carried = streams.carry(tag, last, |carried| link::digest(record, fields, carried));
            record.carried.push(carried);
        }
    }

    /// Holds the receipts of a record.
    fn hold(&mut self, state: &RoomState, record: &Record) {
        if let Some(arrived) = record.arrived()
            && record.kind() == EventKind::Accepted
        {
            for (agent, _) in record.copies() {
                self.add(&arrived.link, CopyStatus::Accepted, agent, arrived.seq);
            }
        }
        let receipts = record.receipts.iter().chain(record.ack());
        // The other room need not know that a reader moved its copy back.
        for receipt in receipts.filter(|one| one.status != CopyStatus::Delivered) {
            for &seq in &receipt.seqs {
                let mut links = state.links.iter();
                if let Some((tag, origin)) =
                    links.find_map(|(tag, link)| Some((tag, link.origin(seq)?)))
                {
                    self.add(tag, receipt.status, &receipt.agent, origin);
                }
            }
        }
    }

    fn add(&mut self, tag: &Arc<str>, status: CopyStatus, agent: &Arc<str>, seq: u64) {
        let held = self.0.entry(tag.clone()).or_default();
        let receipt = held
            .entry((status as u8, agent.clone()))
            .or_insert_with(|| RemoteReceipt {
                status,
                agent: agent.clone(),
                seqs: Vec::new(),
            });
        receipt.seqs.push(seq);
    }
}

/// The links that a record has items for, besides receipts.
fn sent_to(record: &Record) -> impl Iterator<Item = Arc<str>> {
    let mut tags = link::tags(record);
    if record.kind() == EventKind::Duplicate {
        tags.clear();
    }
    tags.into_iter()
}

/// Splits receipts for several items, so that each item is small enough for a carrier. The last part is for the item
/// of the message.
fn split(receipts: Vec<RemoteReceipt>, most: usize) -> Vec<Vec<RemoteReceipt>> {
    let (mut parts, mut part, mut count) = (Vec::new(), Vec::new(), 0);
    for RemoteReceipt {
        status,
        agent,
        seqs,
    } in receipts
    {
        for seqs in seqs.chunks(most) {
            count += seqs.len();
            if count > most {
                parts.push(std::mem::take(&mut part));
                count = seqs.len();
            }
            part.push(RemoteReceipt {
                status,
                agent: agent.clone(),
                seqs: seqs.to_vec(),
            });
        }
    }
    parts.push(part);
    parts
}

impl<'a> OutgoingPositions<'a> {
    fn new(state: &'a RoomState) -> OutgoingPositions<'a> {
        OutgoingPositions {
            state,
            at: HashMap::new(),
        }
    }

    fn carry(
        &mut self,
        tag: Arc<str>,
        receipts: Vec<RemoteReceipt>,
        digest: impl FnOnce(&mut OutgoingItem) -> Hash,
    ) -> OutgoingItem {
        let state = self.state;
        let (stream, n, prev) =
            self.at
                .remove(&tag)
                .unwrap_or_else(|| match state.links.out(&tag) {
                    Some(out) => (out.stream.clone(), out.n, out.digest),
                    None => (id::mint().into(), 0, link::FIRST),
                });
        let mut carried = OutgoingItem {
            link: tag.clone(),
            stream,
            n: n + 1,
            prev,
            digest: link::FIRST,
            receipts,
            alone: false,
        };
        carried.digest = digest(&mut carried);
        self.at
            .insert(tag, (carried.stream.clone(), carried.n, carried.digest));
        carried
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_receipts_are_in_several_items_and_none_is_lost() {
        let all = [("a", 2), ("b", 21), ("c", 1)].map(|(agent, count)| RemoteReceipt {
            status: CopyStatus::Seen,
            agent: agent.into(),
            seqs: (0..count).collect(),
        });
        let parts = split(all.into(), 10);
        let counts: Vec<usize> = parts
            .iter()
            .map(|part| part.iter().map(|receipt| receipt.seqs.len()).sum())
            .collect();
        assert_eq!(counts, [2, 10, 10, 2]);
        assert_eq!(
            split(Vec::new(), 10),
            [Vec::new()],
            "an item without receipts"
        );
    }
}
