//! The content of a file in an outbox, and the result of examining it.

use crate::base::error::Problem;
use crate::disk::Meta;
use serde_json::Value;
use std::time::Duration;

/// The result of examining a file in an outbox.
pub enum FileReadiness {
    /// The file can be picked up, with its content and its metadata at that time.
    Ready(Box<ReadyFile>),
    /// The file is not ready, for this reason. Examine it again after this time, or after an event.
    Later(&'static str, Option<Duration>),
    /// The file no longer exists.
    Gone,
}

/// A file that can be picked up.
pub struct ReadyFile {
    /// Its content.
    pub content: FileContent,
    /// The number of bytes read.
    pub bytes: u64,
    /// Its metadata. `None` if it could not be opened.
    pub meta: Option<Meta>,
}

/// The content of a file: JSON, or the problem.
pub enum FileContent {
    /// One message.
    One(Result<Value, Problem>),
    /// One message per line.
    Lines(Vec<MessageLine>),
}

/// A line of a file with one message per line.
pub struct MessageLine {
    /// Its number in the file, from 1.
    pub number: u32,
    /// Its text, without surrounding blanks.
    pub text: Vec<u8>,
}

/// The content of a file, and whether it is complete.
pub enum FileCompleteness {
    /// It is.
    Yes(FileContent),
    /// The file is empty or incomplete: its writer may not have finished. If the file no longer changes, this is its
    /// content.
    NotYet(FileContent),
}

/// The conditions for a file.
pub struct PickupConditions {
    /// The largest size in bytes.
    pub most: u64,
    /// True for a picked-up file. Its sender has had time to remove other hard links.
    pub claimed: bool,
}
