//! How much one batch takes, and each sender's slice of the batch. Slices are counted in copies, because copies cost the
//! time; the router takes other senders' mail between two slices of one sender.

use super::budget::{Bill, Budgets, Delay};
use super::config::Config;
use crate::base::clock::Stamp;
use crate::base::error::Problem;
use crate::base::limits;
use crate::disk::failpoint;
use crate::message::schema;
use crate::room::outbox::{Content, Line};
use crate::room::registry::Registry;
use crate::room::resolve::{self, Availability};
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;

/// How many copies a batch may have: as many as recently took [`limits::BATCH_TIME`].
pub(crate) struct Share {
    most: usize,
    /// Was the last batch one message with more copies than that?
    large: bool,
}

impl Default for Share {
    fn default() -> Share {
        Share {
            most: failpoint::batch_copies().unwrap_or(limits::BATCH_COPIES_FIRST),
            large: false,
        }
    }
}

impl Share {
    /// Measures a batch. A small batch does not count: its fixed costs outweigh those of its copies.
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

/// How much of a batch is left while it is filled.
pub(crate) struct Batch {
    /// Senders whose next message is too large for the rest of the batch: they are first in the next batch.
    pub(crate) later: Vec<Arc<str>>,
    messages: usize,
    bytes: u64,
    copies: usize,
    /// How many copies were added. Those of a large message count in full.
    added: usize,
    is_empty: bool,
    /// May it be one message that is larger than a whole batch? Not twice in a row, so that other mail goes between.
    pub(crate) large: bool,
}

impl Batch {
    pub(crate) fn new(share: &Share) -> Batch {
        Batch {
            later: Vec::new(),
            messages: limits::BATCH_MESSAGES,
            bytes: limits::BATCH_BYTES,
            copies: share.most,
            added: 0,
            is_empty: true,
            large: !share.large,
        }
    }

    pub(crate) fn is_full(&self) -> bool {
        self.messages == 0 || self.bytes == 0 || self.copies == 0
    }

    /// Is there room for a message with so many copies?
    pub(crate) fn fits(&self, copies: usize) -> bool {
        copies <= self.copies || self.is_empty && self.large
    }

    /// How many copies one sender may have while this many other senders have mail.
    pub(crate) fn slice(&self, others: usize) -> usize {
        (self.copies / (others + 1)).max(limits::TURN.min(self.copies))
    }

    pub(crate) fn add(&mut self, messages: usize, copies: usize, bytes: u64) {
        self.messages = self.messages.saturating_sub(messages);
        self.bytes = self.bytes.saturating_sub(bytes);
        // A message that is too large for a batch fills it.
        self.copies = self.copies.saturating_sub(copies);
        self.added += copies;
        self.is_empty = false;
    }

    /// Was nothing added yet?
    pub(crate) fn is_empty(&self) -> bool {
        self.is_empty
    }

    /// How many copies were added.
    pub(crate) fn copies_added(&self) -> usize {
        self.added
    }
}

/// A message of a file, parsed when its turn comes.
pub(crate) enum Piece {
    /// The only message of a file of this many bytes.
    One(Result<Value, Problem>, u64),
    /// A line.
    Line(Line),
    /// A line that cannot be read.
    Wrong(Line, Problem),
}

/// A parsed piece, with its line where the file holds several.
pub(crate) type Parsed = (Option<Line>, Result<Value, Problem>);

impl Piece {
    pub(crate) fn of(content: Content, bytes: u64) -> Vec<Piece> {
        match content {
            Content::One(content) => vec![Piece::One(content, bytes)],
            Content::Lines(lines) => lines.into_iter().map(Piece::Line).collect(),
        }
    }

    /// The rest of a file after this line, where the rest is one message.
    pub(crate) fn rest(behind: u32, content: Result<Value, Problem>) -> Piece {
        let line = Line {
            number: behind + 1,
            text: Vec::new(),
        };
        match content {
            Ok(_) => Piece::Line(line),
            Err(problem) => Piece::Wrong(line, problem),
        }
    }

