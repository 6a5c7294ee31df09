//! The size of a batch, and each sender's slice of it. Slices are counted in copies, because copies take most of the
//! time. The router takes other senders' mail between two slices of one sender.

use super::budget::{BudgetAccounts, BudgetBill, MessageDelay};
use super::config::RoomConfig;
use crate::base::clock::Stamp;
use crate::base::error::Problem;
use crate::base::limits;
use crate::base::test_sizes;
use crate::message::{Message, schema};
use crate::room::outbox::{FileContent, MessageLine};
use crate::room::registry::Registry;
use crate::room::resolve::{self, Availability};
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;

/// The lower bound of the copy limit, on the slowest disk.
const BATCH_COPIES_LEAST: usize = 256;
/// The copy limit at the start, before the router has measured the disk.
const BATCH_COPIES_FIRST: usize = 512;
const _: () =
    assert!(BATCH_COPIES_LEAST <= BATCH_COPIES_FIRST && BATCH_COPIES_FIRST <= limits::BATCH_COPIES);
/// The target duration of a batch. Mail that arrives during one batch is delivered by the next one, so it waits at most
/// two batches.
const BATCH_TIME: Duration = Duration::from_millis(250);
const _: () = assert!(BATCH_TIME.as_millis() * 2 < 1000);

/// The number of copies of a batch that takes [`BATCH_TIME`] at the recent speed.
pub(crate) struct BatchSize {
    most: usize,
    /// Whether the last batch was one message with more copies.
    is_large: bool,
}

impl Default for BatchSize {
    fn default() -> BatchSize {
        BatchSize {
            most: test_sizes::batch_copies().unwrap_or(BATCH_COPIES_FIRST),
            is_large: false,
        }
    }
}

impl BatchSize {
    /// Adjusts the size of batches to the speed of a batch. A small batch is ignored, because its fixed costs dominate.
    pub(crate) fn measure(&mut self, copies: usize, took: Duration) {
        self.is_large = copies > self.most;
        if copies * 2 < self.most || test_sizes::batch_copies().is_some() {
            return;
        }
        let fits = copies as f64 * BATCH_TIME.as_secs_f64() / took.as_secs_f64().max(0.001);
        let near = (fits as usize).clamp(self.most / 2, self.most * 2);
        self.most = near.clamp(BATCH_COPIES_LEAST, limits::BATCH_COPIES);
    }
}

/// The rest of a batch while it is filled.
pub(crate) struct BatchSpace {
    /// Senders that are first in the next batch, because their next message was too large for the rest of this one.
    pub(crate) later: Vec<Arc<str>>,
    messages: usize,
    bytes: u64,
    copies: usize,
    /// The number of added copies, including all copies of a large message.
    added: usize,
    is_empty: bool,
    /// Whether it may be one message that is larger than a batch. Two such batches in a row would block other mail.
    pub(crate) can_be_large: bool,
}

impl BatchSpace {
    pub(crate) fn new(share: &BatchSize) -> BatchSpace {
        BatchSpace {
            later: Vec::new(),
            messages: limits::BATCH_MESSAGES,
            bytes: limits::BATCH_BYTES,
            copies: share.most,
            added: 0,
            is_empty: true,
            can_be_large: !share.is_large,
        }
    }

    /// Lets nothing more into the batch.
    pub(crate) fn close(&mut self) {
        self.messages = 0;
    }

    pub(crate) fn is_full(&self) -> bool {
        self.messages == 0 || self.bytes == 0 || self.copies == 0
    }

    /// Returns true if a message with this number of copies fits into the batch.
    pub(crate) fn has_room_for(&self, copies: usize) -> bool {
        copies <= self.copies || self.is_empty && self.can_be_large
    }

    /// The maximum number of copies of one sender, if this number of other senders have mail.
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

    pub(crate) fn is_empty(&self) -> bool {
        self.is_empty
    }

    pub(crate) fn copies_added(&self) -> usize {
        self.added
    }
}

/// A message of a file, parsed when the batch has room for it.
pub(crate) enum FileMessage {
    /// The only message of a file of this many bytes.
    One(Result<Value, Problem>, u64),
    /// A line.
    Line(MessageLine),
    /// A line with an error.
    Wrong(MessageLine, Problem),
}

/// A parsed piece.
pub(crate) struct ParsedMessage {
    /// The line, in a file with one message per line.
    pub(crate) line: Option<MessageLine>,
    pub(crate) content: Result<Value, Problem>,
    bytes: u64,
}

impl FileMessage {
    pub(crate) fn split(content: FileContent, bytes: u64) -> Vec<FileMessage> {
        match content {
            FileContent::One(content) => vec![FileMessage::One(content, bytes)],
            FileContent::Lines(lines) => lines.into_iter().map(FileMessage::Line).collect(),
        }
    }

    /// The rest of a file after this line as one message.
    pub(crate) fn rest(after: u32, content: Result<Value, Problem>) -> FileMessage {
        let line = MessageLine {
            number: after + 1,
            text: Vec::new(),
        };
        match content {
            Ok(_) => FileMessage::Line(line),
            Err(problem) => FileMessage::Wrong(line, problem),
        }
    }

    fn parse(self) -> ParsedMessage {
        let (line, content, bytes) = match self {
            FileMessage::One(content, bytes) => (None, content, bytes),
            FileMessage::Wrong(line, problem) => (Some(line), Err(problem), 0),
            FileMessage::Line(line) => {
                let (content, bytes) = ((&line).into(), line.text.len() as u64);
                (Some(line), content, bytes)
            }
        };
        ParsedMessage {
            line,
            content,
            bytes,
        }
    }
}

