//! The in-memory state of the router, built by applying the log's records in order.

mod clock;
mod counts;
mod expiries;
mod gaps;
mod index;
mod links;
mod mailboxes;
mod open;
mod questions;
pub(crate) mod renames;
mod replay;
mod talks;

pub use counts::MessageCounts;
pub use expiries::MessageExpiries;
pub use gaps::AcceptedGaps;
pub use index::{IndexKey, IndexedLog, LogIndex, undelivered};
pub use links::{IncomingStream, LinkState, LinkStates, OutgoingStream, UnconfirmedItem};
pub use mailboxes::Mailboxes;
pub use open::{DeliveryDirectory, OpenRecord, RenamedAgent, StagedFile};
pub use questions::OpenQuestion;
pub use renames::PastRenames;
pub use replay::{
    BatchDamage, ReplayedLog, committed, committed_after, damage_after, replay, synced,
};
pub use talks::Talks;

use crate::base::clock::Stamp;
use crate::base::hash::{Hash, NO_HASH};
use crate::base::hex_hash;
use crate::disk::layout;
use crate::features::States;
use crate::log::{LogPosition, LogTip};
use crate::message::record::{Event, EventKind, MessageHead, Record, RouterAction};
use crate::message::status::{CopyStatus, Receipt};
use crate::message::{Message, id};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

/// The subject of a notice to the sender of a message that expired unread: this word and the record.
pub const EXPIRED: &str = "expired";

/// The first word of the subject of a notice to the sender of mail that waited when its link was removed. Its `metadata`
/// has the numbers of the messages.
pub const LINK_REMOVED: &str = "link-removed";

/// The first word of the subject of a notice to the sender of a message with addresses that reach no agent.
const UNREACHED: &str = "unreached";

/// The subject of the notice about a message with addresses that reach no agent. It is recorded with the message.
pub fn unreached_subject(sender: &str, id: &str) -> String {
    format!("{UNREACHED} {sender}/{id}")
}

/// The state after the last complete batch of the log.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RoomState {
    /// The room's id from the log's first record.
    pub room: Option<String>,
    /// The last record's number; 0 for an empty log.
    pub seq: u64,
    /// The number of the last batch.
    pub batch: u64,
    /// The accept time of the last record.
    pub at: Stamp,
    /// The time that the machine's clock showed then. All other times of the state are times of this clock, except where
    /// an accept time identifies a copy.
    pub time: Stamp,
    /// The hash of the last line.
    #[serde(with = "hex_hash")]
    pub prev: Hash,
    /// The highest pickup number that any record names.
    pub claim: u64,
    /// Records that are not settled: copies may be in `spool/stage`, and picked-up files in `spool/claim`.
    pub open: BTreeMap<u64, OpenRecord>,
    /// The subjects of all notices that were sent.
    pub notices: BTreeSet<String>,
    /// The accept time of each agent's last message.
    pub active: BTreeMap<Arc<str>, Stamp>,
    /// The renamings of agents.
    pub renames: PastRenames,
    /// The time when copies last left each agent's inbox.
    pub read: BTreeMap<Arc<str>, Stamp>,
    /// The number of records of each kind.
    pub counts: MessageCounts,
    /// The records that name a message or a thread.
    pub index: LogIndex,
    /// The status of all copies.
    pub mailboxes: Mailboxes,
    /// Messages that expire.
    pub expiries: MessageExpiries,
    /// The streams to and from other rooms.
    pub links: LinkStates,
    /// Messages between two agents without work.
    pub talks: Talks,
    /// Lost records that a person has accepted as lost.
    pub gaps: AcceptedGaps,
    /// The state of the features.
    pub features: States,
    /// The position of the last line.
    pub last: LogPosition,
    /// The position of the next line.
    pub end: LogPosition,
}

/// A record that changes claims or approvals.
#[derive(Debug, Clone, Copy)]
pub struct ChangeSource<'a> {
    /// Its number.
    pub seq: u64,
    /// Its accept time.
    pub at: Stamp,
    /// The sender of its message.
    pub from: &'a Arc<str>,
    /// The id of its message.
    pub id: &'a str,
}

impl Default for RoomState {
    fn default() -> RoomState {
        RoomState {
            room: None,
            seq: 0,
            batch: 0,
            at: Stamp::default(),
            time: Stamp::default(),
            prev: NO_HASH,
            claim: 0,
            open: BTreeMap::new(),
            notices: BTreeSet::new(),
            active: BTreeMap::new(),
            renames: PastRenames::default(),
            read: BTreeMap::new(),
            counts: MessageCounts::default(),
            index: LogIndex::default(),
            mailboxes: Mailboxes::default(),
            expiries: MessageExpiries::default(),
            links: LinkStates::default(),
            talks: Talks::default(),
            gaps: AcceptedGaps::default(),
            features: States::default(),
            last: crate::log::START,
            end: crate::log::START,
        }
    }
}

