//! What one batch takes, and what each sender may have of it. Copies are shared out, since they are what costs time: a
//! sender's work is cut into slices, between which everybody else's mail goes.

use super::budget::{Bill, Delay};
use super::pickup::Taken;
use crate::base::error::Problem;
use crate::base::limits;
use crate::disk::failpoint;
use crate::room::outbox::{Content, Line};
use crate::router::Router;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;

/// How many copies a batch may have: as many as lately took [`limits::BATCH_TIME`].
pub(crate) struct Share {
    most: usize,
    /// Was the last batch one message that has more copies than that?
    large: bool,
}

impl Default for Share {
    fn default() -> Share {
        Share { most: failpoint::batch_copies().unwrap_or(limits::BATCH_COPIES_FIRST), large: false }
    }
}

impl Share {
    /// A batch of so many copies took so long. A small one says nothing: what a batch costs by itself outweighs them.
    pub(crate) fn measured(&mut self, copies: usize, took: Duration) {
        self.large = copies > self.most;
        if copies * 2 < self.most || failpoint::batch_copies().is_some() {
            return;
        }
        let fits = copies as f64 * limits::BATCH_TIME.as_secs_f64() / took.as_secs_f64().max(0.001);
        let near = (fits as usize).clamp(self.most / 2, self.most * 2);
        self.most = near.clamp(limits::BATCH_COPIES_LEAST, limits::BATCH_COPIES);
    }
}

/// A batch as it is filled.
pub(crate) struct Batch {
    pub(crate) taken: Vec<Taken>,
    /// Senders whose next message is too large for what is left: they are first in the next batch.
    pub(crate) later: Vec<Arc<str>>,
    messages: usize,
    bytes: u64,
    copies: usize,
    /// May it be one message that is larger than a whole batch? Not twice in a row, so that others get between.
    pub(crate) large: bool,
}

impl Batch {
    pub(crate) fn new(share: &Share) -> Batch {
        Batch {
            taken: Vec::new(),
            later: Vec::new(),
            messages: limits::BATCH_MESSAGES,
            bytes: limits::BATCH_BYTES,
            copies: share.most,
            large: !share.large,
        }
    }

    pub(crate) fn is_full(&self) -> bool {
        self.messages == 0 || self.bytes == 0 || self.copies == 0
    }

    /// Is there room for a message with so many copies?
    pub(crate) fn fits(&self, copies: usize) -> bool {
        copies <= self.copies || self.taken.is_empty() && self.large
    }

    /// How many copies one sender may have where so many others wait.
    pub(crate) fn slice(&self, others: usize) -> usize {
        (self.copies / (others + 1)).max(limits::TURN.min(self.copies))
    }

    pub(crate) fn take(&mut self, one: Taken, copies: usize, bytes: u64) {
        self.messages = self.messages.saturating_sub(one.letters.len());
        self.bytes = self.bytes.saturating_sub(bytes);
        // One that is too large for a batch fills it.
        self.copies = self.copies.saturating_sub(copies);
        self.taken.push(one);
    }

    /// How many copies it has. That of a large message counts in full.
    pub(crate) fn copies(&self) -> usize {
        self.taken.iter().map(|one| one.copies).sum()
    }
}

/// What a file holds, or a line of it; read when it is its turn.
pub(crate) enum Piece {
    /// One message, of a file of so many bytes.
    One(Result<Value, Problem>, u64),
    /// A line.
    Line(Line),
    /// A line that can't be read.
    Wrong(Line, Problem),
}

/// A piece that was read.
pub(crate) type Said = (Option<Line>, Result<Value, Problem>);

impl Piece {
    pub(crate) fn of(content: Content, bytes: u64) -> Vec<Piece> {
        match content {
            Content::One(content) => vec![Piece::One(content, bytes)],
            Content::Lines(lines) => lines.into_iter().map(Piece::Line).collect(),
        }
    }

    /// The rest of a file behind this line, where it turns out to be no more than this.
    pub(crate) fn rest(behind: u32, content: Result<Value, Problem>) -> Piece {
        let line = Line { number: behind + 1, text: Vec::new() };
        match content {
            Ok(_) => Piece::Line(line),
            Err(problem) => Piece::Wrong(line, problem),
        }
    }

    fn read(self) -> (Said, u64) {
        match self {
            Piece::One(content, bytes) => ((None, content), bytes),
            Piece::Wrong(line, problem) => ((Some(line), Err(problem)), 0),
            Piece::Line(line) => {
                let (content, bytes) = ((&line).into(), line.text.len() as u64);
                ((Some(line), content), bytes)
            }
        }
    }
}

/// What of a file goes now: all of it, or some of its lines.
pub(crate) struct Cut {
    pub(crate) lines: Vec<Said>,
    pub(crate) copies: usize,
    pub(crate) bytes: u64,
    pub(crate) bill: Option<Bill>,
    /// Why not all of them go.
    pub(crate) stop: Option<Stop>,
}

/// Why the next message of a sender does not go now.
pub(crate) enum Stop {
    /// There is no room left for it.
    Full,
    /// It has to wait, for so long.
    Delay(Delay),
}

impl Router {
    /// As many of these as one sender may have now, in order: up to so many copies, and within its budgets.
    pub(crate) fn cut(&self, agent: &Arc<str>, pieces: Vec<Piece>, batch: &Batch, slice: usize) -> Cut {
        let mut bill = self.bill(agent);
        let mut cut = Cut { lines: Vec::new(), copies: 0, bytes: 0, bill: None, stop: None };
        for piece in pieces {
            let (said, bytes) = piece.read();
            let copies = self.count_copies(agent, &said.1);
            let fits = match cut.lines.is_empty() {
                true => batch.fits(copies),
                false => {
                    let copies = cut.copies + copies;
                    let more = cut.lines.len() < batch.messages && cut.bytes < batch.bytes;
                    copies <= slice.min(batch.copies) && more
                }
            };
            if !fits {
                cut.stop = Some(Stop::Full);
                break;
            }
            if let Err(delay) = self.charge(agent, &mut bill, copies, &said.1) {
                cut.stop = Some(Stop::Delay(delay));
                break;
            }
            cut.copies += copies;
            cut.bytes += bytes;
            cut.lines.push(said);
        }
        cut.bill = Some(bill);
        cut
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_disk_has_small_batches_and_a_fast_one_large_ones() {
        let mut share = Share { most: 2048, large: false };
        share.measured(2048, Duration::from_secs(2));
        assert_eq!(share.most, 1024, "by half at a time");
        (0..20).for_each(|_| share.measured(share.most, Duration::from_secs(60)));
        assert_eq!(share.most, limits::BATCH_COPIES_LEAST);
        (0..20).for_each(|_| share.measured(share.most, Duration::from_millis(1)));
        assert_eq!(share.most, limits::BATCH_COPIES);
        share.measured(10, Duration::from_secs(60));
        assert_eq!(share.most, limits::BATCH_COPIES, "a small batch says nothing");
    }

    #[test]
    fn a_message_that_is_larger_than_a_batch_goes_alone_and_every_other_time() {
        let mut share = Share { most: 1000, large: false };
        let batch = Batch::new(&share);
        assert!(batch.fits(10_000) && batch.fits(1000));
        share.measured(10_000, Duration::from_secs(1));
        let batch = Batch::new(&share);
        assert!(!batch.fits(10_000) && batch.fits(100));
    }
}
