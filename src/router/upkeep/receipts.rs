//! Receipts: file events and scans show which copies left an inbox, even if no router ran at that time.

use crate::base::clock::Stamp;
use crate::base::error::Result;
use crate::base::limits;
use crate::disk::layout;
use crate::log::state::DeliveryDirectory;
use crate::room::inbox;
use crate::router::Router;
use std::collections::{BTreeMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::Arc;

/// The age in nanoseconds of a change that must be the last one with its time.
const RECENT: i128 = 1_000_000_000;

/// The inboxes of a scan.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::router) enum InboxSelection {
    All,
    /// Only inboxes that changed after this time of the clock.
    ChangedSince(Stamp),
}

impl Router {
    /// Notes that a file left this agent's inbox or its `taken/`.
    pub(in crate::router) fn note_left(&mut self, agent: &str, name: &OsStr) {
        let state = self.journal.state();
        let at = layout::read_delivered(name);
        if let Some(seq) = at.and_then(|at| state.mailboxes.unread_at(agent, at)) {
            self.receipts
                .classify(self.config.dir(), state, &agent.into(), seq, name);
        }
    }

    /// Notes that a file appeared in this agent's inbox. It may be a copy that its reader moved back.
    pub(in crate::router) fn note_appeared(&mut self, agent: &str, name: &OsStr) {
        let (room, state) = (self.config.dir(), self.journal.state());
        let at = layout::read_delivered(name);
        if let Some(seq) = at.and_then(|at| state.mailboxes.unread_at(agent, at)) {
            self.receipts.forget(&agent.into(), seq);
        } else if let Some((at, seq)) = inbox::moved_back(room, state, agent, name) {
            self.receipts.note_moved_back(&agent.into(), seq, at);
        }
    }

    /// Selects the inboxes that may have changed since a time. If the clock was set back since then, the times of directories
    /// do not show it.
    pub(in crate::router) fn changed_inboxes(time: Stamp) -> InboxSelection {
        if time > Stamp::now() {
            return InboxSelection::All;
        }
        // Different clocks may stamp a directory and the log.
        let apart = limits::CLOCKS_APART.as_micros() as i64;
        InboxSelection::ChangedSince(Stamp::from_micros(time.micros() - apart))
    }

    /// Scans the inboxes with unread mail for copies that left, and these and the other inboxes for copies that were moved
    /// back. An inbox that is not selected takes one `stat`.
    pub(in crate::router) fn scan_inboxes(
        &mut self,
        unread: InboxSelection,
        others: InboxSelection,
    ) {
        let mailboxes = &self.journal.state().mailboxes;
        let known = self.config.registry().agents().iter();
        let mut agents: BTreeMap<Arc<str>, InboxSelection> =
            known.map(|agent| (agent.id.clone(), others)).collect();
        agents.extend(mailboxes.with_unread().map(|agent| (agent.clone(), unread)));
        for (agent, inboxes) in agents {
            self.scan_inbox(&agent, inboxes);
        }
    }

    /// Scans an inbox for copies that left, if it is selected and has changed since its last scan.
    pub(in crate::router) fn scan_inbox(&mut self, agent: &Arc<str>, inboxes: InboxSelection) {
        let now = Stamp::now().micros() as i128 * 1000;
        // The slash distinguishes the item from a failed delivery.
        let place = format!("{}/", layout::inbox(agent).display());
        let changed = match self.config.dir().stat(layout::inbox(agent)) {
            Ok(Some(meta)) => meta.changed,
            Ok(None) => return,
            Err(e) => return self.pending.failed(&place, e.to_string()),
        };
        let is_old = match inboxes {
            InboxSelection::All => false,
            InboxSelection::ChangedSince(since) => changed < since.micros() as i128 * 1000,
        };
        if is_old || self.receipts.is_known(agent, changed) {
            return;
        }
        match self.find_left(agent) {
            Ok(()) => {
                self.pending.clear(&place);
                // A file system's clock is coarse: a recent change may be followed by another with the same time.
                if now - changed >= RECENT {
                    self.receipts.looked_at(agent.clone(), changed);
                }
            }
            Err(e) => self.pending.failed(&place, e.to_string()),
        }
    }

    /// Finds the copies that left an inbox.
    fn find_left(&mut self, agent: &Arc<str>) -> Result<()> {
        let mut there: BTreeMap<Stamp, OsString> = BTreeMap::new();
        let mut elsewhere: BTreeMap<Stamp, OsString> = BTreeMap::new();
        let places = [
            layout::inbox(agent),
            layout::taken(agent),
            layout::expired(agent),
            layout::announced(agent),
        ];
        // A copy that still waits in an inbox of a former name did not leave.
        let state = self.journal.state();
        let renamed = state.open.values().filter_map(|open| open.renamed.as_ref());
        let former = renamed
            .filter(|renamed| renamed.to == *agent)
            .map(|renamed| &renamed.of);
        let former: Vec<PathBuf> = former
            .flat_map(|of| [layout::inbox(of), layout::taken(of)])
            .collect();
        for (nth, place) in places.into_iter().chain(former).enumerate() {
            let dir = match self.config.dir().sub(place) {
                Err(e) if e.is_missing() && nth > 0 => continue,
                dir => dir?,
            };
            let is_unread = !matches!(nth, 2 | 3);
            let to = if is_unread {
                &mut there
            } else {
                &mut elsewhere
            };
            for entry in dir.list()? {
                let name = entry?.name;
                let room = self.config.dir();
                if is_unread && !inbox::is_unread_copy(room, state, agent, &name) {
                    if nth == 0
                        && let Some((at, seq)) = inbox::moved_back(room, state, agent, &name)
                    {
                        self.receipts.note_moved_back(agent, seq, at);
                    }
                    continue;
                }
                to.extend(layout::read_delivered(&name).map(|at| (at, name)));
            }
        }
        let undelivered = self.undelivered(agent);
        let left = state.mailboxes.unread(agent);
        for (at, seq) in
            left.filter(|(at, seq)| !there.contains_key(at) && !undelivered.contains(seq))
        {
            // The name matters only if the copy or its marker is in another directory.
            let name = elsewhere
                .remove(&at)
                .unwrap_or_else(|| layout::delivered(at, "", "").into());
            self.receipts
                .classify(self.config.dir(), state, agent, seq, &name);
        }
        Ok(())
    }

    /// Committed copies that could not be delivered yet. They were never in the inbox.
    fn undelivered(&self, agent: &Arc<str>) -> HashSet<u64> {
        let state = self.journal.state();
        let open = state
            .open
            .values()
            .filter(|open| self.progress.is_stuck(open.seq));
        let deliveries =
            open.flat_map(|open| open.deliveries().map(|delivery| (open.seq, delivery)));
        deliveries
            .filter(|(_, delivery)| {
                delivery.place == DeliveryDirectory::Inbox && delivery.agent == *agent
            })
            .filter(|(_, delivery)| self.storage.is_staged(delivery).unwrap_or(true))
            .map(|(seq, _)| seq)
            .collect()
    }
}
