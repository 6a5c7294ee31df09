//! Links: for each other room, the stream to it and the stream from it.

use crate::base::clock::Stamp;
use crate::base::hash::{Hash, NO_HASH};
use crate::base::hex_hash;
use crate::log::LogPosition;
use crate::message::carried::{IncomingItem, LinkChange, OutgoingItem, StreamAcknowledgement};
use crate::message::record::Record;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// The number of newest messages of a link that still get receipts.
const ANSWERABLE: usize = 100_000;

/// All links, by the tag of the other room.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkStates(BTreeMap<Arc<str>, LinkState>);

/// A link to another room.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkState {
    /// The sent items. `None` before the first item.
    pub out: Option<OutgoingStream>,
    /// The received items. `None` before the first item.
    #[serde(rename = "in")]
    pub came: Option<IncomingStream>,
    /// The numbers of its messages in the other room, by their numbers here.
    origins: BTreeMap<u64, u64>,
}

/// The stream to another room.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutgoingStream {
    /// The id of the stream.
    pub stream: Arc<str>,
    /// The number of the last item.
    pub n: u64,
    /// The digest of the last item.
    pub digest: Hash,
    /// The last item that the other room has committed.
    pub acked: u64,
    /// The later items, in order.
    waiting: VecDeque<UnconfirmedItem>,
}

/// An item that the other room has not committed, as far as is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnconfirmedItem {
    /// Its number in the stream.
    pub n: u64,
    /// Its record.
    pub seq: u64,
    /// The position of its record.
    pub place: LogPosition,
    /// When it was accepted, in microseconds since 1970.
    pub at: i64,
}

/// The stream from another room.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IncomingStream {
    /// The id of the stream.
    pub stream: Arc<str>,
    /// The number of the last item.
    pub n: u64,
    /// The digest of the last item.
    #[serde(with = "hex_hash")]
    pub digest: Hash,
}

impl LinkStates {
    /// Applies the changes of links in a record.
    pub(super) fn apply(&mut self, record: &Record, at: Stamp, place: LogPosition) {
        if let Some(LinkChange::Removed { link }) = &record.facts.links {
            self.0.remove(link);
        }
        for acked in &record.acked {
            self.acked(acked);
        }
        if let Some(arrived) = record.arrived() {
            self.arrived(arrived, record.seq);
        }
        for carried in &record.carried {
            self.carried(
                carried,
                UnconfirmedItem {
                    n: carried.n,
                    seq: record.seq,
                    place,
                    at: at.micros(),
                },
            );
        }
    }

    /// Cuts all times after the clock was set back.
    pub(super) fn cut_times(&mut self, now: Stamp) {
        for out in self.0.values_mut().filter_map(|link| link.out.as_mut()) {
            for waiting in &mut out.waiting {
                now.cut(&mut waiting.at, None);
            }
        }
    }

    fn carried(&mut self, carried: &OutgoingItem, waiting: UnconfirmedItem) {
        let link = self.0.entry(carried.link.clone()).or_default();
        let stream = &carried.stream;
        let out = link
            .out
            .get_or_insert_with(|| OutgoingStream::new(stream.clone()));
        (out.n, out.digest) = (carried.n, carried.digest);
        out.waiting.push_back(waiting);
    }

    fn arrived(&mut self, arrived: &IncomingItem, seq: u64) {
        let link = self.0.entry(arrived.link.clone()).or_default();
        link.came = Some(IncomingStream::from(arrived));
        link.origins.insert(seq, arrived.seq);
        if link.origins.len() > ANSWERABLE {
            link.origins.pop_first();
        }
    }

    fn acked(&mut self, acked: &StreamAcknowledgement) {
        let Some(link) = self.0.get_mut(&acked.link) else {
            return;
        };
        let Some(out) = link.out.as_mut().filter(|out| out.stream == acked.stream) else {
            return;
        };
        out.acked = out.acked.max(acked.n.min(out.n));
        while out
            .waiting
            .front()
            .is_some_and(|first| first.n <= out.acked)
        {
            out.waiting.pop_front();
        }
    }

    /// A link by its tag.
    pub fn get(&self, tag: &str) -> Option<&LinkState> {
        self.0.get(tag)
    }

    /// The stream from another room, if there is one.
    pub fn came(&self, tag: &str) -> Option<&IncomingStream> {
        self.get(tag)?.came.as_ref()
    }

    /// The stream to another room, if there is one.
    pub fn out(&self, tag: &str) -> Option<&OutgoingStream> {
        self.get(tag)?.out.as_ref()
    }

    /// Returns true if the log has no link.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All links with their tags.
    pub fn iter(&self) -> impl Iterator<Item = (&Arc<str>, &LinkState)> {
        self.0.iter()
    }
}

impl LinkState {
    /// The number that the other room gave to a message from there.
    pub fn origin(&self, seq: u64) -> Option<u64> {
        self.origins.get(&seq).copied()
    }

    /// The items that the other room has not committed, as far as is known, in order.
    pub fn waiting(&self) -> impl DoubleEndedIterator<Item = &UnconfirmedItem> {
        self.out.iter().flat_map(|out| &out.waiting)
    }

    /// The item of this number, if it is not acknowledged.
    pub fn waiting_at(&self, n: u64) -> Option<&UnconfirmedItem> {
        let out = self.out.as_ref()?;
        out.waiting
            .get(usize::try_from(n.checked_sub(out.waiting.front()?.n)?).ok()?)
    }
}

/// The stream after an item.
impl From<&IncomingItem> for IncomingStream {
    fn from(item: &IncomingItem) -> IncomingStream {
        IncomingStream {
            stream: item.stream.clone(),
            n: item.n,
            digest: item.digest,
        }
    }
}

impl OutgoingStream {
    fn new(stream: Arc<str>) -> OutgoingStream {
        OutgoingStream {
            stream,
            n: 0,
            digest: NO_HASH,
            acked: 0,
            waiting: VecDeque::new(),
        }
    }
}
