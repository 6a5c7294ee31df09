//! What a look at a file of an outbox can find, and what the file holds.

use crate::base::error::Problem;
use crate::disk::Meta;
use serde_json::Value;
use std::time::Duration;

/// What a look at a file in an outbox found.
pub enum Look {
    /// It can be taken: what it holds, and what it was when it was read.
    Ready(Box<Ready>),
    /// Not yet, for this reason; look again after this long, or when an event comes.
    Later(&'static str, Option<Duration>),
    /// There is no such file any more.
    Gone,
}

/// A file that can be taken.
pub struct Ready {
    /// What it holds.
    pub content: Content,
    /// How many bytes were read.
    pub bytes: u64,
    /// Which file it was, and how it stood; `None` if it couldn't be opened.
    pub meta: Option<Meta>,
}

/// What a file holds: JSON, or why it can't be a message.
pub enum Content {
    /// One message.
    One(Result<Value, Problem>),
    /// A message a line.
    Lines(Vec<Line>),
}

/// A line of a file that holds a message a line.
pub struct Line {
    /// Its number in the file, from 1.
    pub number: u32,
    /// Its text, without the blanks around it.
    pub text: Vec<u8>,
}

/// Is a file whole?
pub enum Whole {
    /// It is.
    Yes(Content),
    /// It is empty or ends too early: its writer may not be done. Once it has stood still, it holds this.
    NotYet(Content),
}

/// What a file has to satisfy.
pub struct Terms {
    /// The most bytes.
    pub most: u64,
    /// Who owns the outbox, if that is known.
    pub outbox_uid: Option<u32>,
    /// Is it a claim? Then its sender has had the time to remove the file's other names.
    pub claimed: bool,
    /// Who must own the file, where the registry pins it.
    pub owner: Option<u32>,
}
