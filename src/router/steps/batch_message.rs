//! The form of a message between its pickup and its record: its origin, and the result of the last step.

use crate::base::error::Problem;
use crate::base::hash::Hash;
use crate::message::carried::IncomingItem;
use crate::message::record::Facts;
use crate::message::{Message, id};
use crate::router::seam::Draft;
use serde_json::Value;
use std::sync::Arc;

/// A message and its origin. `T` is the result of the last step: [`ReadResult`], [`CheckedContent`], [`MessageRuling`].
pub(super) struct BatchMessage<T> {
    /// Its file in `spool/claim`, or `None` for a notice.
    pub(super) claim: Option<String>,
    /// The owner of its outbox.
    pub(super) agent: Arc<str>,
    /// The name of the dropped file.
    pub(super) original: String,
    /// Its line, in a file with one message per line.
    pub(super) source: Option<SourceLine>,
    /// Its item, if it arrived by a link.
    pub(super) arrival: Option<Box<ItemArrival>>,
    pub(super) content: T,
}

/// An item of a link, without its message.
#[derive(Clone)]
pub(super) struct ItemArrival {
    pub(super) arrived: IncomingItem,
    /// The digest of the item before.
    pub(super) prev: Hash,
    /// The sender, as this room names agents of other rooms.
    pub(super) from: Arc<str>,
}

/// A line of a file with one message per line.
pub(super) struct SourceLine {
    pub(super) line: u32,
    pub(super) text: Vec<u8>,
}

/// The JSON of a file or a line, or the reason why it is invalid.
pub(super) type ReadResult = Result<Value, Problem>;

/// The result of the check: a message and its digest, `None` for receipts alone, or all problems.
pub(super) type CheckedContent = Result<Option<(Box<Message>, Hash)>, MessageRejection>;

/// The reasons of a rejection.
pub(super) struct MessageRejection {
    pub(super) problems: Vec<Problem>,
    /// The sender's id for the message, if it is readable.
    pub(super) id: Option<String>,
    /// Whether it is an ack. The rejection of an ack has no bounce.
    pub(super) ack: bool,
}

/// The decision about a message.
pub(super) enum MessageRuling {
    /// Deliver it.
    Accept {
        draft: Box<Draft>,
        digest: Hash,
    },
    /// The log has it as this record.
    Duplicate {
        of: u64,
        id: String,
        digest: Hash,
    },
    Reject(MessageRejection),
    /// Record receipts of another room.
    Receipts,
    /// Send a notice.
    Notice {
        about: String,
        message: Box<Message>,
        to: Vec<Arc<str>>,
        facts: Box<Facts>,
    },
}

impl MessageRuling {
    /// Returns true if its record changes facts of features.
    pub(super) fn changes_facts(&self) -> bool {
        match self {
            MessageRuling::Accept { draft, .. } => !draft.facts.is_empty(),
            MessageRuling::Notice { facts, .. } => !facts.is_empty(),
            _ => false,
        }
    }

    /// The subject of a notice.
    pub(super) fn about(&self) -> Option<&str> {
        match self {
            MessageRuling::Notice { about, .. } => Some(about),
            _ => None,
        }
    }
}

impl BatchMessage<MessageRuling> {
    /// A notice.
    pub(super) fn own(content: MessageRuling) -> BatchMessage<MessageRuling> {
        let (original, agent) = (String::new(), id::MAILBAG.into());
        BatchMessage {
            claim: None,
            agent,
            original,
            source: None,
            arrival: None,
            content,
        }
    }
}

impl<T> BatchMessage<T> {
    /// The letter without its content, and the content.
    pub(super) fn split(self) -> (BatchMessage<()>, T) {
        self.exchange(())
    }

    /// The letter with this content.
    pub(super) fn with<U>(self, content: U) -> BatchMessage<U> {
        self.exchange(content).0
    }

    fn exchange<U>(self, content: U) -> (BatchMessage<U>, T) {
        let letter = BatchMessage {
            claim: self.claim,
            agent: self.agent,
            original: self.original,
            source: self.source,
            arrival: self.arrival,
            content,
        };
        (letter, self.content)
    }
}
