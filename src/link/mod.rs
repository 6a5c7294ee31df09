//! Carriers: they transport the items of links between rooms on different machines.
//!
//! In: a room with links, and a connection. Out: files in `links/<tag>/in/` of both rooms, each a copy of a file in
//! `links/<tag>/out/` of the other room.
//!
//! `frames` is the protocol between two carriers. `mirror` copies files over a connection. `ssh` starts the system's SSH
//! client, and `nats` connects to the servers of a cluster. `connect` keeps one link connected, `run` serves all links of a
//! room, `beside` keeps this process running beside a router, and `serve` is the other end of an SSH connection.
//!
//! The decision whether an item is accepted or delivered does not belong here. Only the routers decide that (`router`),
//! and a carrier trusts only their files.

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
