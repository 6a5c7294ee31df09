//! The log, which is the truth of a room: appending to it, reading it, the state it amounts to, and looking up in it.
//!
//! In: records, as lines in whole batches. Out: a [`state`], lines, and messages found by a reference.
//!
//! [`Log`] appends and commits; only the router has one. Everybody else walks committed batches ([`committed`],
//! [`lines`]), and resolves a reference by [`lookup`], the only place that does.
//!
//! What does not belong here: the registry, inboxes and other files of the room (`room`), and what a caller wants to
//! show (`query`).

mod append;
mod committed;
pub mod find;
mod lines;
pub mod lookup;
mod segments;
pub mod state;

pub use append::{Log, rewrite};
pub use committed::{Committed, committed, lines};
pub use lines::{
    Line, Lines, Position, START, before_end, length, next_line, now, read, read_live, read_one, read_whole, segments,
};
pub use segments::{archived, live, path};
