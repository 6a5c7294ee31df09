//! Observations of copies that left their inboxes, until the log has them.

use super::storage::RouterStorage;
use crate::base::clock::Stamp;
use crate::base::error::Result;
use crate::base::limits;
use crate::base::test_sizes;
use crate::disk::{Dir, Meta, layout};
use crate::log::state::RoomState;
use crate::message::status::{CopyStatus, Receipt};
use crate::room::inbox::AnnouncementMarker;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

/// The records of observed copies, and for announced ones the time, in microseconds since 1970.
type ObservedCopies = BTreeMap<u64, Option<i64>>;

/// Observed status changes that are not in the log yet.
#[derive(Default)]
pub(crate) struct ObservedReceipts {
    observed: BTreeMap<(Arc<str>, u8), (CopyStatus, ObservedCopies)>,
    copies: HashSet<(Arc<str>, u64)>,
    since: Option<Instant>,
    /// Markers in `.announced/` of copies that left or are announced again. They are removed when the log has the receipts.
    markers: Vec<(Arc<str>, OsString)>,
    /// The change time of each inbox at its last scan.
    times: HashMap<Arc<str>, i128>,
}

impl ObservedReceipts {
    /// Returns true if no receipt waits for the log.
    pub(crate) fn is_empty(&self) -> bool {
        self.observed.is_empty()
    }

    /// The time when the log must have the receipts. Receipts of a short time are written together.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.since.map(|since| since + limits::RECEIPTS)
    }

    /// Returns true if a copy of this agent left just now.
    pub(crate) fn is_of(&self, agent: &str) -> bool {
        self.observed.keys().any(|(of, _)| &**of == agent)
    }

    /// Returns true if this copy expired just now.
    pub(crate) fn has_expired(&self, agent: &Arc<str>, seq: u64) -> bool {
        let expired = self
            .observed
            .get(&(agent.clone(), CopyStatus::Expired as u8));
        expired.is_some_and(|(_, seqs)| seqs.contains_key(&seq))
    }

    /// Returns true if this copy left its inbox just now.
    pub(crate) fn has_left(&self, agent: &Arc<str>, seq: u64) -> bool {
        self.copies.contains(&(agent.clone(), seq))
    }

    /// Returns true if this inbox was scanned with this change time.
    pub(crate) fn is_known(&self, agent: &str, changed: i128) -> bool {
        self.times.get(agent) == Some(&changed)
    }

    /// Notes that this inbox was scanned with this change time.
    pub(crate) fn looked_at(&mut self, agent: Arc<str>, changed: i128) {
        self.times.insert(agent, changed);
    }

    /// Determines the status of a copy that left its inbox, and notes it.
    pub(crate) fn classify(
        &mut self,
        room: &Dir,
        state: &RoomState,
        agent: &Arc<str>,
        seq: u64,
        name: &OsStr,
    ) {
        // A taken or returned copy may be seen later. A directory that cannot be read is looked at again.
        let places = [
            layout::taken(agent),
            layout::inbox(agent),
            layout::expired(agent),
        ];
        let there = places.map(|place| find_file(room, place, name).map(|found| found.is_some()));
        let [Ok(false), Ok(false), Ok(is_expired)] = there else {
            return;
        };
        let status = if is_expired {
            state
                .mailboxes
                .status(agent, seq)
                .filter(|status| status.is_closed())
                .unwrap_or(CopyStatus::Expired)
        } else {
            CopyStatus::Seen
        };
        if let Ok(Some(marker)) = find_file(room, layout::announced(agent), name) {
            self.note(
                agent,
                seq,
                CopyStatus::Announced,
                Some(marker.modified_at()),
            );
            self.markers.push((agent.clone(), name.to_owned()));
        }
        self.forget(agent, seq);
        self.note(agent, seq, status, None);
    }

    /// Notes that this copy, which the log has as read, is in the inbox.
    pub(crate) fn note_moved_back(&mut self, agent: &Arc<str>, seq: u64, at: Stamp) {
        self.note(agent, seq, CopyStatus::Delivered, Some(at));
    }

    /// Forgets that this copy left its inbox, because it is there again.
    pub(crate) fn forget(&mut self, agent: &Arc<str>, seq: u64) {
        if self.copies.remove(&(agent.clone(), seq)) {
            for ((of, _), (status, copies)) in &mut self.observed {
                if of == agent && *status != CopyStatus::Announced {
                    copies.remove(&seq);
                }
            }
            self.observed.retain(|_, (_, copies)| !copies.is_empty());
        }
    }

    /// Notes that this unread copy was announced. Its marker is removed when the log has the receipt, so that the copy is
    /// announced again.
    pub(crate) fn announce_again(
        &mut self,
        agent: &Arc<str>,
        seq: u64,
        marker: AnnouncementMarker,
    ) {
        self.note(agent, seq, CopyStatus::Announced, Some(marker.at));
        self.markers.push((agent.clone(), marker.name));
    }

    fn note(&mut self, agent: &Arc<str>, seq: u64, status: CopyStatus, at: Option<Stamp>) {
        if status == CopyStatus::Announced || self.copies.insert((agent.clone(), seq)) {
            self.observed
                .entry((agent.clone(), status as u8))
                .or_insert_with(|| (status, ObservedCopies::new()))
                .1
                .entry(seq)
                .or_insert(at.map(Stamp::micros));
            self.since.get_or_insert_with(Instant::now);
        }
    }

    /// The receipts for the records of the next batch, split so that no record is long. The batch's barrier makes the
    /// departure of the copies durable.
    pub(crate) fn stage(&self, room: &Dir, storage: &mut RouterStorage) -> Vec<Vec<Receipt>> {
        let (mut records, mut receipts) = (Vec::new(), Vec::new());
        let mut most = test_sizes::receipts_of_record();
        for ((agent, _), (status, copies)) in &self.observed {
            let mut copies: Vec<(u64, Option<i64>)> =
                copies.iter().map(|(seq, at)| (*seq, *at)).collect();
            for place in [layout::inbox(agent), layout::taken(agent)] {
                if let Ok(dir) = room.sub(place) {
                    storage.sync(&dir);
                }
            }
            while !copies.is_empty() {
                let later = copies.split_off(copies.len().min(most));
                most -= copies.len();
                receipts.push(Receipt {
                    status: *status,
                    agent: agent.clone(),
                    seqs: copies.iter().map(|(seq, _)| *seq).collect(),
                    times: copies.iter().filter_map(|(_, at)| *at).collect(),
                    by: None,
                });
                copies = later;
                if most == 0 {
                    records.push(std::mem::take(&mut receipts));
                    most = test_sizes::receipts_of_record();
                }
            }
        }
        records.extend((!receipts.is_empty()).then_some(receipts));
        records
    }

    /// Delays the next try after a batch failed.
    pub(crate) fn delay(&mut self) {
        self.since = self.since.map(|_| Instant::now());
    }

    /// Removes the noted markers, when the log has the receipts.
    pub(crate) fn committed(&mut self, room: &Dir) {
        self.observed.clear();
        self.copies.clear();
        self.since = None;
        for (agent, name) in std::mem::take(&mut self.markers) {
            let removed = room
                .sub(layout::announced(&agent))
                .and_then(|dir| dir.remove(name));
            if let Err(e) = removed {
                tracing::debug!("{e}; the archiver removes it later");
            }
        }
    }
}

fn find_file(room: &Dir, directory: PathBuf, name: &OsStr) -> Result<Option<Meta>> {
    let Some(directory) = room.sub_if_exists(directory)? else {
        return Ok(None);
    };
    directory.stat(name)
}
