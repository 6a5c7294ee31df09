//! The form of a message between its pickup and its record: where it came from, and what the last step made of it.

use crate::base::error::Problem;
use crate::base::hash::Hash;
use crate::log::Position;
use crate::message::link::{Arrived, Enclosed, FarReceipt};
use crate::message::record::{Act, Fact, Group};
use crate::message::{Message, id};
use serde_json::Value;
use std::sync::Arc;

/// A message and its origin. `T` is what the last step made of it: [`Read`], [`Verdict`], [`Ruling`].
pub(super) struct Letter<T> {
    /// Its file in `spool/claim`; `None` for a notice of the router's own.
    pub(super) claim: Option<String>,
    /// Whose outbox it was dropped in.
    pub(super) agent: Arc<str>,
    /// The name of the dropped file.
    pub(super) original: String,
    /// Its line, where the file holds a message a line.
    pub(super) source: Option<Source>,
    /// The item of a link that brought it.
    pub(super) arrival: Option<Box<Arrival>>,
    /// The rejection after which it was sent again.
    pub(super) retries: Option<u64>,
    /// For a message of the router's own: its cause, if the state does not show later that it is
    /// missing. Both are recorded together.
    pub(super) follows: Option<Cause>,
    pub(super) content: T,
}

/// The cause of a message of the router's own: another message.
pub(super) struct Cause {
    /// Its file in `spool/claim`.
    pub(super) claim: String,
    /// Its line, if the file has one message per line.
    pub(super) line: Option<u32>,
}

/// An item of a link, without its message.
#[derive(Clone)]
pub(super) struct Arrival {
    pub(super) arrived: Arrived,
    /// The digest of the item before.
    pub(super) prev: Hash,
    /// Who sent it, as this room names agents of other rooms.
    pub(super) from: Arc<str>,
}

/// A line of a file that holds a message a line.
pub(super) struct Source {
    pub(super) line: u32,
    pub(super) text: Vec<u8>,
    /// Do further lines of the file follow in a later batch?
    pub(super) more: bool,
}

/// What a file or a line says: JSON, or why it is none.
pub(super) type Read = Result<Value, Problem>;

/// What the check found: a message and its digest, nothing for receipts of another room alone, or every problem.
pub(super) type Verdict = Result<Option<(Box<Message>, Hash)>, Rejection>;

/// Why a message is rejected.
pub(super) struct Rejection {
    pub(super) problems: Vec<Problem>,
    /// The id that the sender gave, if it can be read.
    pub(super) id: Option<String>,
    /// Is it an ack? The rejection of an ack has no bounce.
    pub(super) ack: bool,
}

/// What is to be done with a message.
pub(super) enum Ruling {
    /// Deliver it to these.
    Accept {
        message: Box<Message>,
        digest: Hash,
        to: Vec<Group>,
        enclosed: Vec<Enclosed>,
        act: Option<Act>,
        effect: Option<Box<Effect>>,
    },
    /// The log has it already, as this record.
    Duplicate { of: u64, id: String, digest: Hash },
    /// An earlier message of this batch has the same id and content.
    Again { id: String, digest: Hash },
    /// Reject it.
    Reject(Rejection),
    /// Record what another room says about messages of this one.
    Receipts,
    /// Send these items again, too many for the record of the change.
    SendAgain(Vec<Again>),
    /// Send it as a notice of the router's own.
    Notice {
        about: String,
        message: Box<Message>,
        to: Vec<Arc<str>>,
        fact: Option<Box<Fact>>,
    },
}

/// What a message about claims or approvals amounts to.
pub(super) struct Effect {
    pub(super) fact: Fact,
    /// The items of a link that are sent again.
    pub(super) again: Vec<Again>,
    /// What its copies say about it, below `delivery`.
    pub(super) outcome: Value,
}

/// An item that is sent again in a new stream.
pub(super) struct Again {
    /// The tag of the other room.
    pub(super) link: Arc<str>,
    /// The line of the record of which it is made.
    pub(super) place: Position,
    pub(super) receipts: Vec<FarReceipt>,
    /// Does it have receipts alone?
    pub(super) alone: bool,
}

impl Ruling {
    /// Does it change the ownership of work, or what waits for a decision?
    pub(super) fn changes_facts(&self) -> bool {
        match self {
            Ruling::Accept { effect, .. } => effect.is_some(),
            Ruling::Notice { fact, .. } => fact.is_some(),
            Ruling::SendAgain(_) => true,
            _ => false,
        }
    }

    /// The subject, of a message of the router's own.
    pub(super) fn about(&self) -> Option<&str> {
        match self {
            Ruling::Notice { about, .. } => Some(about),
            _ => None,
        }
    }
}

impl Letter<Ruling> {
    /// A message of the router's own.
    pub(super) fn own(content: Ruling) -> Letter<Ruling> {
        let (original, agent) = (String::new(), id::MAILBAG.into());
        Letter {
            claim: None,
            agent,
            original,
            source: None,
            arrival: None,
            retries: None,
            follows: None,
            content,
        }
    }

    /// The letter as one that follows from this message.
    pub(super) fn following(mut self, cause: &Letter<()>) -> Letter<Ruling> {
        let line = cause.source.as_ref().map(|source| source.line);
        self.follows = cause.claim.clone().map(|claim| Cause { claim, line });
        self
    }

    /// Was it judged after those before it, so that it cannot be recorded without them?
    pub(super) fn is_in_order(&self) -> bool {
        self.arrival.is_some() || self.content.changes_facts()
    }
}

impl<T> Letter<T> {
    /// The letter without its content, and the content.
    pub(super) fn split(self) -> (Letter<()>, T) {
        let Letter {
            claim,
            agent,
            original,
            source,
            arrival,
            retries,
            follows,
            content,
        } = self;
        (
            Letter {
                claim,
                agent,
                original,
                source,
                arrival,
                retries,
                follows,
                content: (),
            },
            content,
        )
    }

    /// The letter with this content.
    pub(super) fn with<U>(self, content: U) -> Letter<U> {
        let Letter {
            claim,
            agent,
            original,
            source,
            arrival,
            retries,
            follows,
            ..
        } = self;
        Letter {
            claim,
            agent,
            original,
            source,
            arrival,
            retries,
            follows,
            content,
        }
    }
}
