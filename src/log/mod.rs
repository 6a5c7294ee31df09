//! The log, which is the source of truth of a room: appending, reading, the state in memory, and lookup.
//!
//! In: records, in complete batches. Out: a [`state`], lines, and messages found by a reference.
//!
//! [`Log`] appends and commits; only the router has one. All other readers use complete batches ([`end()`], [`lines()`]),
//! and resolve references with `lookup` only. A sender reports a message as accepted only before [`synced`].
//!
//! This does not belong here: the registry, inboxes and other files of the room (`room`), and the content of views
//! (`query`).

mod append;
mod chain;
mod end;
pub mod find;
mod lines;
mod logged_message;
pub mod lookup;
mod open_lines;
mod segments;
mod snapshot;
pub mod state;
mod tip;

pub use append::{Log, renew};
pub use chain::LogChain;
pub use end::{BatchLines, end, lines, lines_until, synced};
pub use lines::{
    LogLines, LogPosition, RawLogLine, RecordReader, START, before, before_end, length, next_line,
    read, read_live, read_one, read_record, read_segment, read_whole, segments,
};
pub use logged_message::{LoggedMessage, Viewer};
pub use open_lines::OpenLines;
pub use segments::{archived, live, path};
pub use tip::LogTip;
