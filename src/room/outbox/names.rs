//! The names of one outbox's files, in the order of their pickup.

use crate::base::error::Result;
use crate::base::limits;
use crate::disk::{Dir, DirectoryListing, layout};
use std::collections::{BinaryHeap, VecDeque};
use std::ffi::OsString;

/// The most requests for a pass that a scan of an outbox keeps.
const PASS_REQUESTS: usize = 1000;

/// The most queued names of an outbox. With more names, the outbox is scanned instead.
const QUEUED: usize = 1024;
/// The most outboxes with [`SORTED`] queued names, in order. Any other outbox with more than [`QUEUED`] files queues the
/// first names that a scan finds.
const SCANS: usize = 16;
/// The number of first names of an outbox that are sorted at a time.
const SORTED: usize = 1 << 16;
/// The most names that a scan reads in one turn, so that an outbox with very many files delays no other sender.
const READ: usize = 1 << 14;

/// The number of outboxes that may queue more than [`QUEUED`] names.
#[derive(Default)]
pub(super) struct LargeQueueSlots(usize);

/// The queued names of one outbox, and the scan for more.
#[derive(Default)]
pub(super) struct OutboxNames {
    queued: VecDeque<OsString>,
    scan: OutboxScan,
    /// The last name of the previous scan. The next scan continues after it, so that each file is read once.
    behind: Option<OsString>,
    /// True if a file may have arrived that the scans in progress do not find.
    missed: bool,
    /// True if this outbox may queue many names.
    has_place: bool,
    /// Some of the names that the router never takes.
    strays: Vec<OsString>,
    /// Requests for a pass that a scan has found.
    requests: Vec<OsString>,
}

#[derive(Default)]
enum OutboxScan {
    #[default]
    None,
    Wanted,
    Open(ActiveScan),
}

/// A scan in progress. It reads the directory twice, because a reading can miss files that arrive during it. Up to the
/// last name of the first reading, the second reading finds all files that were dropped in order.
struct ActiveScan {
    listing: DirectoryListing,
    /// The last name that the first reading has found. `None` during that reading.
    until: Option<OsString>,
    /// The first names that this reading has found. The last one is on top.
    found: BinaryHeap<OsString>,
    /// True if the outbox has files after `found`.
    has_more: bool,
}

impl ActiveScan {
    fn new(dir: &Dir, until: Option<OsString>) -> Result<ActiveScan> {
        Ok(ActiveScan {
            listing: dir.list()?,
            until,
            found: BinaryHeap::new(),
            has_more: false,
        })
    }

    /// Begins the second reading, if the first one has ended and found a file.
    fn again(&self, dir: &Dir) -> Result<Option<ActiveScan>> {
        match (self.found.peek(), &self.until) {
            (Some(last), None) => ActiveScan::new(dir, Some(last.clone())).map(Some),
            _ => Ok(None),
        }
    }
}

impl OutboxNames {
    /// Notes that this file may have arrived.
    pub(super) fn arrived(&mut self, name: OsString) {
        if self.queued.len() >= QUEUED || !matches!(self.scan, OutboxScan::None) {
            // A scan finds it, in order.
            self.want_scan();
        } else {
            self.queued.push_back(name);
        }
    }

    /// Requests a scan from the beginning, after the scan in progress.
    pub(super) fn want_scan(&mut self) {
        match self.scan {
            OutboxScan::None => self.start_again(),
            OutboxScan::Wanted => self.missed |= self.behind.is_some(),
            OutboxScan::Open(_) => self.missed = true,
        }
    }

