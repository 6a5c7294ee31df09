//! Receipts: what left an inbox was seen. The router notices it by events, and by looking, also for what happened while
//! none ran; the next batch's barrier makes the leaving durable before the log says so.

use crate::base::clock::Stamp;
use crate::base::error::Result;
use crate::base::limits;
use crate::disk::layout;
use crate::log::state::Place;
use crate::message::record::Record;
use crate::message::status::{Receipt, Status};
use crate::router::Router;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::sync::Arc;
use std::time::Instant;

/// A change that is no older than this, in nanoseconds, may not be the last one of its instant.
const RECENT: i128 = 1_000_000_000;

/// What was observed and is not in the log yet.
#[derive(Default)]
pub(crate) struct Observed {
    receipts: BTreeMap<(Arc<str>, u8), (Status, Vec<u64>)>,
    copies: HashSet<(Arc<str>, u64)>,
    since: Option<Instant>,
    /// Markers in `.announced/` of copies that left: they go once the log has them.
    markers: Vec<(Arc<str>, OsString)>,
    /// How each inbox stood when it was last looked at.
    times: HashMap<Arc<str>, i128>,
}

impl Observed {
    /// Is there nothing to write?
    pub(crate) fn is_empty(&self) -> bool {
        self.receipts.is_empty()
    }

    /// When the log has to say it at the latest: what happens together is written together.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.since.map(|since| since + limits::RECEIPTS)
    }

    /// Did something of this agent's just leave?
    pub(crate) fn is_of(&self, agent: &str) -> bool {
        self.receipts.keys().any(|(of, _)| &**of == agent)
    }

    /// Was this copy just seen to have expired?
    pub(crate) fn has_expired(&self, agent: &Arc<str>, seq: u64) -> bool {
        let expired = self.receipts.get(&(agent.clone(), Status::Expired as u8));
        expired.is_some_and(|(_, seqs)| seqs.contains(&seq))
    }

    fn note(&mut self, agent: &Arc<str>, seq: u64, status: Status) {
        if status == Status::Announced || self.copies.insert((agent.clone(), seq)) {
            self.receipts.entry((agent.clone(), status as u8)).or_insert_with(|| (status, Vec::new())).1.push(seq);
            self.since.get_or_insert_with(Instant::now);
        }
    }
}

impl Router {
    /// A file left this agent's inbox, or what was handed out of it.
    pub fn left(&mut self, agent: &str, name: &OsStr) {
        let Some(at) = layout::read_delivered(name) else { return };
        let Some(seq) = self.state.mailboxes.unread_at(agent, at) else { return };
        self.classify(&agent.into(), seq, name);
    }

    pub(crate) fn classify(&mut self, agent: &Arc<str>, seq: u64, name: &OsStr) {
        let stands = |directory: std::path::PathBuf| {
            let dir = self.room.dir.sub(directory).ok()?;
            dir.stat(name).ok().flatten()
        };
        // Handed out, or put back: it may still come to be seen.
        if stands(layout::taken(agent)).is_some() || stands(layout::inbox(agent)).is_some() {
            return;
        }
        let status = match stands(layout::expired(agent)) {
            None => Status::Seen,
            Some(_) => {
                self.state.mailboxes.status(agent, seq).filter(|status| status.is_closed()).unwrap_or(Status::Expired)
            }
        };
        if stands(layout::announced(agent)).is_some() {
            self.observed.note(agent, seq, Status::Announced);
            self.observed.markers.push((agent.clone(), name.to_owned()));
        }
        self.observed.note(agent, seq, status);
    }

