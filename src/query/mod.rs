//! The reading side: answers questions from the log and the room's files, as data for every face.
//!
//! In: a room and a question. Out: messages, threads, the timeline, the outcome of a message, the status of a room.
//!
//! Each module answers one question, reads only committed records, and changes nothing.
//!
//! This does not belong here: anything that writes (`commands`), and how an answer is shown (`cli`, `clients::mcp`).

pub mod candidates;
pub mod channel;
pub mod charter;
pub mod claims;
pub mod closed;
pub mod commits;
pub mod committer;
pub mod context;
pub mod displayed;
pub mod events;
pub mod explain;
pub mod follow;
pub mod guard;
pub mod head;
pub mod history;
pub mod identity;
pub mod inbox;
pub mod latest;
pub mod links;
pub mod list;
pub mod newest;
pub mod pending;
pub mod reach;
pub mod rejected;
pub mod search;
pub mod status;
pub mod thread;
pub mod time;
pub mod timeline;
pub mod trace;
pub mod verify;
pub mod view;
pub mod wait;
pub mod who;
