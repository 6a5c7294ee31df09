//! The numbers of the items that a batch sends by links, in step 7, when all records of the batch are known.

use super::batch_message::ResentItem;
use super::stage;
use crate::base::error::Result;
use crate::base::hash::Hash;
use crate::base::limits;
use crate::base::test_sizes;
use crate::disk::Dir;
use crate::log;
use crate::log::state::RoomState;
use crate::message::id;
use crate::message::link::{self, LinkChange, OutgoingItem, RemoteReceipt};
use crate::message::record::{EventKind, Record};
use crate::message::status::{CopyStatus, Receipt};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// The number of receipts above which an item takes no receipts of further records.
const RECEIPTS_TOGETHER: usize = 1_000;
const _: () = assert!(RECEIPTS_TOGETHER <= limits::RECEIPTS_OF_ITEM);

/// Receipts by the link to their room.
type LinkReceipts = BTreeMap<Arc<str>, Vec<RemoteReceipt>>;

/// The positions in the streams to other rooms after the earlier records.
struct OutgoingPositions<'a> {
    state: &'a RoomState,
    at: HashMap<Arc<str>, (Arc<str>, u64, Hash)>,
    /// The messages of this batch that arrived by links, with the link and the number there.
    arrived: BTreeMap<u64, (Arc<str>, u64)>,
}

/// Numbers the items of a batch, in the order of its records.
pub(super) fn number(
    room: &Dir,
    state: &RoomState,
    entries: &mut [stage::StagedRecord],
) -> Result<()> {
    let mut streams = OutgoingPositions {
        state,
        at: HashMap::new(),
        arrived: BTreeMap::new(),
    };
    let mut receipts = streams.receipts_of(entries);
    for (entry, receipts) in entries.iter_mut().zip(&mut receipts) {
        let stage::StagedRecord {
            record,
            message,
            again,
            ..
        } = entry;
        if let Some(LinkChange::Rebound { link } | LinkChange::Removed { link }) = record.link() {
            streams.begin(link);
        }
        record.carried.extend(streams.send_again(room, again)?);
        let mut tags: BTreeSet<Arc<str>> = receipts.keys().cloned().collect();
        tags.extend(sent_to(record));
        if tags.is_empty() {
            continue;
        }
        let parsed = if message.is_none() {
            record.message_fields()
        } else {
            None
        };
        let fields = message
            .as_ref()
            .map(|message| message.fields())
            .or(parsed.as_ref());
        for tag in tags {
            let mut parts = split(
                receipts.remove(&tag).unwrap_or_default(),
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
    Ok(())
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

impl OutgoingPositions<'_> {
    /// Begins a new stream.
    fn begin(&mut self, link: &Arc<str>) {
        self.at
            .insert(link.clone(), (id::mint().into(), 0, link::FIRST));
    }

    fn send_again(&mut self, room: &Dir, again: &[ResentItem]) -> Result<Vec<OutgoingItem>> {
        let mut carried = Vec::with_capacity(again.len());
        for ResentItem {
            link,
            place,
            receipts,
            alone,
        } in again
        {
            let Some(record) = log::read_record(room, *place)? else {
                tracing::warn!(
                    "link {link}: an item is not sent again, because its record is no longer in the archive"
                );
                continue;
            };
            let fields = record.message_fields();
            let one = self.carry(link.clone(), receipts.clone(), |carried| {
                (carried.again, carried.alone) = (Some((place.segment, place.offset)), *alone);
                link::digest(&record, fields.as_ref(), carried)
            });
            carried.push(one);
        }
        Ok(carried)
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
            again: None,
        };
        carried.digest = digest(&mut carried);
        self.at
            .insert(tag, (carried.stream.clone(), carried.n, carried.digest));
        carried
    }

    /// The receipts of each record for other rooms. To save items, the last record with an item for a room has the
    /// receipts of all records before it.
    fn receipts_of(&mut self, entries: &[stage::StagedRecord]) -> Vec<LinkReceipts> {
        let mut all: Vec<LinkReceipts> = entries
            .iter()
            .map(|entry| self.receipts(&entry.record))
            .collect();
        let mut last: BTreeMap<Arc<str>, usize> = BTreeMap::new();
        for (at, (entry, receipts)) in entries.iter().zip(&all).enumerate() {
            last.extend(
                receipts
                    .keys()
                    .cloned()
                    .chain(sent_to(&entry.record))
                    .map(|tag| (tag, at)),
            );
        }
        for (tag, last) in last {
            let (mut held, mut count) = (BTreeMap::<(u8, Arc<str>), RemoteReceipt>::new(), 0);
            for (at, receipts) in all.iter_mut().enumerate().take(last + 1) {
                for receipt in receipts.remove(&tag).into_iter().flatten() {
                    count += receipt.seqs.len();
                    match held.entry((receipt.status as u8, receipt.agent.clone())) {
                        Entry::Occupied(mut known) => known.get_mut().seqs.extend(receipt.seqs),
                        Entry::Vacant(new) => {
                            new.insert(receipt);
                        }
                    }
                }
                if count >= RECEIPTS_TOGETHER || at == last && count > 0 {
                    receipts.insert(
                        tag.clone(),
                        std::mem::take(&mut held).into_values().collect(),
                    );
                    count = 0;
                }
            }
        }
        all
    }

    /// The receipts of this record for other rooms.
    fn receipts(&mut self, record: &Record) -> LinkReceipts {
        let mut receipts = LinkReceipts::new();
        if let Some(arrived) = record.arrived()
            && record.kind() == EventKind::Accepted
        {
            self.arrived
                .insert(record.seq, (arrived.link.clone(), arrived.seq));
            let accepted = record.copies().map(|(agent, _)| RemoteReceipt {
                status: CopyStatus::Accepted,
                agent: agent.clone(),
                seqs: vec![arrived.seq],
            });
            receipts
                .entry(arrived.link.clone())
                .or_default()
                .extend(accepted);
        }
        for Receipt {
            status,
            agent,
            seqs,
            ..
        } in record.receipts.iter().chain(record.ack())
        {
            let mut by_link: BTreeMap<Arc<str>, Vec<u64>> = BTreeMap::new();
            for (tag, origin) in seqs.iter().filter_map(|seq| self.origin(*seq)) {
                by_link.entry(tag).or_default().push(origin);
            }
            for (tag, seqs) in by_link {
                receipts.entry(tag).or_default().push(RemoteReceipt {
                    status: *status,
                    agent: agent.clone(),
                    seqs,
                });
            }
        }
        receipts
    }

    fn origin(&self, seq: u64) -> Option<(Arc<str>, u64)> {
        self.arrived.get(&seq).cloned().or_else(|| {
            let mut links = self.state.links.iter();
            links.find_map(|(tag, link)| Some((tag.clone(), link.origin(seq)?)))
        })
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
