//! Carriers to other machines: they bring the items of links there and back.
//!
//! In: a room with links, and a connection. Out: files in `links/<tag>/in/` of both rooms, as in `links/<tag>/out/` of the
//! other one.
//!
//! `frames` is what two carriers say to each other, `mirror` brings files over a connection, `ssh` starts the system's
//! client, `nats` speaks with the servers of a cluster, `connect` keeps one link connected, `run` serves all links of a
//! room, `beside` keeps such a process beside a router, and `serve` is the other end.
//!
//! What does not belong here: whether an item is taken, or counts as delivered. The routers decide that (`router`), and
//! a carrier believes only their files.

pub mod beside;
mod connect;
mod frames;
mod mirror;
#[cfg(feature = "nats")]
mod nats;
#[cfg(not(feature = "nats"))]
#[path = "without_nats.rs"]
mod nats;
mod receiver;
pub mod run;
pub mod serve;
mod ssh;
