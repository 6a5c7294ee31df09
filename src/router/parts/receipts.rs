//! What the router observed of copies that left their inboxes, until the log has it.

use super::storage::Storage;
use crate::base::limits;
use crate::disk::{Dir, layout};
use crate::log::state::State;
use crate::message::status::{Receipt, Status};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

/// Observed status changes that are not in the log yet.
#[derive(Default)]
pub(crate) struct Receipts {
    observed: BTreeMap<(Arc<str>, u8), (Status, Vec<u64>)>,
    copies: HashSet<(Arc<str>, u64)>,
    since: Option<Instant>,
    /// Markers in `.announced/` of copies that left: they go once the log has the receipts.
    markers: Vec<(Arc<str>, OsString)>,
    /// The change time of each inbox when it was last looked at.
    times: HashMap<Arc<str>, i128>,
}

impl Receipts {
    /// Is there nothing to write?
    pub(crate) fn is_empty(&self) -> bool {
        self.observed.is_empty()
    }

    /// When the log must have the receipts: those of a short time are written together.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.since.map(|since| since + limits::RECEIPTS)
    }

    /// Did a copy of this agent leave just now?
    pub(crate) fn is_of(&self, agent: &str) -> bool {
        self.observed.keys().any(|(of, _)| &**of == agent)
    }

    /// Was this copy just seen to have expired?
    pub(crate) fn has_expired(&self, agent: &Arc<str>, seq: u64) -> bool {
        let expired = self.observed.get(&(agent.clone(), Status::Expired as u8));
        expired.is_some_and(|(_, seqs)| seqs.contains(&seq))
    }

    /// Was this inbox looked at when it had this change time?
    pub(crate) fn is_known(&self, agent: &str, changed: i128) -> bool {
        self.times.get(agent) == Some(&changed)
    }

    /// This inbox was looked at when it had this change time.
    pub(crate) fn looked_at(&mut self, agent: Arc<str>, changed: i128) {
        self.times.insert(agent, changed);
    }

    /// Finds out which status a copy reached that left its inbox, and notes it.
    pub(crate) fn classify(
        &mut self,
        room: &Dir,
        state: &State,
        agent: &Arc<str>,
        seq: u64,
        name: &OsStr,
    ) {
        let is_in = |directory: PathBuf| {
            let dir = room.sub(directory).ok()?;
            dir.stat(name).ok().flatten()
        };
        // Leased, or put back: it may still be seen later.
        if is_in(layout::taken(agent)).is_some() || is_in(layout::inbox(agent)).is_some() {
            return;
        }
        let status = match is_in(layout::expired(agent)) {
            None => Status::Seen,
            Some(_) => state
                .mailboxes
                .status(agent, seq)
                .filter(|status| status.is_closed())
                .unwrap_or(Status::Expired),
        };
        if is_in(layout::announced(agent)).is_some() {
            self.note(agent, seq, Status::Announced);
            self.markers.push((agent.clone(), name.to_owned()));
        }
        self.note(agent, seq, status);
    }

    /// These unread copies were announced, and will be announced again.
    pub(crate) fn announced(&mut self, agent: &Arc<str>, seqs: impl Iterator<Item = u64>) {
        seqs.for_each(|seq| self.note(agent, seq, Status::Announced));
    }

    fn note(&mut self, agent: &Arc<str>, seq: u64, status: Status) {
        if status == Status::Announced || self.copies.insert((agent.clone(), seq)) {
            self.observed
                .entry((agent.clone(), status as u8))
                .or_insert_with(|| (status, Vec::new()))
                .1
                .push(seq);
            self.since.get_or_insert_with(Instant::now);
        }
    }

    /// The receipts for a record of the next batch. The batch's barrier makes durable that the copies left.
    pub(crate) fn stage(&mut self, room: &Dir, storage: &mut Storage) -> Vec<Receipt> {
        let mut receipts = Vec::new();
        for ((agent, _), (status, mut seqs)) in std::mem::take(&mut self.observed) {
            seqs.sort_unstable();
            for place in [layout::inbox(&agent), layout::taken(&agent)] {
                room.sub(place).iter().for_each(|dir| storage.sync(dir));
            }
            receipts.push(Receipt {
                status,
                agent,
                seqs,
                by: None,
            });
        }
        self.since = None;
        receipts
    }

    /// The record could not be committed: the receipts are for the next batch.
    pub(crate) fn unstage(&mut self, receipts: Vec<Receipt>) {
        for Receipt {
            status,
            agent,
            seqs,
            ..
        } in receipts
        {
            self.observed.insert((agent, status as u8), (status, seqs));
            self.since = Some(Instant::now());
        }
    }

    /// The log has the receipts: the markers of copies that left are no longer needed.
    pub(crate) fn committed(&mut self, room: &Dir) {
        self.copies.clear();
        for (agent, name) in std::mem::take(&mut self.markers) {
            let removed = room
                .sub(layout::announced(&agent))
                .and_then(|dir| dir.remove(name));
            removed.unwrap_or_else(|e| tracing::debug!("{e}; the archive takes it"));
        }
    }
}
