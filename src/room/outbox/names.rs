//! The names of one outbox's files, in the order of their pickup.

use crate::base::error::Result;
use crate::base::limits;
use crate::disk::{Dir, layout};
use std::collections::VecDeque;
use std::ffi::OsString;

/// The most queued names of an outbox. With more files, the outbox is scanned again after these.
const QUEUED: usize = 1 << 16;

/// The most requests for a pass that a scan of an outbox keeps.
const PASS_REQUESTS: usize = 1000;

/// The queued names of one outbox.
#[derive(Default)]
pub(super) struct OutboxNames {
    queued: VecDeque<OsString>,
    /// True if a file may be there that is not queued.
    is_scan_wanted: bool,
    /// The last name of the previous scan, if the outbox has more files. The next scan begins after it.
    behind: Option<OsString>,
    /// True if a file may have come before `behind`.
    is_behind_stale: bool,
    /// Some of the names that the router never takes.
    strays: Vec<OsString>,
    /// Requests for a pass that a scan has found.
    requests: Vec<OsString>,
}

impl OutboxNames {
    /// Notes that this file may have arrived.
    pub(super) fn arrived(&mut self, name: OsString) {
        if self.is_scan_wanted || self.queued.len() >= QUEUED {
            // A scan finds it, in order.
            self.want_scan();
        } else {
            self.queued.push_back(name);
        }
    }

    /// Requests a scan after the queued names.
    pub(super) fn want_scan(&mut self) {
        self.is_scan_wanted = true;
        self.is_behind_stale = self.behind.is_some();
    }

    /// Scans the directory if no names are queued and a scan is wanted.
    pub(super) fn fill(&mut self, dir: &Dir) -> Result<()> {
        if !self.queued.is_empty() || !std::mem::take(&mut self.is_scan_wanted) {
            return Ok(());
        }
        self.strays.clear();
        let mut names = self.scan(dir)?;
        // A reading can miss files that arrive during it. The second one finds all that were dropped before the last name of the
        // first.
        if let Some(last) = names.last().cloned() {
            names = self.scan(dir)?;
            names.truncate(names.partition_point(|name| *name <= last));
        }
        let has_more = names.len() > QUEUED;
        names.truncate(QUEUED);
        self.behind = None;
        if has_more {
            self.behind = names.last().cloned();
        }
        self.is_scan_wanted = has_more || std::mem::take(&mut self.is_behind_stale);
        self.queued = names.into();
        Ok(())
    }

    /// The message files of the directory after the last scan, sorted.
    fn scan(&mut self, dir: &Dir) -> Result<Vec<OsString>> {
        let mut names = Vec::new();
        for entry in dir.list()? {
            let name = entry?.name;
            let (others, most) = if layout::is_message_file(&name) {
                if self.behind.as_ref().is_none_or(|behind| name > *behind) {
                    names.push(name);
                }
                continue;
            } else if layout::is_pass_request(&name) {
                (&mut self.requests, PASS_REQUESTS)
            } else {
                (&mut self.strays, limits::STRAYS)
            };
            if others.len() < most && !others.contains(&name) {
                others.push(name);
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    /// Takes at most `most` names out of the queue.
    pub(super) fn take(&mut self, most: usize) -> Vec<OsString> {
        self.queued.drain(..self.queued.len().min(most)).collect()
    }

    /// Returns names to the front of the queue.
    pub(super) fn put_back(&mut self, names: Vec<OsString>) {
        for name in names.into_iter().rev() {
            self.queued.push_front(name);
        }
    }

    /// Returns true if the queue is empty.
    pub(super) fn is_empty(&self) -> bool {
        self.queued.is_empty()
    }

    /// Returns true if the queue is empty and no scan is requested.
    pub(super) fn is_done(&self) -> bool {
        self.queued.is_empty() && !self.is_scan_wanted
    }

    /// Some of the names that the router never takes.
    pub(super) fn strays(&self) -> &[OsString] {
        &self.strays
    }

    /// Takes the requests for a pass that scans have found.
    pub(super) fn take_requests(&mut self) -> Vec<OsString> {
        std::mem::take(&mut self.requests)
    }
}