impl RoomState {
    /// Applies the next record, accepted at `stamp`, with its place in the log. The router passes the message that it has
    /// checked.
    pub fn apply(&mut self, record: Record, stamp: Stamp, message: Option<&Message>, tip: LogTip) {
        let time = self.follow_clock(&record, stamp);
        let at = tip.at;
        (self.seq, self.batch, self.at, self.prev) = (record.seq, record.batch, stamp, tip.hash);
        (self.last, self.end) = (at, tip.end);
        let number = record
            .claim()
            .and_then(layout::read_claim)
            .map_or(0, |claim| claim.number);
        self.claim = self.claim.max(number);
        for &(from, to) in &record.settled {
            self.settle(from, to);
        }
        self.advance(&record.receipts, true);
        for receipt in &record.receipts {
            if receipt.status == CopyStatus::Seen {
                self.read.insert(receipt.agent.clone(), time);
            }
        }
        let renamed = self.rename(&record);
        self.links.apply(&record, time, at);
        let head = message.map(MessageHead::of).or_else(|| record.head());
        self.index.add(&record, head.as_ref());
        self.features.apply(&record, head.as_ref(), message, time);
        match &record.event {
            Event::Room { room } => self.room.clone_from(room),
            Event::Receipts { origin: None } | Event::Settled {} => {}
            Event::Receipts { origin: Some(_) } => self.open_up(record, stamp, renamed),
            Event::Gap { .. } => self.accept_gap(&record, at),
            Event::Accepted(accepted) => {
                self.counts.accepted += 1;
                self.counts.copies += record.recipients().count() as u64;
                if id::tag_of(&accepted.name.from).is_none() {
                    self.active.insert(accepted.name.from.clone(), time);
                }
                if let Some(RouterAction::Ack(receipts)) = &accepted.act {
                    self.advance(receipts, false);
                }
                let expires = accepted.times.expires_at.as_deref().and_then(Stamp::parse);
                if let Some(expires) = expires
                    && !accepted.to.is_empty()
                {
                    self.expiries.add(record.seq, expires);
                }
                if let Some(head) = head {
                    self.talks
                        .apply(&accepted.name.from, &accepted.to, &head, time);
                }
                self.open_up(record, stamp, None);
            }
            Event::Rejected(_) | Event::Duplicate(_) | Event::Notice(_) => {
                self.counts.rejected += u64::from(record.kind() == EventKind::Rejected);
                self.counts.duplicates += u64::from(record.kind() == EventKind::Duplicate);
                // A change is not repeated, so its subject need not be remembered.
                if let Some(about) = record.about()
                    && record.facts.is_empty()
                {
                    self.note_notice(about);
                }
                self.open_up(record, stamp, renamed);
            }
        }
    }

    /// Takes in the end of a batch: the line of its last record has the number of its records.
    pub fn end_batch(&mut self, tip: LogTip) {
        (self.prev, self.end) = (tip.hash, tip.end);
    }

    /// Notes the subject of a notice.
    fn note_notice(&mut self, about: &str) {
        let (what, of) = about.split_once(' ').unwrap_or_default();
        match (what, of.parse().ok()) {
            (EXPIRED, Some(seq)) => self.expiries.expired(seq),
            (UNREACHED, _) => {}
            _ => {
                self.notices.insert(about.to_owned());
            }
        }
    }

    fn advance(&mut self, receipts: &[Receipt], left: bool) {
        for Receipt {
            status,
            agent,
            seqs,
            times,
            ..
        } in receipts
        {
            if *status == CopyStatus::Delivered {
                for (&seq, &at) in seqs.iter().zip(times) {
                    self.mailboxes.take_back(agent, at, seq);
                }
                continue;
            }
            let left = left && *status != CopyStatus::Announced;
            for &seq in seqs {
                if id::tag_of(agent).is_none() {
                    self.mailboxes.advance(agent, seq, *status, left);
                }
            }
        }
    }

    /// The time of an agent's last activity: it sent a message, or mail left its inbox.
    pub fn last_seen(&self, agent: &str) -> Option<Stamp> {
        self.active
            .get(agent)
            .copied()
            .max(self.read.get(agent).copied())
    }

    /// The subjects of the notices with this first word, without it.
    pub fn subjects_of_notices(&self, word: &str) -> impl Iterator<Item = &str> {
        let from = (Bound::Included(word), Bound::Unbounded);
        let subjects = self.notices.range::<str, _>(from);
        let subjects = subjects.map_while(move |about| about.strip_prefix(word));
        subjects.filter_map(|about| about.strip_prefix(' '))
    }

    fn open_up(&mut self, record: Record, at: Stamp, renamed: Option<RenamedAgent>) {
        for (agent, _) in record.copies() {
            self.mailboxes.deliver(agent, at, record.seq);
        }
        let origin = record.origin();
        let open = OpenRecord {
            seq: record.seq,
            event: record.kind(),
            at: at.micros(),
            claim: origin.map(|origin| origin.claim.clone()),
            line: origin.and_then(|origin| origin.line),
            from: record.from().map_or_else(|| id::MAILBAG.into(), Arc::clone),
            id: record.id().unwrap_or_default().to_owned(),
            to: record.to().to_vec(),
            act: record.accepted().and_then(|accepted| accepted.act.clone()),
            renamed,
            now: BTreeMap::new(),
        };
        self.open.insert(open.seq, open);
    }

    fn settle(&mut self, from: u64, to: u64) {
        let inside: Vec<u64> = self
            .open
            .range(from..=to.max(from))
            .map(|(&seq, _)| seq)
            .collect();
        for seq in inside {
            self.open.remove(&seq);
        }
    }
}
