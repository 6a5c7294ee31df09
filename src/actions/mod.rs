//! One file for each thing that a person or an agent does; they return data and print nothing.

pub mod agent;
pub mod announce;
pub mod ask;
pub mod attach;
pub mod check;
pub mod demo;
pub mod explain;
pub mod identity;
pub mod inbox;
pub mod init;
pub mod log;
pub mod read;
pub mod reference;
pub mod send;
pub mod standing;
pub mod status;
pub mod take;
pub mod time;
pub mod verify;
pub mod wait;
pub mod waiter;