    fn read(self) -> (Parsed, u64) {
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

/// The part of a file that goes into this batch: all of it, or some of its lines.
pub(crate) struct Cut {
    pub(crate) lines: Vec<Parsed>,
    pub(crate) copies: usize,
    pub(crate) bytes: u64,
    pub(crate) bill: Option<Bill>,
    /// Why some lines stay.
    pub(crate) stop: Option<Stop>,
}

/// Lines of a file that are left to a later batch, because the batch takes too long.
pub(crate) struct Late {
    pub(crate) agent: Arc<str>,
    pub(crate) claim: String,
    pub(crate) lines: usize,
    pub(crate) copies: usize,
    /// Is an earlier line of the file in this batch?
    pub(crate) begun: bool,
}

/// Why the next message of a sender stays.
pub(crate) enum Stop {
    /// The batch has no room left for it.
    Full,
    /// It is delayed.
    Delay(Delay),
}

/// As many of these as the sender may have now, in order: up to `slice` copies, and within its budgets.
pub(super) fn cut(
    config: &Config,
    budgets: &Budgets,
    agent: &Arc<str>,
    pieces: Vec<Piece>,
    (batch, slice): (&Batch, usize),
) -> Cut {
    let mut bill = budgets.bill(agent);
    let mut cut = Cut {
        lines: Vec::new(),
        copies: 0,
        bytes: 0,
        bill: None,
        stop: None,
    };
    for piece in pieces {
        let (line, bytes) = piece.read();
        let copies = count_copies(config.registry(), agent, &line.1);
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
        if let Err(delay) = budgets.charge(config.settings(), agent, &mut bill, copies, &line.1) {
            cut.stop = Some(Stop::Delay(delay));
            break;
        }
        cut.copies += copies;
        cut.bytes += bytes;
        cut.lines.push(line);
    }
    cut.bill = Some(bill);
    cut
}

/// How many copies a message makes. The check counts them again; a rejection makes one, the bounce.
fn count_copies(registry: &Registry, agent: &str, content: &Result<Value, Problem>) -> usize {
    let Ok(content) = content else { return 1 };
    count_named(registry, content)
        .unwrap_or_else(|| count_resolved(registry, agent, content))
        .max(1)
}

// Most messages name their recipients by their ids, and need no look at anything else.
fn count_named(registry: &Registry, content: &Value) -> Option<usize> {
    let known = |to: &Value| registry.agent(to.as_str()?).map(|_| 1);
    match content.get("to")? {
        Value::Array(many) => many.iter().map(known).sum(),
        one => known(one),
    }
}

fn count_resolved(registry: &Registry, agent: &str, content: &Value) -> usize {
    let name = registry
        .agent(agent)
        .and_then(|agent| agent.name.as_deref());
    let checked = schema::check_as(content.clone(), agent, name.as_slice(), Stamp::now()).ok();
    let recipients = checked.and_then(|message| {
        resolve::resolve(
            registry,
            agent,
            message.addresses(),
            message.by_mention(),
            &mut Unranked,
        )
        .ok()
    });
    recipients.map_or(1, |recipients| recipients.len())
}

/// The [`Availability`] for a resolution that does not depend on who is there.
pub(crate) struct Unranked;

impl Availability for Unranked {
    fn unread(&self, _: &str) -> usize {
        0
    }

    fn online(&self, _: &str) -> bool {
        false
    }

    fn last_active(&self, _: &str) -> Stamp {
        Stamp::default()
    }

    fn taken(&mut self, _: &str) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_disk_has_small_batches_and_a_fast_one_large_ones() {
        let mut share = Share {
            most: 2048,
            large: false,
        };
        share.measured(2048, Duration::from_secs(2));
        assert_eq!(share.most, 1024, "by half at a time");
        (0..20).for_each(|_| share.measured(share.most, Duration::from_secs(60)));
        assert_eq!(share.most, limits::BATCH_COPIES_LEAST);
        (0..20).for_each(|_| share.measured(share.most, Duration::from_millis(1)));
        assert_eq!(share.most, limits::BATCH_COPIES);
        share.measured(10, Duration::from_secs(60));
        assert_eq!(
            share.most,
            limits::BATCH_COPIES,
            "a small batch says nothing"
        );
    }

    #[test]
    fn a_message_that_is_larger_than_a_batch_goes_alone_and_every_other_time() {
        let mut share = Share {
            most: 1000,
            large: false,
        };
        let batch = Batch::new(&share);
        assert!(batch.fits(10_000) && batch.fits(1000));
        share.measured(10_000, Duration::from_secs(1));
        let batch = Batch::new(&share);
        assert!(!batch.fits(10_000) && batch.fits(100));
    }
}
