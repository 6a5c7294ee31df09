//! The outboxes: pending files, the order of senders, and when a file is ready.

mod again;
mod content;
mod lines;
mod look;
mod patience;
mod strays;

pub use again::go_on;
pub use content::{Content, Line, Look, Ready, Terms, Whole};
pub use lines::read as read_lines;
pub use look::look;
pub use patience::Patience;
pub use strays::{Stray, cure_beside, stray, strays_in};

use crate::base::error::Result;
use crate::base::limits;
use crate::disk::{Dir, Listing, layout};
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::ffi::OsString;
use std::sync::Arc;

/// The most queued names of an outbox. With more names, the outbox is scanned instead.
const QUEUED: usize = 1024;
/// How many outboxes with more files may have [`SORTED`] queued names, in order. Of the others, the first names that a scan
/// finds are queued.
const SCANS: usize = 16;
/// How many names of an outbox are put in order at a time, the first ones.
const SORTED: usize = 1 << 16;
/// How many names a scan reads in one turn, so that an outbox with very many files holds up no other sender.
const READ: usize = 1 << 14;

/// All outboxes of the room, and the order of the next turns.
#[derive(Default)]
pub struct Outboxes {
    boxes: BTreeMap<Arc<str>, Outbox>,
    turns: VecDeque<Arc<str>>,
    scans: usize,
}

#[derive(Default)]
struct Outbox {
    names: VecDeque<OsString>,
    scan: Scan,
    /// The first names that an unfinished scan has found, the last of them on top.
    found: BinaryHeap<OsString>,
    /// Does the outbox have files that come after those?
    has_more: bool,
    /// The last name of those before, behind which the next scan goes on. So files that stay are read once.
    behind: Option<OsString>,
    /// May a file have arrived that the scans in progress do not find?
    missed: bool,
    /// Does this outbox have one of the places for many names?
    has_place: bool,
    /// The modification time of the directory at its last two scans. If both are equal, no file has arrived since, even
    /// if the file system's clock is coarse.
    times: [Option<i128>; 2],
    /// An unfinished picked-up file with several lines. The sender's other files wait for it.
    begun: Option<String>,
    in_line: bool,
    /// Some of the names that the router never takes.
    strays: Vec<OsString>,
}

#[derive(Default)]
enum Scan {
    #[default]
    None,
    Wanted,
    Open(Listing),
}

impl Outboxes {
    /// Notes that a file may have arrived in this outbox.
    pub fn hint(&mut self, agent: &Arc<str>, name: OsString) {
        let outbox = self.boxes.entry(agent.clone()).or_default();
        if outbox.names.len() >= QUEUED || !matches!(outbox.scan, Scan::None) {
            // The scan finds it, in its order.
            outbox.want_scan();
        } else {
            outbox.names.push_back(name);
        }
        Self::line_up(&mut self.turns, outbox, agent);
    }

    /// Requests a full scan of this outbox.
    pub fn scan(&mut self, agent: &Arc<str>) {
        let outbox = self.boxes.entry(agent.clone()).or_default();
        outbox.want_scan();
        Self::line_up(&mut self.turns, outbox, agent);
    }

    /// Requests a scan of the outbox if its modification time shows that a file may have arrived since the last two
    /// scans.
    pub fn sweep(&mut self, room: &Dir, agent: &Arc<str>) -> Result<()> {
        let time = room.stat(layout::outbox(agent))?.map(|meta| meta.changed);
        let outbox = self.boxes.entry(agent.clone()).or_default();
        let quiet = time.is_some() && outbox.times == [time, time];
        outbox.times = [time, outbox.times[0]];
        if !quiet {
            self.scan(agent);
        }
        Ok(())
    }

    /// Forgets an outbox, except an unfinished picked-up file.
    pub fn forget(&mut self, agent: &str) {
        let Some(Outbox { has_place, begun, in_line, .. }) = self.boxes.remove(agent) else { return };
        self.scans -= usize::from(has_place);
        if begun.is_some() {
            self.boxes.insert(agent.into(), Outbox { begun, in_line, ..Outbox::default() });
        } else {
            self.turns.retain(|waiting| &**waiting != agent);
        }
    }

