//! The outboxes: which files wait in them, whose turn it is, and when a file is ready to be taken.

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
use std::collections::{BTreeMap, VecDeque};
use std::ffi::OsString;
use std::sync::Arc;

/// How many names one outbox may have queued before it is scanned instead.
const QUEUED: usize = 1024;
/// How many directory scans are kept open from turn to turn; another outbox begins its scan anew at each turn.
const SCANS: usize = 16;

/// All outboxes of the room, and who is next.
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
    /// The directory's time when it was last read, and at the sweep before: equal means that nothing has come since,
    /// however coarse the file system's clock.
    times: [Option<i128>; 2],
    /// The claim of a file of lines that is routed in several batches: its sender's other files wait behind it.
    begun: Option<String>,
    in_line: bool,
    /// Names that will never be taken, a few.
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
    /// A file may have come into this outbox.
    pub fn hint(&mut self, agent: &Arc<str>, name: OsString) {
        let outbox = self.boxes.entry(agent.clone()).or_default();
        if outbox.names.len() >= QUEUED {
            outbox.want_scan();
        } else {
            outbox.names.push_back(name);
        }
        Self::line_up(&mut self.turns, outbox, agent);
    }

    /// This outbox is to be read from the beginning.
    pub fn scan(&mut self, agent: &Arc<str>) {
        let outbox = self.boxes.entry(agent.clone()).or_default();
        outbox.want_scan();
        Self::line_up(&mut self.turns, outbox, agent);
    }

    /// Looks at the outbox's own time, and has it read if anything may have come since the last two looks.
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

    /// Forgets an outbox, though not a file of lines that was begun.
    pub fn forget(&mut self, agent: &str) {
        let Some(Outbox { scan, begun, in_line, .. }) = self.boxes.remove(agent) else { return };
        self.scans -= usize::from(matches!(scan, Scan::Open(_)));
        if begun.is_some() {
            self.boxes.insert(agent.into(), Outbox { begun, in_line, ..Outbox::default() });
        } else {
            self.turns.retain(|waiting| &**waiting != agent);
        }
    }

    /// Says with which claim this sender goes on before its outbox is looked at again.
    pub fn begin(&mut self, agent: &Arc<str>, claim: Option<String>) {
        self.boxes.entry(agent.clone()).or_default().begun = claim;
    }

    /// Lines this sender up, behind the others.
    pub fn line_up_again(&mut self, agent: &Arc<str>) {
        let outbox = self.boxes.entry(agent.clone()).or_default();
        Self::line_up(&mut self.turns, outbox, agent);
    }

    /// Lines this sender up, in front of the others.
    pub fn line_up_first(&mut self, agent: &Arc<str>) {
        let outbox = self.boxes.entry(agent.clone()).or_default();
        if !std::mem::replace(&mut outbox.in_line, true) {
            self.turns.push_front(agent.clone());
        }
    }

    /// How many senders wait for their turn.
    pub fn in_line(&self) -> usize {
        self.turns.len()
    }

    /// Does any outbox wait for its turn?
    pub fn is_idle(&self) -> bool {
        self.turns.is_empty()
    }

    /// The next outbox in turn, with some of its names; `None` when no outbox waits. Names are in the order in which
    /// their events came, or where the directory was read, in the order of the names, a thousand at a time.
    pub fn next_turn(&mut self, room: &Dir) -> Option<(Arc<str>, Result<Turn>)> {
        let agent = self.turns.pop_front()?;
        let outbox = self.boxes.get_mut(&agent)?;
        outbox.in_line = false;
        if let Some(claim) = &outbox.begun {
            return Some((agent, Ok(Turn::Begun(claim.clone()))));
        }
        let turn = room.sub(layout::outbox(&agent)).and_then(|dir| {
            outbox.fill(&dir, &mut self.scans)?;
            let take = outbox.names.len().min(limits::TURN);
            let names = outbox.names.drain(..take).collect();
            let uid = dir.meta()?.uid;
            Ok(Turn::Files(Files { dir, names, uid }))
        });
        if turn.is_ok() && (!outbox.names.is_empty() || !matches!(outbox.scan, Scan::None)) {
            Self::line_up(&mut self.turns, outbox, &agent);
        }
        Some((agent, turn))
    }

    /// Gives back names that were not looked at, to be the first of their outbox's next turn.
    pub fn give_back(&mut self, agent: &Arc<str>, names: Vec<OsString>) {
        let outbox = self.boxes.entry(agent.clone()).or_default();
        names.into_iter().rev().for_each(|name| outbox.names.push_front(name));
        if !outbox.names.is_empty() {
            Self::line_up(&mut self.turns, outbox, agent);
        }
    }

    /// Gives back names that have to wait, first in line for when the outbox is looked at again: by a hint, or a scan.
    pub fn rest(&mut self, agent: &Arc<str>, names: Vec<OsString>) {
        let outbox = self.boxes.entry(agent.clone()).or_default();
        names.into_iter().rev().for_each(|name| outbox.names.push_front(name));
        // What it has read of the directory stands in `names`; an open directory would be kept from others.
        if matches!(outbox.scan, Scan::Open(_)) {
            outbox.scan = Scan::Wanted;
            self.scans -= 1;
        }
        if std::mem::take(&mut outbox.in_line) {
            self.turns.retain(|waiting| waiting != agent);
        }
    }

    /// Outboxes in which something stands that is no mail.
    pub fn with_strays(&self) -> impl Iterator<Item = &Arc<str>> {
        self.boxes.iter().filter(|(_, outbox)| !outbox.strays.is_empty()).map(|(agent, _)| agent)
    }

    /// What stands in this one.
    pub fn strays(&self, agent: &str) -> Vec<OsString> {
        self.boxes.get(agent).map(|outbox| outbox.strays.clone()).unwrap_or_default()
    }

    fn line_up(turns: &mut VecDeque<Arc<str>>, outbox: &mut Outbox, agent: &Arc<str>) {
        if !std::mem::replace(&mut outbox.in_line, true) {
            turns.push_back(agent.clone());
        }
    }
}

/// What a sender's turn is about.
pub enum Turn {
    /// A claim with further lines.
    Begun(String),
    /// Its outbox.
    Files(Files),
}

/// One outbox's turn.
pub struct Files {
    /// The outbox.
    pub dir: Dir,
    /// Names in it that may be messages.
    pub names: Vec<OsString>,
    /// Who owns the outbox.
    pub uid: u32,
}

impl Outbox {
    fn want_scan(&mut self) {
        if matches!(self.scan, Scan::None) {
            self.scan = Scan::Wanted;
        }
    }

    fn fill(&mut self, dir: &Dir, open: &mut usize) -> Result<()> {
        if !self.names.is_empty() {
            return Ok(());
        }
        let mut listing = match std::mem::take(&mut self.scan) {
            Scan::None => return Ok(()),
            Scan::Wanted => {
                self.strays.clear();
                dir.list()?
            }
            Scan::Open(listing) => {
                *open -= 1;
                listing
            }
        };
        while self.names.len() < QUEUED {
            let Some(entry) = listing.next() else {
                self.names.make_contiguous().sort_unstable();
                return Ok(());
            };
            let name = entry?.name;
            if layout::is_message_file(&name) {
                self.names.push_back(name);
            } else if self.strays.len() < limits::STRAYS && !self.strays.contains(&name) {
                self.strays.push(name);
            }
        }
        self.names.make_contiguous().sort_unstable();
        self.scan = if *open < SCANS {
            *open += 1;
            Scan::Open(listing)
        } else {
            Scan::Wanted
        };
        Ok(())
    }
}
