//! The checkpoint: a saved state with a digest, so that a start reads only the end of the log.
//!
//! It is a cache. A checkpoint that is missing, damaged, of another version or that does not match the log is ignored,
//! and the state is built from the whole log.

use super::claims::ClosedOffer;
use super::items::OpenItem;
use super::mailboxes::{MailboxSizes, Mailboxes};
use super::{
    AcceptedGaps, Approvals, ChannelCounts, Claims, Disputes, LinkStates, LoopDetector,
    MessageCounts, MessageDeadline, MessageDeadlines, MessageIndex, OpenItems, OpenRecord,
    PartialPickup, PastRenames, RoomActivity, RoomState,
};
use crate::base::clock::Stamp;
use crate::base::error::Result;
use crate::base::hash::{Hash, hash, hex};
use crate::disk::{Dir, layout};
use crate::log::LogPosition;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// The largest checkpoint that is read.
const CHECKPOINT_MOST: u64 = 2 << 30;

const VERSION: u32 = 1;

/// The first line of the body. The recent ids and the copies follow it as binary entries.
#[derive(Serialize, Deserialize)]
struct CheckpointHead {
    version: u32,
    room: Option<String>,
    seq: u64,
    batch: u64,
    at: i64,
    time: i64,
    prev: Hash,
    claim: u64,
    open: Vec<OpenRecord>,
    notices: BTreeSet<String>,
    active: BTreeMap<Arc<str>, i64>,
    renames: PastRenames,
    activity: RoomActivity,
    channels: BTreeMap<Arc<str>, ChannelCounts>,
    counts: MessageCounts,
    timers: Vec<MessageDeadline>,
    claims: Claims,
    closed_offers: VecDeque<ClosedOffer>,
    approvals: Approvals,
    disputes: Disputes,
    items: (Vec<OpenItem>, u64),
    links: LinkStates,
    loops: LoopDetector,
    gaps: AcceptedGaps,
    begun: BTreeMap<String, PartialPickup>,
    last_entry: u64,
    last: LogPosition,
    end: LogPosition,
    /// The bytes of the recent ids.
    ids: usize,
    /// The end of the log that the index of ids must cover.
    indexed: LogPosition,
    mailboxes: Vec<(Arc<str>, MailboxSizes)>,
}

impl RoomState {
    /// Writes the checkpoint, and returns its size in bytes. After a kill, either the old or the new checkpoint exists.
    pub fn save(&mut self, room: &Dir) -> Result<u64> {
        self.compact_ids(room)?;
        Arc::make_mut(&mut self.relations).save(room, self.end);
        let bytes = self.checkpoint();
        room.replace(layout::CHECKPOINT, &bytes)?;
        Ok(bytes.len() as u64)
    }

    /// The content of the checkpoint's file.
    pub fn checkpoint(&self) -> Vec<u8> {
        let mut raw = self.ids.bytes();
        let ids = raw.len();
        let mailboxes = self.mailboxes.put(&mut raw);
        let head = CheckpointHead {
            version: VERSION,
            room: self.room.clone(),
            seq: self.seq,
            batch: self.batch,
            at: self.at.micros(),
            time: self.time.micros(),
            prev: self.prev,
            claim: self.claim,
            open: self.open.values().cloned().collect(),
            notices: self.notices.clone(),
            active: self
                .active
                .iter()
                .map(|(agent, at)| (agent.clone(), at.micros()))
                .collect(),
            renames: self.renames.clone(),
            activity: self.activity.clone(),
            channels: self.channels.clone(),
            counts: self.counts,
            timers: self.timers.iter().cloned().collect(),
            claims: self.claims.clone(),
            closed_offers: self.claims.closed.clone(),
            approvals: self.approvals.clone(),
            disputes: self.disputes.clone(),
            items: self.items.saved(),
            links: self.links.clone(),
            loops: self.loops.clone(),
            gaps: self.gaps.clone(),
            begun: self.begun.clone(),
            last_entry: self.last_entry,
            last: self.last,
            end: self.end,
            ids,
            indexed: self.ids.indexed(),
            mailboxes,
        };
        let mut body = serde_json::to_vec(&head).expect("a checkpoint has only text keys");
        body.push(b'\n');
        body.append(&mut raw);
        let mut file = hex(&hash(&body)).into_bytes();
        file.push(b'\n');
        file.extend(body);
        file
    }
}

/// The state in the checkpoint, if the checkpoint is intact and matches the log.
pub(super) fn load(room: &Dir) -> Result<Option<RoomState>> {
    let file = room.read(layout::CHECKPOINT, CHECKPOINT_MOST);
    let Some(state) = file.ok().flatten().and_then(|file| read(&file)) else {
        return Ok(None);
    };
    Ok(state.tip().is_in(room)?.then_some(state))
}

fn read(file: &[u8]) -> Option<RoomState> {
    let (digest, body) = (file.get(..64)?, file.get(65..)?);
    if hex(&hash(body)).as_bytes() != digest {
        return None;
    }
    let cut = body.iter().position(|&byte| byte == b'\n')?;
    let head: CheckpointHead = serde_json::from_slice(&body[..cut]).ok()?;
    if head.version != VERSION {
        return None;
    }
    let mut claims = head.claims;
    claims.closed = head.closed_offers;
    let (ids, mailboxes) = body[cut + 1..].split_at_checked(head.ids)?;
    Some(RoomState {
        room: head.room,
        seq: head.seq,
        batch: head.batch,
        at: Stamp::from_micros(head.at),
        time: Stamp::from_micros(head.time),
        prev: head.prev,
        claim: head.claim,
        open: head.open.into_iter().map(|open| (open.seq, open)).collect(),
        notices: head.notices,
        active: head
            .active
            .into_iter()
            .map(|(agent, at)| (agent, Stamp::from_micros(at)))
            .collect(),
        renames: head.renames,
        activity: head.activity,
        channels: head.channels,
        counts: head.counts,
        ids: MessageIndex::from_bytes(ids, head.indexed),
        relations: Arc::default(),
        mailboxes: Mailboxes::take(head.mailboxes, mailboxes)?,
        timers: MessageDeadlines::of(head.timers),
        claims,
        approvals: head.approvals,
        disputes: head.disputes,
        items: OpenItems::of(head.items.0, head.items.1),
        links: head.links,
        loops: head.loops,
        gaps: head.gaps,
        begun: head.begun,
        last_entry: head.last_entry,
        last: head.last,
        end: head.end,
    })
}
