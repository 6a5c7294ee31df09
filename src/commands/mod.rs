//! The verbs of people and agents: one file for each.
//!
//! In: a room, an identity and a request. Out: the result as data. Nothing is printed here, so that every face
//! shows the same.
//!
//! A command drops a file into an outbox, moves a file, or edits a file that people may edit. Only the router delivers: if
//! none runs, the command makes one router pass.
//!
//! This does not belong here: questions that change nothing (`query`), agent clients (`clients`), options and output
//! (`cli`).

pub mod ack;
pub mod agent;
pub mod approval;
pub mod announce;
pub mod answer;
pub mod archive;
pub mod ask;
pub mod attach;
pub mod backup;
pub mod browse;
pub mod check;
pub mod claim;
pub mod commit;
mod outcome;
pub mod permitted;
pub mod post;
pub mod dry_run;
pub mod files;
pub mod follow;
pub mod gap;
pub mod init;
pub mod join;
pub mod link;
pub mod name;
pub mod read;
pub mod rejected;
mod rename;
pub mod reply;
pub mod send;
pub mod share;
pub mod switch;
pub mod trust;
pub mod wait;
pub mod wait_exec;