    /// Reads a part of the directory if no names are queued and a scan is wanted.
    pub(super) fn fill(&mut self, dir: &Dir, places: &mut LargeQueueSlots) -> Result<()> {
        if !self.queued.is_empty() {
            return Ok(());
        }
        let mut open = match std::mem::take(&mut self.scan) {
            OutboxScan::None => return Ok(()),
            OutboxScan::Wanted => {
                self.strays.clear();
                ActiveScan::new(dir, None)?
            }
            OutboxScan::Open(open) => open,
        };
        let mut read = 0;
        loop {
            let Some(entry) = open.listing.next() else {
                let Some(second) = open.again(dir)? else {
                    break;
                };
                open = second;
                continue;
            };
            self.find(&mut open, entry?.name);
            read += 1;
            if open.found.len() >= QUEUED && !self.take_place(places) {
                self.queued = open.found.into_sorted_vec().into();
                self.start_again();
                return Ok(());
            }
            if self.has_place && read >= READ {
                self.scan = OutboxScan::Open(open);
                return Ok(());
            }
        }
        self.queued = open.found.into_sorted_vec().into();
        self.behind = None;
        if open.has_more {
            self.behind = self.queued.back().cloned();
        }
        if open.has_more || std::mem::take(&mut self.missed) {
            self.scan = OutboxScan::Wanted;
        }
        Ok(())
    }

    /// Takes at most `most` names out of the queue.
    pub(super) fn take(&mut self, most: usize, places: &mut LargeQueueSlots) -> Vec<OsString> {
        let taken = self.queued.drain(..self.queued.len().min(most)).collect();
        if self.queued.len() <= QUEUED {
            self.leave_place(places);
        }
        taken
    }

    /// Returns names to the front of the queue.
    pub(super) fn put_back(&mut self, names: Vec<OsString>) {
        for name in names.into_iter().rev() {
            self.queued.push_front(name);
        }
    }

    /// Keeps at most [`QUEUED`] names.
    pub(super) fn shrink(&mut self, places: &mut LargeQueueSlots) {
        self.leave_place(places);
        if self.queued.len() > QUEUED || !matches!(self.scan, OutboxScan::None) {
            self.start_again();
        }
        self.queued.truncate(QUEUED);
    }

    /// Gives up the right to queue many names.
    pub(super) fn leave_place(&mut self, places: &mut LargeQueueSlots) {
        places.0 -= usize::from(std::mem::take(&mut self.has_place));
    }

    /// Returns true if the queue is empty.
    pub(super) fn is_empty(&self) -> bool {
        self.queued.is_empty()
    }

    /// Returns true if a scan is in progress.
    pub(super) fn is_scanning(&self) -> bool {
        matches!(self.scan, OutboxScan::Open(_))
    }

    /// Returns true if the queue is empty and no scan is requested.
    pub(super) fn is_done(&self) -> bool {
        self.queued.is_empty() && matches!(self.scan, OutboxScan::None)
    }

    /// Some of the names that the router never takes.
    pub(super) fn strays(&self) -> &[OsString] {
        &self.strays
    }

    /// Takes the requests for a pass that scans have found.
    pub(super) fn take_requests(&mut self) -> Vec<OsString> {
        std::mem::take(&mut self.requests)
    }

    fn start_again(&mut self) {
        (self.scan, self.behind) = (OutboxScan::Wanted, None);
    }

    fn take_place(&mut self, places: &mut LargeQueueSlots) -> bool {
        if !self.has_place && places.0 < SCANS {
            (places.0, self.has_place) = (places.0 + 1, true);
        }
        self.has_place
    }

    /// Records a name that a scan has found. If there are very many, the first ones are kept.
    fn find(&mut self, open: &mut ActiveScan, name: OsString) {
        if layout::is_pass_request(&name) {
            if self.requests.len() < PASS_REQUESTS {
                self.requests.push(name);
            }
            return;
        }
        if !layout::is_message_file(&name) {
            if self.strays.len() < limits::STRAYS && !self.strays.contains(&name) {
                self.strays.push(name);
            }
            return;
        }
        if self.behind.as_ref().is_some_and(|behind| name <= *behind) {
            return;
        }
        if open.until.as_ref().is_some_and(|until| name > *until) {
            return open.has_more = true;
        }
        if open.found.len() < SORTED {
            return open.found.push(name);
        }
        open.has_more = true;
        if let Some(mut last) = open.found.peek_mut().filter(|last| name < **last) {
            *last = name;
        }
    }
}
