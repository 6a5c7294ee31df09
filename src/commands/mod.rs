//! What a person or an agent does to a room: one file for each verb.
//!
//! In: a room, an identity, and what was asked for. Out: data that says what was done; nothing is printed here, so that
//! every face shows the same.
//!
//! A command drops a file into an outbox, moves a file, or edits a file of people. It never delivers: the router does,
//! for one pass within the command where no router runs.
//!
//! What does not belong here: questions that change nothing (`query`), agent clients (`clients`), options and output
//! (`cli`).

pub mod ack;
pub mod agent;
pub mod announce;
pub mod archive;
pub mod ask;
pub mod attach;
pub mod backup;
pub mod check;
pub mod permitted;
pub mod demo;
pub mod files;
pub mod init;
pub mod join;
pub mod read;
pub mod rejected;
pub mod reply;
pub mod send;
pub mod share;
pub mod take;
pub mod topic;
pub mod trust;
pub mod chat_input;
pub mod wait;