    /// Looks for copies that left an inbox unobserved: every inbox with unread mail, or only those that changed since
    /// the log's last record.
    pub fn look_for_receipts(&mut self, all: bool) -> Result<()> {
        let agents: Vec<Arc<str>> = self.state.mailboxes.with_unread().cloned().collect();
        // Two clocks may stamp a directory and the log: far apart, nobody can tell.
        let recent = (self.state.at.micros() - limits::CLOCKS_APART.as_micros() as i64) as i128 * 1000;
        let now = Stamp::now().micros() as i128 * 1000;
        for agent in agents {
            // Not what waits when it can't be delivered to.
            let place = format!("{}/", layout::inbox(&agent).display());
            let meta = match self.room.dir.stat(layout::inbox(&agent)) {
                Ok(Some(meta)) => meta,
                Ok(None) => continue,
                Err(e) => {
                    self.waiting.failed(&place, e.to_string());
                    continue;
                }
            };
            if self.observed.times.get(&agent) == Some(&meta.changed) || (!all && meta.changed < recent) {
                continue;
            }
            let looked = self.look_into(&agent);
            if looked.is_ok() {
                self.waiting.over(&place);
            }
            match looked {
                // A file system's clock is coarse: what changed just now may change again at the same time.
                Ok(()) if now - meta.changed < RECENT => {}
                Ok(()) => drop(self.observed.times.insert(agent, meta.changed)),
                Err(e) => self.waiting.failed(&place, e.to_string()),
            }
        }
        Ok(())
    }

    fn look_into(&mut self, agent: &Arc<str>) -> Result<()> {
        let mut standing: BTreeMap<Stamp, OsString> = BTreeMap::new();
        let mut elsewhere: BTreeMap<Stamp, OsString> = BTreeMap::new();
        let places = [layout::inbox(agent), layout::taken(agent), layout::expired(agent), layout::announced(agent)];
        for (nth, place) in places.into_iter().enumerate() {
            let dir = match self.room.dir.sub(place) {
                Err(e) if e.errno() == Some(libc::ENOENT) && nth > 0 => continue,
                dir => dir?,
            };
            let to = if nth < 2 { &mut standing } else { &mut elsewhere };
            for entry in dir.list()? {
                let name = entry?.name;
                to.extend(layout::read_delivered(&name).map(|at| (at, name)));
            }
        }
        let undelivered = self.undelivered(agent);
        let left = self.state.mailboxes.unread(agent);
        let left: Vec<(Stamp, u64)> =
            left.filter(|(at, seq)| !standing.contains_key(at) && !undelivered.contains(seq)).collect();
        for (at, seq) in left {
            // Its name is needed only where it left something behind.
            let name = elsewhere.remove(&at).unwrap_or_else(|| layout::delivered(at, "", "").into());
            self.classify(agent, seq, &name);
        }
        Ok(())
    }

    // Copies that are committed and could not be delivered yet never stood in the inbox.
    fn undelivered(&self, agent: &Arc<str>) -> HashSet<u64> {
        let open = self.state.open.values().filter(|open| self.stuck.contains(&open.seq));
        let deliveries = open.flat_map(|open| open.deliveries().map(|delivery| (open.seq, delivery)));
        deliveries
            .filter(|(_, delivery)| delivery.place == Place::Inbox && delivery.agent == *agent)
            .filter(|(_, delivery)| self.spool.stands(delivery).unwrap_or(true))
            .map(|(seq, _)| seq)
            .collect()
    }

    /// What was observed, for a record of the next batch, whose barrier makes it durable.
    pub(crate) fn stage_receipts(&mut self) -> Vec<Receipt> {
        let mut receipts = Vec::new();
        for ((agent, _), (status, mut seqs)) in std::mem::take(&mut self.observed.receipts) {
            seqs.sort_unstable();
            for place in [layout::inbox(&agent), layout::taken(&agent)] {
                self.room.dir.sub(place).iter().for_each(|dir| self.barrier.dir(dir));
            }
            receipts.push(Receipt { status, agent, seqs });
        }
        self.observed.since = None;
        receipts
    }

    /// The log could not take it: it is as if it had not been observed.
    pub(crate) fn unstage_receipts(&mut self, record: Record) {
        for Receipt { status, agent, seqs } in record.receipts {
            self.observed.receipts.insert((agent, status as u8), (status, seqs));
            self.observed.since = Some(Instant::now());
        }
    }

    /// The log has it: markers of what left are of no use any more.
    pub(crate) fn receipts_are_written(&mut self) {
        self.observed.copies.clear();
        for (agent, name) in std::mem::take(&mut self.observed.markers) {
            let removed = self.room.dir.sub(layout::announced(&agent)).and_then(|dir| dir.remove(name));
            removed.unwrap_or_else(|e| tracing::debug!("{e}; the archive takes it"));
        }
    }
}