    /// Sets the picked-up file with which this sender continues before its outbox is scanned again.
    pub fn begin(&mut self, agent: &Arc<str>, claim: Option<String>) {
        self.boxes.entry(agent.clone()).or_default().begun = claim;
    }

    /// Puts this sender at the end of the queue.
    pub fn line_up_again(&mut self, agent: &Arc<str>) {
        let outbox = self.boxes.entry(agent.clone()).or_default();
        Self::line_up(&mut self.turns, outbox, agent);
    }

    /// Puts this sender at the front of the queue.
    pub fn line_up_first(&mut self, agent: &Arc<str>) {
        let outbox = self.boxes.entry(agent.clone()).or_default();
        if !std::mem::replace(&mut outbox.in_line, true) {
            self.turns.push_front(agent.clone());
        }
    }

    /// The number of senders in the queue.
    pub fn in_line(&self) -> usize {
        self.turns.len()
    }

    /// Is this sender in the queue?
    pub fn is_in_line(&self, agent: &str) -> bool {
        self.boxes.get(agent).is_some_and(|outbox| outbox.in_line)
    }

    /// Is the queue empty?
    pub fn is_idle(&self) -> bool {
        self.turns.is_empty()
    }

    /// The next turn, with some names of the outbox. `None` if the queue is empty. Names are in the order of their
    /// events. After a scan they are sorted.
    pub fn next_turn(&mut self, room: &Dir) -> Option<(Arc<str>, Result<SenderTurn>)> {
        let agent = self.turns.pop_front()?;
        let outbox = self.boxes.get_mut(&agent)?;
        outbox.in_line = false;
        if let Some(claim) = &outbox.begun {
            return Some((agent, Ok(SenderTurn::Begun(claim.clone()))));
        }
        let turn = room.sub(layout::outbox(&agent)).and_then(|dir| {
            outbox.fill(&dir, &mut self.scans)?;
            if matches!(outbox.scan, Scan::Open(_)) && outbox.names.is_empty() {
                return Ok(SenderTurn::Scanning);
            }
            let take = outbox.names.len().min(limits::TURN);
            let names = outbox.names.drain(..take).collect();
            if outbox.names.len() <= QUEUED {
                outbox.leave_place(&mut self.scans);
            }
            let uid = dir.meta()?.uid;
            Ok(SenderTurn::Files(Files { dir, names, uid }))
        });
        if turn.is_err() {
            outbox.leave_place(&mut self.scans);
        }
        if turn.is_ok() && (!outbox.names.is_empty() || !matches!(outbox.scan, Scan::None)) {
            Self::line_up(&mut self.turns, outbox, &agent);
        }
        Some((agent, turn))
    }

    /// Returns names that were not examined. They come first in the next turn of their outbox.
    pub fn give_back(&mut self, agent: &Arc<str>, names: Vec<OsString>) {
        let outbox = self.boxes.entry(agent.clone()).or_default();
        names.into_iter().rev().for_each(|name| outbox.names.push_front(name));
        if !outbox.names.is_empty() {
            Self::line_up(&mut self.turns, outbox, agent);
        }
    }

    /// Returns names that are not ready. They come first when the outbox is examined again after an event or a scan.
    pub fn rest(&mut self, agent: &Arc<str>, names: Vec<OsString>) {
        let outbox = self.boxes.entry(agent.clone()).or_default();
        names.into_iter().rev().for_each(|name| outbox.names.push_front(name));
        // Other outboxes need the place.
        outbox.give_up_place(&mut self.scans);
        if std::mem::take(&mut outbox.in_line) {
            self.turns.retain(|waiting| waiting != agent);
        }
    }

