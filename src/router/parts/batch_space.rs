//! The space of a batch, and the messages and copies of a file. A file is never divided: all its messages are in one batch.

use super::config::RoomConfig;
use crate::base::clock::Stamp;
use crate::base::error::Problem;
use crate::base::limits;
use crate::base::test_sizes;
use crate::message::{Message, schema};
use crate::room::outbox::{FileContent, MessageLine};
use crate::room::registry::Registry;
use crate::room::resolve::{self, UnknownAvailability};
use serde_json::Value;
use std::sync::Arc;

/// The rest of a batch while it is filled.
pub(crate) struct BatchSpace {
    /// Senders that are first in the next batch, because their next file was too large for the rest of this one.
    pub(crate) later: Vec<Arc<str>>,
    messages: usize,
    bytes: u64,
    copies: usize,
    is_empty: bool,
}

impl Default for BatchSpace {
    fn default() -> BatchSpace {
        BatchSpace {
            later: Vec::new(),
            messages: limits::BATCH_MESSAGES,
            bytes: limits::BATCH_BYTES,
            copies: test_sizes::batch_copies(),
            is_empty: true,
        }
    }
}

impl BatchSpace {
    /// Lets nothing more into the batch.
    pub(crate) fn close(&mut self) {
        self.messages = 0;
    }

    pub(crate) fn is_full(&self) -> bool {
        self.messages == 0 || self.bytes == 0 || self.copies == 0
    }

    /// Returns true if a file fits into the batch. A file that is larger than a batch is a batch of its own.
    pub(crate) fn has_room_for(&self, file: &FileMessages) -> bool {
        let fits = file.messages.len() <= self.messages && file.copies <= self.copies;
        fits || self.is_empty
    }

    /// The most copies of a sender's turn, if this number of other senders have mail. The last file may exceed it.
    pub(crate) fn slice(&self, others: usize) -> usize {
        (self.copies / (others + 1)).max(limits::TURN.min(self.copies))
    }

    pub(crate) fn add(&mut self, messages: usize, copies: usize, bytes: u64) {
        self.messages = self.messages.saturating_sub(messages);
        self.bytes = self.bytes.saturating_sub(bytes);
        self.copies = self.copies.saturating_sub(copies);
        self.is_empty = false;
    }
}

/// The messages of a file.
pub(crate) struct FileMessages {
    pub(crate) messages: Vec<FileMessage>,
    pub(crate) copies: usize,
    pub(crate) bytes: u64,
}

/// A message of a file.
pub(crate) struct FileMessage {
    /// Its line, in a file with one message per line.
    pub(crate) line: Option<MessageLine>,
    pub(crate) content: Result<Value, Problem>,
    pub(crate) copies: usize,
}

impl FileMessages {
    /// Parses the messages of a file, and counts their copies. A file with too many copies is rejected; a single message
    /// may have any number.
    pub(crate) fn read(
        config: &RoomConfig,
        agent: &Arc<str>,
        content: FileContent,
        bytes: u64,
    ) -> FileMessages {
        let message = |line: Option<MessageLine>, content: Result<Value, Problem>| FileMessage {
            line,
            copies: count_copies(config.registry(), agent, &content),
            content,
        };
        let mut messages: Vec<FileMessage> = match content {
            FileContent::One(content) => vec![message(None, content)],
            FileContent::Lines(lines) => lines
                .into_iter()
                .map(|line| {
                    let content = (&line).into();
                    message(Some(line), content)
                })
                .collect(),
        };
        let mut copies = messages.iter().map(|message| message.copies).sum();
        if messages.len() > 1 && copies > limits::FILE_COPIES {
            messages = vec![message(None, Err(too_many_copies(copies)))];
            copies = 1;
        }
        FileMessages {
            messages,
            copies,
            bytes,
        }
    }
}

fn too_many_copies(copies: usize) -> Problem {
    let what = format!(
        "the messages of the file have {copies} copies together; the limit for a file with several messages is {}",
        limits::FILE_COPIES
    );
    Problem::new("too_many_copies", what).fix("split it into several files, and drop them again")
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
        &mut UnknownAvailability,
    );
    recipients.map_or(1, |recipients| recipients.len().max(1))
}
