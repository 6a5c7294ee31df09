//! The items that a batch sends by links, each with its number, in step 7: when nothing of the batch can be left out any
//! more.

use super::letter::Again;
use super::stage;
use crate::base::error::Result;
use crate::base::hash::Hash;
use crate::base::limits;
use crate::disk::{Dir, failpoint};
use crate::log;
use crate::log::state::State;
use crate::message::id;
use crate::message::link::{self, Carried, FarReceipt, LinkChange};
use crate::message::record::{EventKind, Record};
use crate::message::status::{Receipt, Status};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// Receipts, by the link to the room that they are for.
type Told = BTreeMap<Arc<str>, Vec<FarReceipt>>;

/// Where the streams to other rooms are with the records before.
struct Streams<'a> {
    state: &'a State,
    at: HashMap<Arc<str>, (Arc<str>, u64, Hash)>,
    /// The messages of this batch that came by links: the link, and the number there.
    came: BTreeMap<u64, (Arc<str>, u64)>,
}

/// Numbers the items of a batch, in the order of its records.
pub(super) fn number(room: &Dir, state: &State, entries: &mut [stage::Entry]) -> Result<()> {
    let mut streams = Streams {
        state,
        at: HashMap::new(),
        came: BTreeMap::new(),
    };
    let mut receipts = streams.receipts_of(entries);
    for (
        stage::Entry {
            record,
            message,
            again,
            ..
        },
        receipts,
    ) in entries.iter_mut().zip(&mut receipts)
    {
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
            let mut parts = in_parts(
                receipts.remove(&tag).unwrap_or_default(),
                failpoint::receipts_of_item(),
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

/// The links by which a record has something to send, besides receipts.
fn sent_to(record: &Record) -> impl Iterator<Item = Arc<str>> {
    let tags = link::tags(record)
        .into_iter()
        .filter(|_| record.kind() != EventKind::Duplicate);
    tags.chain(probed(record))
}

/// Receipts for several items, so that none is too large for a carrier. The last part is for the item of the message.
fn in_parts(receipts: Vec<FarReceipt>, most: usize) -> Vec<Vec<FarReceipt>> {
    let (mut parts, mut part, mut count) = (Vec::new(), Vec::new(), 0);
    for FarReceipt {
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
            part.push(FarReceipt {
                status,
                agent: agent.clone(),
                seqs: seqs.to_vec(),
            });
        }
    }
    parts.push(part);
    parts
}

fn probed(record: &Record) -> Option<Arc<str>> {
    match record.link() {
        Some(LinkChange::Probed { link }) => Some(link.clone()),
        _ => None,
    }
}

impl Streams<'_> {
    /// A new stream.
    fn begin(&mut self, link: &Arc<str>) {
        self.at
            .insert(link.clone(), (id::mint().into(), 0, link::FIRST));
    }

    fn send_again(&mut self, room: &Dir, again: &[Again]) -> Result<Vec<Carried>> {
        let mut carried = Vec::with_capacity(again.len());
        for Again {
            link,
            place,
            receipts,
            alone,
        } in again
        {
            let Some(record) = log::read_record(room, *place)? else {
                tracing::warn!(
                    "link {link}: an item is not sent again, because its record is not in the archive any more"
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
        receipts: Vec<FarReceipt>,
        digest: impl FnOnce(&mut Carried) -> Hash,
    ) -> Carried {
        let state = self.state;
        let (stream, n, prev) =
            self.at
                .remove(&tag)
                .unwrap_or_else(|| match state.links.out(&tag) {
                    Some(out) => (out.stream.clone(), out.n, out.digest),
                    None => (id::mint().into(), 0, link::FIRST),
                });
        let mut carried = Carried {
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

    /// What each record of a batch tells other rooms about their messages. So that not each message costs an item, the last
    /// record with an item for a room tells what all records before it have to tell.
    fn receipts_of(&mut self, entries: &[stage::Entry]) -> Vec<Told> {
        let mut told: Vec<Told> = entries
            .iter()
            .map(|entry| self.receipts(&entry.record))
            .collect();
        let mut last: BTreeMap<Arc<str>, usize> = BTreeMap::new();
        for (at, (entry, told)) in entries.iter().zip(&told).enumerate() {
            last.extend(
                told.keys()
                    .cloned()
                    .chain(sent_to(&entry.record))
                    .map(|tag| (tag, at)),
            );
        }
        for (tag, last) in last {
            let (mut held, mut count) = (BTreeMap::<(u8, Arc<str>), FarReceipt>::new(), 0);
            for (at, told) in told.iter_mut().enumerate().take(last + 1) {
                for receipt in told.remove(&tag).into_iter().flatten() {
                    count += receipt.seqs.len();
                    match held.entry((receipt.status as u8, receipt.agent.clone())) {
                        Entry::Occupied(mut known) => known.get_mut().seqs.extend(receipt.seqs),
                        Entry::Vacant(new) => drop(new.insert(receipt)),
                    }
                }
                if count >= limits::RECEIPTS_TOGETHER || at == last && count > 0 {
                    told.insert(
                        tag.clone(),
                        std::mem::take(&mut held).into_values().collect(),
                    );
                    count = 0;
                }
            }
        }
        told
    }

    /// What this record tells other rooms about their messages.
    fn receipts(&mut self, record: &Record) -> Told {
        let mut told = Told::new();
        if let Some(arrived) = record.arrived()
            && record.kind() == EventKind::Accepted
        {
            self.came
                .insert(record.seq, (arrived.link.clone(), arrived.seq));
            let accepted = record.copies().map(|(agent, _)| FarReceipt {
                status: Status::Accepted,
                agent: agent.clone(),
                seqs: vec![arrived.seq],
            });
            told.entry(arrived.link.clone())
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
                told.entry(tag).or_default().push(FarReceipt {
                    status: *status,
                    agent: agent.clone(),
                    seqs,
                });
            }
        }
        told
    }

    fn origin(&self, seq: u64) -> Option<(Arc<str>, u64)> {
        let known = || {
            let mut links = self.state.links.iter();
            links.find_map(|(tag, link)| Some((tag.clone(), link.origin(seq)?)))
        };
        self.came.get(&seq).cloned().or_else(known)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_receipts_are_in_several_items_and_none_is_lost() {
        let receipt = |agent: &str, seqs: std::ops::Range<u64>| FarReceipt {
            status: Status::Seen,
            agent: agent.into(),
            seqs: seqs.collect(),
        };
        let all = vec![receipt("a", 0..2), receipt("b", 0..21), receipt("c", 0..1)];
        let count =
            |part: &Vec<FarReceipt>| part.iter().map(|receipt| receipt.seqs.len()).sum::<usize>();
        let parts = in_parts(all, 10);
        assert_eq!(parts.iter().map(count).collect::<Vec<_>>(), [2, 10, 10, 2]);
        assert_eq!(
            in_parts(Vec::new(), 10),
            [Vec::new()],
            "an item without receipts"
        );
    }
}
