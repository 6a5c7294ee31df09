//! The log, which is the source of truth of a room: appending, reading, the state in memory, and lookup.
//!
//! In: records, in complete batches. Out: a [`state`], lines, and messages found by a reference.
//!
//! [`Log`] appends and commits; only the router has one. All other readers use committed batches (`committed`,
//! `lines`), and resolve references with `lookup` only.
//!
//! This does not belong here: the registry, inboxes and other files of the room (`room`), and the content of views
//! (`query`).

mod append;
mod chain;
mod committed;
pub mod find;
mod lines;
mod logged_message;
pub mod lookup;
mod open_lines;
mod segments;
mod snapshot;
pub mod state;

pub use append::{Log, cut, rewrite};
pub use chain::LogChain;
pub use committed::{CommitNote, LogTip, committed, lines};
pub use lines::{
    LogLines, LogPosition, RawLogLine, RecordReader, START, before, before_end, length, next_line,
    now, read, read_live, read_one, read_record, read_segment, read_whole, segments,
};
pub use logged_message::{LoggedMessage, Viewer};
pub use open_lines::OpenLines;
pub use segments::{archived, live, path};