/// The space in a batch for one sender.
#[derive(Clone, Copy)]
pub(crate) struct SenderSpace<'a> {
    pub(crate) batch: &'a BatchSpace,
    /// The sender's maximum number of copies.
    pub(crate) slice: usize,
}

impl SenderSpace<'_> {
    fn has_room_after(self, cut: &FileSlice, copies: usize) -> bool {
        if cut.pieces.is_empty() {
            return self.batch.has_room_for(copies);
        }
        cut.copies + copies <= self.slice.min(self.batch.copies)
            && cut.pieces.len() < self.batch.messages
            && cut.bytes < self.batch.bytes
    }
}

/// The part of a file for this batch: the whole file, or some of its lines.
pub(crate) struct FileSlice {
    pub(crate) pieces: Vec<ParsedMessage>,
    pub(crate) copies: usize,
    pub(crate) bytes: u64,
    pub(crate) bill: Option<BudgetBill>,
    /// The reason why the remaining lines stay.
    pub(crate) stop: Option<StopReason>,
}

/// The reason why the next message of a sender stays.
pub(crate) enum StopReason {
    /// The batch has no room for it.
    Full,
    /// It is delayed.
    Delay(MessageDelay),
}

impl FileSlice {
    /// Returns the reason if no message fits.
    pub(crate) fn stopped(&mut self) -> Option<StopReason> {
        self.pieces.is_empty().then(|| self.stop.take()).flatten()
    }
}

/// Takes pieces in order, up to `slice` copies and within the sender's budgets.
pub(super) fn cut(
    config: &RoomConfig,
    budgets: &BudgetAccounts,
    agent: &Arc<str>,
    pieces: Vec<FileMessage>,
    space: SenderSpace<'_>,
) -> FileSlice {
    let mut bill = budgets.bill(agent);
    let mut cut = FileSlice {
        pieces: Vec::new(),
        copies: 0,
        bytes: 0,
        bill: None,
        stop: None,
    };
    for piece in pieces {
        let piece = piece.parse();
        let copies = count_copies(config.registry(), agent, &piece.content);
        if !space.has_room_after(&cut, copies) {
            cut.stop = Some(StopReason::Full);
            break;
        }
        let content = &piece.content;
        if let Err(delay) = budgets.charge(config.settings(), agent, &mut bill, copies, content) {
            cut.stop = Some(StopReason::Delay(delay));
            break;
        }
        cut.copies += copies;
        cut.bytes += piece.bytes;
        cut.pieces.push(piece);
    }
    cut.bill = Some(bill);
    cut
}

/// The number of copies of a message. The check counts again; a rejection has one copy, the bounce.
fn count_copies(registry: &Registry, agent: &str, content: &Result<Value, Problem>) -> usize {
    let Ok(content) = content else { return 1 };
    count_named(registry, content)
        .unwrap_or_else(|| count_resolved(registry, agent, content))
        .max(1)
}

/// Counts recipients that are named by their ids, as in most messages. `None` if an address must be resolved.
fn count_named(registry: &Registry, content: &Value) -> Option<usize> {
    match content.get("to")? {
        Value::Array(many) => many.iter().map(|to| count_known(registry, to)).sum(),
        one => count_known(registry, one),
    }
}

fn count_known(registry: &Registry, to: &Value) -> Option<usize> {
    registry.agent(to.as_str()?).map(|_| 1)
}

fn count_resolved(registry: &Registry, agent: &str, content: &Value) -> usize {
    let name = registry
        .agent(agent)
        .and_then(|agent| agent.name.as_deref());
    let checked = schema::check_as(content.clone(), agent, name.as_slice(), Stamp::now()).ok();
    checked.map_or(1, |message| copies_of(registry, agent, &message))
}

/// The number of copies of a message, at least one.
fn copies_of(registry: &Registry, agent: &str, message: &Message) -> usize {
    let recipients = resolve::resolve(
        registry,
        agent,
        message.addresses(),
        message.by_mention(),
        &mut UnrankedAvailability,
    );
    recipients.map_or(1, |recipients| recipients.len().max(1))
}

/// The [`Availability`] for a resolution that does not depend on the availability of agents.
pub(crate) struct UnrankedAvailability;

impl Availability for UnrankedAvailability {
    fn unread(&self, _: &str) -> usize {
        0
    }

    fn online(&self, _: &str) -> bool {
        false
    }

    fn last_active(&self, _: &str) -> Stamp {
        Stamp::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_disk_has_small_batches_and_a_fast_disk_has_large_batches() {
        let mut share = BatchSize {
            most: 2048,
            is_large: false,
        };
        share.measure(2048, Duration::from_secs(2));
        assert_eq!(share.most, 1024, "by half at a time");
        for _ in 0..20 {
            share.measure(share.most, Duration::from_secs(60));
        }
        assert_eq!(share.most, BATCH_COPIES_LEAST);
        for _ in 0..20 {
            share.measure(share.most, Duration::from_millis(1));
        }
        assert_eq!(share.most, limits::BATCH_COPIES);
        share.measure(10, Duration::from_secs(60));
        assert_eq!(share.most, limits::BATCH_COPIES, "a small batch is ignored");
    }

    #[test]
    fn a_message_larger_than_a_batch_is_alone_in_every_second_batch() {
        let mut share = BatchSize {
            most: 1000,
            is_large: false,
        };
        let batch = BatchSpace::new(&share);
        assert!(batch.has_room_for(10_000) && batch.has_room_for(1000));
        share.measure(10_000, Duration::from_secs(1));
        let batch = BatchSpace::new(&share);
        assert!(!batch.has_room_for(10_000) && batch.has_room_for(100));
    }
}
