//! One file for each thing that a person or an agent does; they return data and print nothing.

pub mod ack;
pub mod agent;
pub mod attach;
pub mod check;
pub mod demo;
pub mod explain;
pub mod history;
pub mod identity;
pub mod inbox;
pub mod init;
pub mod list;
pub mod log;
pub mod read;
pub mod reference;
pub mod rejected;
pub mod reply;
pub mod search;
pub mod send;
pub mod standing;
pub mod status;
pub mod tail;
pub mod thread;
pub mod time;
pub mod timeline;
pub mod trace;
pub mod verify;