    /// The outboxes that contain names the router never takes.
    pub fn with_strays(&self) -> impl Iterator<Item = &Arc<str>> {
        self.boxes.iter().filter(|(_, outbox)| !outbox.strays.is_empty()).map(|(agent, _)| agent)
    }

    /// Those names in this outbox.
    pub fn strays(&self, agent: &str) -> Vec<OsString> {
        self.boxes.get(agent).map(|outbox| outbox.strays.clone()).unwrap_or_default()
    }

    fn line_up(turns: &mut VecDeque<Arc<str>>, outbox: &mut Outbox, agent: &Arc<str>) {
        if !std::mem::replace(&mut outbox.in_line, true) {
            turns.push_back(agent.clone());
        }
    }
}

/// The work of one turn.
pub enum SenderTurn {
    /// A picked-up file with further lines.
    Begun(String),
    /// New files of the outbox.
    Files(Files),
    /// It has very many files, and their order is not known yet.
    Scanning,
}

/// The files of one turn.
pub struct Files {
    /// The outbox directory.
    pub dir: Dir,
    /// Names in it that can be messages.
    pub names: Vec<OsString>,
    /// The owner of the outbox.
    pub uid: u32,
}

impl Outbox {
    /// Wants a scan from the beginning, behind what is in progress.
    fn want_scan(&mut self) {
        match self.scan {
            Scan::None => (self.scan, self.behind) = (Scan::Wanted, None),
            Scan::Wanted => self.missed |= self.behind.is_some(),
            Scan::Open(_) => self.missed = true,
        }
    }

    /// Keeps no more than each outbox may have.
    fn give_up_place(&mut self, places: &mut usize) {
        self.leave_place(places);
        if self.names.len() > QUEUED || !matches!(self.scan, Scan::None) {
            (self.scan, self.behind) = (Scan::Wanted, None);
        }
        self.names.truncate(QUEUED);
        self.found = BinaryHeap::new();
    }

    fn leave_place(&mut self, places: &mut usize) {
        *places -= usize::from(std::mem::take(&mut self.has_place));
    }

    /// Reads the next names, if all were taken.
    fn fill(&mut self, dir: &Dir, places: &mut usize) -> Result<()> {
        if !self.names.is_empty() {
            return Ok(());
        }
        let mut listing = match std::mem::take(&mut self.scan) {
            Scan::None => return Ok(()),
            Scan::Wanted => {
                self.strays.clear();
                self.found.clear();
                self.has_more = false;
                dir.list()?
            }
            Scan::Open(listing) => listing,
        };
        let mut read = 0;
        while let Some(entry) = listing.next() {
            self.find(entry?.name);
            read += 1;
            if !self.has_place && self.found.len() >= QUEUED {
                if *places >= SCANS {
                    self.names = std::mem::take(&mut self.found).into_sorted_vec().into();
                    (self.scan, self.behind) = (Scan::Wanted, None);
                    return Ok(());
                }
                (*places, self.has_place) = (*places + 1, true);
            }
            if self.has_place && read >= READ {
                self.scan = Scan::Open(listing);
                return Ok(());
            }
        }
        self.names = std::mem::take(&mut self.found).into_sorted_vec().into();
        self.behind = self.names.back().filter(|_| self.has_more).cloned();
        if self.has_more || std::mem::take(&mut self.missed) {
            self.scan = Scan::Wanted;
        }
        Ok(())
    }

    /// A scan has found this name. Of very many, the first ones are kept.
    fn find(&mut self, name: OsString) {
        if !layout::is_message_file(&name) {
            if self.strays.len() < limits::STRAYS && !self.strays.contains(&name) {
                self.strays.push(name);
            }
            return;
        }
        if self.behind.as_ref().is_some_and(|behind| name <= *behind) {
            return;
        }
        if self.found.len() < SORTED {
            return self.found.push(name);
        }
        self.has_more = true;
        if let Some(mut last) = self.found.peek_mut().filter(|last| name < **last) {
            *last = name;
        }
    }
}
