//! Receipts: the router sees by events, and by looking, which copies left an inbox, also while no router ran.

use crate::base::clock::Stamp;
use crate::base::error::Result;
use crate::base::limits;
use crate::disk::layout;
use crate::log::state::{Place, State};
use crate::router::parts::{Config, Pending, Progress, Receipts, Storage};
use std::collections::{BTreeMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::Arc;

/// A change that is younger than this, in nanoseconds, may not be the last one with its time.
const RECENT: i128 = 1_000_000_000;

/// Looks for copies that left an inbox.
pub(in crate::router) struct Look<'a> {
    pub(in crate::router) config: &'a Config,
    pub(in crate::router) storage: &'a Storage,
    pub(in crate::router) state: &'a State,
    pub(in crate::router) progress: &'a Progress,
    pub(in crate::router) receipts: &'a mut Receipts,
    pub(in crate::router) pending: &'a mut Pending,
}

/// A file left this agent's inbox, or its directory of leased copies.
pub(in crate::router) fn left(
    config: &Config,
    state: &State,
    receipts: &mut Receipts,
    agent: &str,
    name: &OsStr,
) {
    let Some(at) = layout::read_delivered(name) else {
        return;
    };
    let Some(seq) = state.mailboxes.unread_at(agent, at) else {
        return;
    };
    receipts.classify(config.dir(), state, &agent.into(), seq, name);
}

impl Look<'_> {
    /// Looks into every inbox with unread mail, or only into those that changed since the log's last record.
    pub(in crate::router) fn run(&mut self, all: bool) {
        let agents: Vec<Arc<str>> = self.state.mailboxes.with_unread().cloned().collect();
        // Two clocks may stamp a directory and the log: how far apart they are is unknown.
        let recent =
            (self.state.at.micros() - limits::CLOCKS_APART.as_micros() as i64) as i128 * 1000;
        let now = Stamp::now().micros() as i128 * 1000;
        for agent in agents {
            // With a slash, unlike the place that is pending when a delivery fails.
            let place = format!("{}/", layout::inbox(&agent).display());
            let changed = match self.config.dir().stat(layout::inbox(&agent)) {
                Ok(Some(meta)) => meta.changed,
                Ok(None) => continue,
                Err(e) => {
                    self.pending.failed(&place, e.to_string());
                    continue;
                }
            };
            if self.receipts.is_known(&agent, changed) || (!all && changed < recent) {
                continue;
            }
            match self.look_into(&agent) {
                Ok(()) => {
                    self.pending.clear(&place);
                    // A file system's clock is coarse: a recent change may be followed by another with the same time.
                    if now - changed >= RECENT {
                        self.receipts.looked_at(agent, changed);
                    }
                }
                Err(e) => self.pending.failed(&place, e.to_string()),
            }
        }
    }

    fn look_into(&mut self, agent: &Arc<str>) -> Result<()> {
        let mut there: BTreeMap<Stamp, OsString> = BTreeMap::new();
        let mut elsewhere: BTreeMap<Stamp, OsString> = BTreeMap::new();
        let places = [
            layout::inbox(agent),
            layout::taken(agent),
            layout::expired(agent),
            layout::announced(agent),
        ];
        // What could not be moved yet did not leave.
        let renamed = self
            .state
            .open
            .values()
            .filter_map(|open| open.renamed.as_ref());
        let former = renamed
            .filter(|renamed| renamed.to == *agent)
            .map(|renamed| &renamed.of);
        let former: Vec<PathBuf> = former
            .flat_map(|of| [layout::inbox(of), layout::taken(of)])
            .collect();
        for (nth, place) in places.into_iter().chain(former).enumerate() {
            let dir = match self.config.dir().sub(place) {
                Err(e) if e.errno() == Some(libc::ENOENT) && nth > 0 => continue,
                dir => dir?,
            };
            let to = if matches!(nth, 2 | 3) {
                &mut elsewhere
            } else {
                &mut there
            };
            for entry in dir.list()? {
                let name = entry?.name;
                to.extend(layout::read_delivered(&name).map(|at| (at, name)));
            }
        }
        let undelivered = self.undelivered(agent);
        let left = self.state.mailboxes.unread(agent);
        for (at, seq) in
            left.filter(|(at, seq)| !there.contains_key(at) && !undelivered.contains(seq))
        {
            // The name matters only where the copy left something behind.
            let name = elsewhere
                .remove(&at)
                .unwrap_or_else(|| layout::delivered(at, "", "").into());
            self.receipts
                .classify(self.config.dir(), self.state, agent, seq, &name);
        }
        Ok(())
    }

    // Committed copies that could not be delivered yet were never in the inbox.
    fn undelivered(&self, agent: &Arc<str>) -> HashSet<u64> {
        let open = self
            .state
            .open
            .values()
            .filter(|open| self.progress.is_stuck(open.seq));
        let deliveries =
            open.flat_map(|open| open.deliveries().map(|delivery| (open.seq, delivery)));
        deliveries
            .filter(|(_, delivery)| delivery.place == Place::Inbox && delivery.agent == *agent)
            .filter(|(_, delivery)| self.storage.is_staged(delivery).unwrap_or(true))
            .map(|(seq, _)| seq)
            .collect()
    }
}
